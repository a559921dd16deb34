import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { Timing } from '../../../apps/shared/limits.ts';
import type { UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import { sendOnce } from './request.ts';

/** Before the stream of notices is asked for again: after it ended, and after the upstream refused it. */
const LISTEN_AGAIN_MS = 1_000;
const REFUSED_MS = 30_000;

interface SubscriptionDeps extends Timing {
  readonly log: Logger;
  /** Gets the address of a resource that has changed, or may have changed. */
  readonly onUpdated: (uri: string) => void;
}

/**
 * The subscriptions to resources of the upstream with one name. They outlive its connections, also those to a server with other settings.
 * An upstream of the present revision announces changes on a stream whose filter names all resources; one of an earlier revision takes them
 * one by one. At each new connection all are made again, and all count as changed.
 */
export class ResourceSubscriptions {
  readonly #deps: SubscriptionDeps;
  /** By address: whether the upstream took the subscription. */
  readonly #wanted = new Map<string, Promise<boolean>>();
  /** The client of the connection that announces changes now. */
  #client: Client | undefined;
  #stream: McpSubscription | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: SubscriptionDeps) {
    this.#deps = deps;
  }

  /** Whether there are subscriptions, for which a connection is needed. */
  get isNeeded(): boolean {
    return this.#wanted.size > 0;
  }

  /** Whether changes are announced over the connection of this client now. */
  isAt(client: Client): boolean {
    return this.#client === client;
  }

  /** Takes a new connection, and makes all subscriptions again. Never rejects. */
  async renew(client: Client): Promise<void> {
    this.#client = client;
    this.#stream = undefined;
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
      if (this.#client === client && this.#wanted.has(uri)) this.#deps.onUpdated(uri);
    });
    await this.#makeAgain(client);
    this.#allChanged();
  }

  /** Leaves a connection whose server is not used any more. Without another, all subscriptions wait for one. */
  leave(): void {
    this.#client = undefined;
    this.#stream = undefined;
    this.#allChanged();
  }

  /** Whether the upstream announces changes of this resource from now on. Never rejects. */
  async add(client: Client, uri: string): Promise<boolean> {
    if (!this.isAt(client) || client.getServerCapabilities()?.resources?.subscribe !== true) return false;
    const known = this.#wanted.get(uri);
    if (known !== undefined) return known;
    const made = this.#inTurn(() =>
      isModern(client) ? this.#listen(client, uri) : this.#send(client, 'resources/subscribe', uri),
    );
    this.#wanted.set(uri, made);
    const isTaken = await made;
    if (!isTaken && this.#wanted.get(uri) === made) this.#wanted.delete(uri);
    return isTaken;
  }

  /** Never rejects. */
  async remove(uri: string): Promise<void> {
    const client = this.#client;
    if (!this.#wanted.delete(uri) || client === undefined) return;
    await this.#inTurn(() =>
      isModern(client) ? this.#listen(client) : this.#send(client, 'resources/unsubscribe', uri),
    );
  }

  #allChanged(): void {
    for (const uri of this.#wanted.keys()) this.#deps.onUpdated(uri);
  }

  /** Whether all were made. */
  async #makeAgain(client: Client): Promise<boolean> {
    const uris = [...this.#wanted.keys()];
    if (uris.length === 0) return true;
    if (!isModern(client)) {
      // Each by itself: one that is refused keeps no other.
      const made = await Promise.all(
        uris.map((uri) => this.#inTurn(() => this.#send(client, 'resources/subscribe', uri))),
      );
      return made.every(Boolean);
    }
    const isMade = await this.#inTurn(() => this.#listen(client));
    if (!isMade) this.#again(client, REFUSED_MS);
    return isMade;
  }

  /**
   * Asks for a stream with all addresses. It is open before the old one ends, so that no notice is lost between them. Answers whether the
   * upstream takes this address.
   */
  async #listen(client: Client, uri?: string): Promise<boolean> {
    if (this.#client !== client) return false;
    const before = this.#stream;
    const uris = [...this.#wanted.keys()];
    if (uris.length === 0) {
      this.#stream = undefined;
      await before?.close();
      return true;
    }
    const { upstreamListenMs: timeout } = this.#deps.limits;
    const stream = await client.listen({ resourceSubscriptions: uris }, { timeout });
    if (this.#client !== client) {
      await stream.close();
      return false;
    }
    this.#stream = stream;
    void stream.closed.then((why) => {
      if (why !== 'local' && this.#stream === stream) this.#again(client, LISTEN_AGAIN_MS);
    });
    await before?.close();
    return uri === undefined || stream.honoredFilter.resourceSubscriptions?.includes(uri) === true;
  }

  /** A notice may be missed until then, so all count as changed. */
  #again(client: Client, pauseMs: number): void {
    const before = this.#stream;
    this.#deps.clock.once(pauseMs, () => {
      if (client.transport === undefined || this.#client !== client || this.#stream !== before) return;
      void this.#makeAgain(client).then((isMade) => {
        if (isMade) this.#allChanged();
      });
    });
  }

  async #send(client: Client, method: string, uri: string): Promise<boolean> {
    const limits = { timeoutMs: this.#deps.limits.upstreamListenMs };
    await sendOnce(client, { method, params: { uri } }, limits, this.#deps.clock);
    return true;
  }

  /** One change after the other. A failed one counts as refused. */
  #inTurn(act: () => Promise<boolean>): Promise<boolean> {
    const turn = this.#turn.then(act).catch((err: unknown) => {
      this.#deps.log.debug({ err }, 'the upstream does not announce changes of a resource');
      return false;
    });
    this.#turn = turn;
    return turn;
  }
}

interface Subscribed {
  readonly connection: { readonly subscriptions: ResourceSubscriptions; connect(): Promise<Client> };
}

/**
 * Never rejects: an upstream that cannot be reached announces nothing.
 *
 * @param upstreams Those of now.
 * @param subscriptions By the name of the upstream, also of one that is not configured any more.
 */
export const createSubscribing = (
  upstreams: ReadonlyMap<string, Subscribed>,
  subscriptions: ReadonlyMap<string, ResourceSubscriptions>,
): Pick<UpstreamItems, 'subscribe' | 'unsubscribe'> => ({
  async subscribe(upstream, uri) {
    for (;;) {
      const connection = upstreams.get(upstream)?.connection;
      const client = await connection?.connect().catch(() => undefined);
      const isPresent = upstreams.get(upstream)?.connection === connection;
      // Another connection took its place meanwhile.
      if (!isPresent) continue;
      if (connection === undefined || client === undefined) return false;
      const isTaken = await connection.subscriptions.add(client, uri);
      if (isTaken || connection.subscriptions.isAt(client)) return isTaken;
    }
  },
  unsubscribe: (upstream, uri) => void subscriptions.get(upstream)?.remove(uri),
});

const isModern = (client: Client) => client.getProtocolEra() === 'modern';
