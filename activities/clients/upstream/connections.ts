import { isDeepStrictEqual } from 'node:util';
import { namePrefixOf } from '../../../workflows/domain/tools/wire-names.ts';
import type { Hearing, Changed } from './notices.ts';
import { UpstreamConnection } from './connection.ts';
import type { PrefixedUpstream } from './offered-tools.ts';
import type { UpstreamServer } from './transport.ts';

type ConfiguredUpstream = UpstreamServer & {
  /** Prefix of the public names of its tools and prompts. Default: its key. Empty: they are the upstream's own. */
  readonly prefix?: string | undefined;
};

/** The configured servers by their names. */
export type Servers = Readonly<Record<string, ConfiguredUpstream>>;

/** The connections of the servers. A connection opens, and calls `onChanged`, only after the first request. */
export class Connections {
  readonly #upstreams = new Map<string, PrefixedUpstream>();
  readonly #servers = new Map<string, UpstreamServer>();
  readonly #retiring = new Map<UpstreamConnection, Promise<void>>();
  readonly #surroundings: Omit<Hearing, 'onChanged'>;
  readonly #onChanged: (upstream: string, what: Changed) => void;

  constructor(surroundings: Omit<Hearing, 'onChanged'>, onChanged: (upstream: string, what: Changed) => void) {
    this.#surroundings = surroundings;
    this.#onChanged = onChanged;
  }

  /** Always the same object, with the servers of now. */
  get upstreams(): ReadonlyMap<string, PrefixedUpstream> {
    return this.#upstreams;
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
  }

  async close(): Promise<void> {
    const present = [...this.#upstreams.values()].map(({ connection }) => connection);
    await Promise.all([...present, ...this.#retiring.keys()].map((connection) => connection.close()));
    await Promise.all(this.#retiring.values());
  }

  #connect(upstream: string, server: UpstreamServer): UpstreamConnection {
    const { log, clock, limits } = this.#surroundings;
    // What a connection reports that was replaced is about another server.
    const onChanged = (what: Changed) => {
      if (this.#upstreams.get(upstream)?.connection === connection) this.#onChanged(upstream, what);
    };
    const connection = new UpstreamConnection(server, { log: log.child({ upstream }), onChanged, clock, limits });
    return connection;
  }

  #retire(upstream: string, connection: UpstreamConnection): void {
    const { log } = this.#surroundings;
    const failed = (err: unknown) => log.warn({ upstream, err }, 'an upstream that is not used any more did not close');
    const closing = connection.retire().catch(failed);
    this.#retiring.set(
      connection,
      closing.finally(() => this.#retiring.delete(connection)),
    );
  }
}
