import { ProtocolError, type Server } from '@modelcontextprotocol/server';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import type { Authorize } from '../mcp/authorize.ts';
import { unknownResource } from '../wire/errors.ts';
import { CARD_ADDRESS, INVALID_PARAMS } from '../wire/identifiers.ts';
import type { ContextOf } from '../wire/request-context.ts';
import type { SessionState } from './session.ts';

const MAX_PER_SESSION = 100;

type Items = Pick<UpstreamItems, 'subscribe' | 'unsubscribe' | 'onUpdated'>;
type Subscriber = Pick<SessionState, 'announce'>;

/** Which sessions subscribed to which resources. An upstream is asked once for all of them. */
export class ResourceSubscribers {
  readonly #items: Items;
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  readonly stop: () => void;

  constructor(items: Items) {
    this.#items = items;
    this.stop = items.onUpdated((upstream, uri) => {
      for (const subscriber of this.#subscribers.get(keyOf(upstream, uri)) ?? []) {
        // Only the address: whether the client may read the resource is decided when it does.
        subscriber.announce('notifications/resources/updated', { uri });
      }
    });
  }

  /** Whether the upstream announces changes of this resource. */
  async add(subscriber: Subscriber, upstream: string, uri: string): Promise<boolean> {
    const key = keyOf(upstream, uri);
    const others = this.#subscribers.get(key) ?? new Set();
    this.#subscribers.set(key, others.add(subscriber));
    const isTaken = await this.#items.subscribe(upstream, uri);
    if (!isTaken) this.#forget(subscriber, key);
    // All who wanted it left before the upstream took it, so it was not told then.
    else if (!this.#subscribers.has(key)) this.#items.unsubscribe(upstream, uri);
    return isTaken;
  }

  remove(subscriber: Subscriber, upstream: string, uri: string): void {
    if (this.#forget(subscriber, keyOf(upstream, uri))) this.#items.unsubscribe(upstream, uri);
  }

  /** Whether it was the last one. */
  #forget(subscriber: Subscriber, key: string): boolean {
    const subscribers = this.#subscribers.get(key);
    if (subscribers?.delete(subscriber) !== true || subscribers.size > 0) return false;
    return this.#subscribers.delete(key);
  }
}

const keyOf = (upstream: string, uri: string) => JSON.stringify([upstream, uri]);

export interface SubscriptionMethodDeps {
  readonly upstreams: { readonly items: Pick<UpstreamItems, 'findResource'> };
  readonly accepted: Accepted;
  readonly authorizeRead: Authorize;
  readonly subscribers: ResourceSubscribers;
}

/**
 * `resources/subscribe` and `resources/unsubscribe` of a session. The PDP is asked about a subscription as about reading the resource.
 * Subscriptions end with the session, and when it leaves memory.
 */
export function registerSubscriptions(
  server: Server,
  deps: SubscriptionMethodDeps,
  contextOf: ContextOf,
  state: SessionState,
): void {
  const held = new HeldSubscriptions(deps.subscribers, state);
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, ctx) => {
    const sender = contextOf(ctx);
    return sender.guarded('resources/subscribe', async () => {
      if (uri === CARD_ADDRESS) throw refusal(NOT_ANNOUNCED);
      const of = await deps.upstreams.items.findResource(uri);
      const [first] = of;
      if (first === undefined) throw unknownResource(uri);
      if ((await deps.accepted.among(of)).length < of.length) {
        throw new CountersignError('ERR_NOT_ACCEPTED', 'its description is not the accepted one');
      }
      await deps.authorizeRead(sender, 'resources/read', { uri });
      if (await held.add(first.upstream, uri)) return {};
      throw refusal(NOT_ANNOUNCED);
    });
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    held.remove(uri);
    return {};
  });
}

/** The subscriptions of one session. */
class HeldSubscriptions {
  readonly #subscribers: ResourceSubscribers;
  readonly #state: SessionState;
  /** By address. */
  readonly #held = new Map<string, { readonly upstream: string; readonly isTaken: Promise<boolean> }>();

  constructor(subscribers: ResourceSubscribers, state: SessionState) {
    this.#subscribers = subscribers;
    this.#state = state;
    const removeAll = () => [...this.#held.keys()].forEach((uri) => this.remove(uri));
    state.view.closing.addEventListener('abort', removeAll, { once: true });
  }

  /** Whether changes are announced. Throws for one more than a session can have. */
  async add(upstream: string, uri: string): Promise<boolean> {
    const known = this.#held.get(uri);
    if (known?.upstream === upstream) return known.isTaken;
    // Another server has the address since the configuration changed.
    this.remove(uri);
    if (this.#held.size >= MAX_PER_SESSION)
      throw refusal(`This session has ${MAX_PER_SESSION} subscriptions, the most it can have.`);
    const one = { upstream, isTaken: this.#subscribers.add(this.#state, upstream, uri) };
    this.#held.set(uri, one);
    const isTaken = await one.isTaken;
    if (!isTaken && this.#held.get(uri) === one) this.#held.delete(uri);
    if (this.#state.view.closing.aborted) this.remove(uri);
    return isTaken;
  }

  remove(uri: string): void {
    const { upstream } = this.#held.get(uri) ?? {};
    if (upstream !== undefined && this.#held.delete(uri)) this.#subscribers.remove(this.#state, upstream, uri);
  }
}

const NOT_ANNOUNCED = 'Its server offers no subscription to this resource.';

const refusal = (message: string) => new ProtocolError(INVALID_PARAMS, message);
