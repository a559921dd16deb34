import type { Logger } from 'pino';
import type { Timing } from '../../shared/limits.ts';
import type { AccessRequestClient } from '../access-requests/clients.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { createSignedPost, isAccepted } from './signed-post.ts';

interface CallbackOptions extends Timing {
  readonly store: Pick<AccessRequestStore, 'callbackOf'>;
  readonly clients: readonly AccessRequestClient[];
  readonly statusEndpointOf: (id: string) => string;
  readonly log: Logger;
}

/**
 * Tells the enforcement point that a request has ended. Id and body depend on the request alone, so that the receiver recognizes a
 * repeated callback. Throws when the receiver did not accept it; the outbox then tries again.
 * @see ARAP, Callback Completion
 */
export function createCallbackSender(options: CallbackOptions) {
  const { store, clients, statusEndpointOf, clock, log } = options;
  const senders = new Map(
    clients.flatMap(({ name, callbacks }) =>
      callbacks === undefined ? [] : [[name, { ...callbacks, post: createSignedPost(callbacks, options) }]],
    ),
  );
  return async (requestId: string): Promise<void> => {
    const callback = await store.callbackOf(requestId);
    if (callback === undefined) return;
    const { endpoint, state, status, endedAt, client } = callback;
    const sender = senders.get(client);
    const address = addressNow(sender?.endpoints, endpoint);
    if (sender === undefined || address === undefined)
      return log.warn({ accessRequest: requestId, client }, 'a callback is not sent: its address is not registered');
    const task = { id: requestId, status, status_endpoint: statusEndpointOf(requestId) };
    const body = JSON.stringify({ ...(state !== undefined && { state }), task });
    const posted = sender.post(address, { id: `msg_${requestId}`, body });
    if (await isAccepted(posted, { since: endedAt, what: `the callback of ${requestId}`, to: address, clock })) return;
    log.warn({ accessRequest: requestId }, 'a callback was given up; its receiver has to poll');
  };
}

/**
 * The client's current callback address. Requests wait for weeks, so the client may have moved since it submitted one: if it now has
 * exactly one address, the callback goes there. An address that is no longer registered gets nothing.
 */
function addressNow(registered: ReadonlySet<string> = new Set(), endpoint: string): string | undefined {
  if (registered.has(endpoint)) return endpoint;
  return registered.size === 1 ? [...registered][0] : undefined;
}
