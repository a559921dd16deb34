import { readFileSync } from 'node:fs';
import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import { packagePath } from '../../shared/config/files.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { asset } from '../../shared/pages/assets.ts';
import type { Push } from '../channels/push.ts';
import { visitorOf } from './authenticate.ts';

/** `/service-worker.js`: shows notices in the browser. Its place gives it the whole site as its scope. */
export function serviceWorker(): Router {
  const script = readFileSync(packagePath('apps', 'approvals', 'inbox', 'service-worker.js'), 'utf8');
  return express.Router().get('/service-worker.js', asset('js', script));
}

const endpoint = z.string().max(2_000);
/** What a browser says of its subscription. @see Push API, PushSubscription.toJSON() */
const subscription = z.object({
  endpoint,
  keys: z.object({ p256dh: z.string().max(100), auth: z.string().max(100) }),
  serverKey: z.string().max(100),
});

/**
 * `/push-subscriptions`: the browsers in which the visitor gets notices. Expects the visitor, parsed bodies and the CSRF check before it.
 */
export function pushRouter(push: Push): Router {
  const router = express.Router();
  router.post('/', subscribe(push));
  router.post('/revoke', unsubscribe(push));
  return router;
}

/** A token of a person that leaked would have its holder learn of requests for longer than it lasts. */
function subjectOf(response: Response): string {
  const { via, subject } = visitorOf(response);
  if (via === 'inbox') return subject;
  throw new Refusal(403, 'Only a browser can get notices', 'Sign in to the inbox with the browser.');
}

function subscribe({ accepts, publicKey, subscriptions }: Push) {
  return async (request: Request, response: Response) => {
    const person = subjectOf(response);
    const body = subscription.safeParse(request.body);
    if (!body.success || !(await accepts({ endpoint: body.data.endpoint, ...body.data.keys })))
      throw new Refusal(
        400,
        'Notices cannot be sent to this browser',
        'Its push service needs an https address whose name leads to the public internet.',
      );
    const { serverKey, keys, ...address } = body.data;
    if (serverKey !== publicKey)
      throw new Refusal(409, 'The page is too old', 'Load it again, and switch notices on again.');
    await subscriptions.subscribe({ ...address, ...keys, person, serverKey });
    response.status(201).json({ status: 'subscribed' });
  };
}

function unsubscribe({ subscriptions }: Push) {
  return async (request: Request, response: Response) => {
    const person = subjectOf(response);
    const body = z.object({ endpoint }).safeParse(request.body);
    if (!body.success) throw new Refusal(400, 'The browser is not named', 'Give the address of its subscription.');
    await subscriptions.unsubscribe({ endpoint: body.data.endpoint, person });
    response.json({ status: 'unsubscribed' });
  };
}
