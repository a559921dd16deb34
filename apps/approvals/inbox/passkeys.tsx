import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import { OVERSEER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import { demandFreshSignIn } from '../../shared/auth/fresh-sign-in.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { visibleTitle } from '../../shared/pages/visible-text.ts';
import { isOverseer, type Visitor, visitorOf } from './authenticate.ts';
import { placeOf } from './passkey-part.tsx';
import { NewPasskeyPage } from './new-passkey-page.tsx';
import { PasskeysPage } from './passkeys-page.tsx';
import type { InboxHttp } from './seat.ts';

/** How old the sign-in may be that registers or removes a passkey. The page for a new one lasts for five minutes of it. */
const FRESH_SECONDS = 10 * 60;
const LINK = { href: '/passkeys', label: 'To your passkeys' };
const PASSKEYS = '/passkeys';
const AGAIN = { href: `${PASSKEYS}/new`, label: 'Add a passkey' };

type PasskeysHttp = Pick<InboxHttp, 'passkeys' | 'clock' | 'log'>;

/** `/passkeys`: those of the visitor. Expects the visitor, parsed bodies and the CSRF check before it. */
export function passkeysRouter(http: PasskeysHttp): Router {
  const router = express.Router();
  router.get('/', show(http));
  router.get('/new', showNew(http));
  router.post('/', add(http));
  router.post('/:id/rename', rename(http));
  router.post('/:id/revoke', revoke(http));
  return router;
}

const isFresh = (request: Request, response: Response, { clock }: PasskeysHttp) =>
  demandFreshSignIn(request, response, { freshSeconds: FRESH_SECONDS, nowMs: clock.now(), page: PASSKEYS });

const personOf = (request: Request, { name }: Visitor) => ({ name, csrfToken: csrfTokenOf(request) });

/** Subject of the person whose passkeys are meant: of the visitor, or, for an overseer, of another person. */
const subject = z.string().trim().max(1_024);

function ownerOf(visitor: Visitor, named: unknown): string {
  const { data: other = '' } = subject.optional().safeParse(named);
  if (other === '' || other === visitor.subject) return visitor.subject;
  if (isOverseer(visitor)) return other;
  throw new Refusal(
    403,
    'These are not your passkeys',
    `Only a person with the role “${OVERSEER_ROLE}” can see them.`,
    LINK,
  );
}

function show({ passkeys }: PasskeysHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(response);
    const owner = ownerOf(visitor, request.query['of']);
    const all = await passkeys.store.ofPerson(owner);
    if (!wantsPage(request)) {
      return void response.json({ passkeys: all.map(({ publicKey: _publicKey, subject: _subject, ...one }) => one) });
    }
    const props = { all, owner, isOwn: owner === visitor.subject, visitor, person: personOf(request, visitor) };
    response.send(renderPage(<PasskeysPage {...props} />));
  };
}

function showNew(http: PasskeysHttp) {
  return async (request: Request, response: Response) => {
    if (!isFresh(request, response, http)) return;
    const visitor = visitorOf(response);
    const place = placeOf(http.passkeys.party, request, `${PASSKEYS}/new`);
    const options = place.isHere ? await http.passkeys.registration(visitor) : undefined;
    response.send(renderPage(<NewPasskeyPage person={personOf(request, visitor)} {...{ place, options }} />));
  };
}

const name = z
  .string()
  .trim()
  .min(1)
  .max(60)
  .refine((one) => visibleTitle(one) === one);
const newPasskey = z.object({ name, passkey: z.string().max(40_000) });

const NOT_REGISTERED = {
  invalid: [400, 'The passkey was not registered', 'Open the page again, and press the button once more.'],
  challenge_over: [409, 'The page was too old, or was used before', 'Nothing was registered. Open the page again.'],
  known: [409, 'This passkey was registered before', 'Remove it from your device, and register a new one.'],
  too_many: [409, 'You have too many passkeys', 'Remove one that you no longer use.'],
} as const;

function add(http: PasskeysHttp) {
  return async (request: Request, response: Response) => {
    isFresh(request, response, http);
    const { issuer, subject: of } = visitorOf(response);
    const body = newPasskey.safeParse(request.body);
    if (!body.success) {
      throw new Refusal(
        400,
        'The passkey is incomplete',
        'Give it a name of at most 60 visible characters. The page needs JavaScript.',
        AGAIN,
      );
    }
    const { name: named, passkey } = body.data;
    const outcome = await http.passkeys.register({ issuer, subject: of, name: named }, passkey);
    if (outcome !== 'registered') {
      const [status, title, nextStep] = NOT_REGISTERED[outcome];
      throw new Refusal(status, title, nextStep, AGAIN);
    }
    http.log.info('an approver registered a passkey');
    if (wantsPage(request)) return response.redirect(303, '/passkeys');
    response.status(201).json({ status: 'registered' });
  };
}

const noSuchPasskey = () => new Refusal(404, 'There is no such passkey', 'Open the list of your passkeys.', LINK);

const idOf = ({ params }: Request): string => {
  const id = String(params['id']);
  if (!/^[\w-]{1,1400}$/.test(id)) throw noSuchPasskey();
  return id;
};

function rename({ passkeys }: PasskeysHttp) {
  return async (request: Request, response: Response) => {
    const body = z.object({ name }).safeParse(request.body);
    if (!body.success) throw new Refusal(400, 'This name cannot be used', 'Use 1 to 60 visible characters.', LINK);
    const outcome = await passkeys.store.rename(idOf(request), visitorOf(response).subject, body.data.name);
    if (outcome !== 'renamed') throw noSuchPasskey();
    if (wantsPage(request)) return response.redirect(303, '/passkeys');
    response.json({ status: 'renamed' });
  };
}

function revoke(http: PasskeysHttp) {
  return async (request: Request, response: Response) => {
    isFresh(request, response, http);
    const visitor = visitorOf(response);
    const owner = ownerOf(visitor, ((request.body ?? {}) as { of?: unknown }).of);
    const outcome = await http.passkeys.store.revoke(idOf(request), { subject: owner, by: visitor.subject });
    if (outcome !== 'revoked') throw noSuchPasskey();
    http.log.info({ isOwn: owner === visitor.subject }, 'a passkey was removed');
    const of = owner === visitor.subject ? undefined : owner;
    if (wantsPage(request)) return response.redirect(303, addressOf('/passkeys', { of }));
    response.json({ status: 'removed' });
  };
}
