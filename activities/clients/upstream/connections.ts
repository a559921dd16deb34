import { isDeepStrictEqual } from 'node:util';
import { namePrefixOf } from '../../../workflows/domain/tools/wire-names.ts';
import { AskingConnections } from './asking-connections.ts';
import type { Hearing, Changed } from './notices.ts';
import { UpstreamConnection } from './connection.ts';
import type { PrefixedUpstream } from './offered-tools.ts';
import { ResourceSubscriptions } from './subscriptions.ts';
import type { UpstreamServer } from './transport.ts';

type ConfiguredUpstream = UpstreamServer & {
  /** Prefix of the public names of its tools and prompts. Default: its key. Empty: they are the upstream's own. */
  readonly prefix?: string | undefined;
};

/** The configured servers by their names. */
export type Servers = Readonly<Record<string, ConfiguredUpstream>>;

interface Heard {
  readonly onChanged: (upstream: string, what: Changed) => void;
  /** A resource with a subscription has changed, or may have changed. */
  readonly onUpdated: (upstream: string, uri: string) => void;
}

/** The connections of the servers. A connection opens, and calls back, only after the first request. */
export class Connections {
  readonly #upstreams = new Map<string, PrefixedUpstream>();
  readonly #servers = new Map<string, UpstreamServer>();
  readonly #retiring = new Map<UpstreamConnection, Promise<void>>();
  readonly #surroundings: Omit<Hearing, 'onChanged'>;
  readonly #heard: Heard;
  readonly #subscriptions = new Map<string, ResourceSubscriptions>();
  /** Over which upstreams of earlier revisions ask the clients of sessions. */
  readonly asking: AskingConnections;

  constructor(surroundings: Omit<Hearing, 'onChanged'>, heard: Heard) {
    this.#surroundings = surroundings;
    this.#heard = heard;
    this.asking = new AskingConnections(surroundings);
  }

  /** Always the same object, with the servers of now. */
  get upstreams(): ReadonlyMap<string, PrefixedUpstream> {
    return this.#upstreams;
  }

  /** By the name of the upstream. One that is not configured any more keeps its subscriptions, for when it is again. */
  get subscriptions(): ReadonlyMap<string, ResourceSubscriptions> {
    return this.#subscriptions;
  }

  /** Connections of servers with the same settings stay, under the prefix that they have now. The others retire. */
  replace(next: Servers): void {
    const before = new Map(this.#upstreams);
    const settings = new Map(this.#servers);
    this.#upstreams.clear();
    this.#servers.clear();
    for (const [upstream, { prefix = upstream, ...server }] of Object.entries(next)) {
      const isKept = isDeepStrictEqual(settings.get(upstream), server);
      const connection = (isKept ? before.get(upstream)?.connection : undefined) ?? this.#connect(upstream, server);
      this.#upstreams.set(upstream, { connection, namePrefix: namePrefixOf(prefix) });
      this.#servers.set(upstream, server);
    }
    for (const [upstream, { connection }] of before) {
      if (this.#upstreams.get(upstream)?.connection !== connection) this.#retire(upstream, connection);
    }
    this.#carryOver();
  }

  async close(): Promise<void> {
    const present = [...this.#upstreams.values()].map(({ connection }) => connection);
    await this.asking.close();
    await Promise.all([...present, ...this.#retiring.keys()].map((connection) => connection.close()));
    await Promise.all(this.#retiring.values());
  }

  #connect(upstream: string, server: UpstreamServer): UpstreamConnection {
    const { log, clock, limits } = this.#surroundings;
    // What a connection reports that was replaced is about another server.
    const isPresent = () => this.#upstreams.get(upstream)?.connection === connection;
    const onChanged = (what: Changed) => {
      if (isPresent()) this.#heard.onChanged(upstream, what);
    };
    const own = { log: log.child({ upstream }), clock, limits };
    const subscriptions = this.#subscriptionsOf(upstream, own);
    const connection = new UpstreamConnection(server, { ...own, onChanged, subscriptions });
    return connection;
  }

  #subscriptionsOf(upstream: string, own: Omit<Hearing, 'onChanged'>): ResourceSubscriptions {
    const known = this.#subscriptions.get(upstream);
    if (known !== undefined) return known;
    const onUpdated = (uri: string) => this.#heard.onUpdated(upstream, uri);
    const subscriptions = new ResourceSubscriptions({ ...own, onUpdated });
    this.#subscriptions.set(upstream, subscriptions);
    return subscriptions;
  }

  /** Takes subscriptions to the present connections. */
  #carryOver(): void {
    for (const [upstream, subscriptions] of this.#subscriptions) {
      const connection = this.#upstreams.get(upstream)?.connection;
      if (!subscriptions.isNeeded && connection === undefined) this.#subscriptions.delete(upstream);
      // One that fails is tried again later.
      if (subscriptions.isNeeded && connection?.isConnected === false) connection.connect().catch(() => undefined);
    }
  }

  #retire(upstream: string, connection: UpstreamConnection): void {
    const { log } = this.#surroundings;
    connection.subscriptions.leave();
    const failed = (err: unknown) => log.warn({ upstream, err }, 'an upstream that is not used any more did not close');
    const closing = Promise.all([connection.retire(), this.asking.retire(connection)]).then(() => undefined, failed);
    this.#retiring.set(
      connection,
      closing.finally(() => this.#retiring.delete(connection)),
    );
  }
}
