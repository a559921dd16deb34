import type { Logger } from 'pino';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import type { OutboxHandler } from '../../shared/outbox.ts';
import type { AccessRequestClient, CallbackTrust } from '../access-requests/clients.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { createGuardedAgent } from './guarded-agent.ts';

const TIMEOUT_MS = 15_000;
/** A callback only makes the other side look earlier. After a day it has looked by itself. */
const GIVE_UP_MS = 24 * 3_600_000;

export interface CallbackOptions {
  readonly store: Pick<AccessRequestStore, 'callbackOf'>;
  readonly clients: readonly AccessRequestClient[];
  readonly statusEndpointOf: (id: string) => string;
  readonly log: Logger;
}

/**
 * Tells the enforcement point that a request has ended. Id and body depend on the request alone, so that a repeated
 * callback is recognised as the same. Throws when the receiver did not take it; the outbox then tries again.
 * @see ARAP, Callback Completion
 */
export function createCallbackSender({ store, clients, statusEndpointOf, log }: CallbackOptions): OutboxHandler {
  const senders = new Map(
    clients.flatMap(({ name, callbacks }) => (callbacks === undefined ? [] : [[name, senderFor(callbacks)]])),
  );
  return async (requestId) => {
    const callback = await store.callbackOf(requestId);
    if (callback === undefined) return;
    const { endpoint, state, status, endedAt, client } = callback;
    // Registered when it was submitted, and perhaps not any more.
    const post = senders.get(client)?.(endpoint);
    if (post === undefined)
      return log.warn({ requestId, client }, 'a callback is not sent: its address is not registered');
    const task = { id: requestId, status, status_endpoint: statusEndpointOf(requestId) };
    const body = JSON.stringify({ ...(state !== undefined && { state }), task });
    const answer = await post({ id: `msg_${requestId}`, body }).catch((error: unknown) => error);
    if (typeof answer === 'number' && answer >= 200 && answer < 300) return;
    const gaveUp = answer === 410 || Date.now() - Date.parse(endedAt) > GIVE_UP_MS;
    if (!gaveUp) throw new Error(`the receiver did not take the callback of ${requestId}`, { cause: answer });
    log.warn({ requestId, answer }, 'a callback was given up; its receiver has to look by itself');
  };
}

type Post = (message: { id: string; body: string }) => Promise<number>;

/** Posts once to a registered address, follows no redirect, and answers the status. Undefined for any other address. */
function senderFor({ secret, endpoints, networks }: CallbackTrust): (endpoint: string) => Post | undefined {
  const webhook = new Webhook(secret);
  const guard = createGuardedAgent(networks);
  return (endpoint) => {
    if (!endpoints.has(endpoint)) return undefined;
    return async (message) => {
      guard.check(endpoint);
      const headers = signedHeaders(webhook, message);
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const { body } = message;
      const answer = await request(endpoint, { method: 'POST', headers, body, signal, dispatcher: guard.agent });
      await answer.body.dump();
      return answer.statusCode;
    };
  };
}
