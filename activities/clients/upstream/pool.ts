import type { Logger } from 'pino';
import type { Timing } from '../../../apps/shared/limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { ResultCheck, UpstreamItems, UpstreamRelay, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import {
  candidatesFor,
  namePrefixOf,
  sortOut,
  type PrefixedUpstream,
  type RefusedTool,
  type SettingsByTool,
} from './offered-tools.ts';
import { atMost } from './reconnection.ts';
import { createCalls } from './calls.ts';
import { UpstreamConnection } from './connection.ts';
import { createItems } from './items.ts';
import type { Changed } from './notices.ts';
import type { UpstreamServer } from './transport.ts';

type ConfiguredUpstream = UpstreamServer & {
  /** Prefix of the public names of its tools and prompts. Default: its key. Empty: they are the upstream's own. */
  readonly prefix?: string | undefined;
};

export interface UpstreamPool extends Upstreams, UpstreamRelay {
  readonly items: UpstreamItems;
  /** The tools that the upstreams listed last, and that are not offered. */
  refused(): readonly RefusedTool[];
  /** Calls back whenever the tools, the prompts, or the resources and their templates may have changed. Answers how to stop that. */
  onChange(listener: (what: Changed) => void): () => void;
  /**
   * Has all lists of the upstreams read anew before they are used again: the list from which an operator has just accepted may be
   * newer than the list here.
   */
  outdate(): void;
  close(): Promise<void>;
}

interface ToolKnowledge {
  readonly settings: SettingsByTool;
  readonly fitsOutput: ResultCheck;
}

/** Connects to upstreams when they are first needed. The keys of `servers` are their names. */
export function createUpstreams(
  servers: Readonly<Record<string, ConfiguredUpstream>>,
  log: Logger,
  { settings, fitsOutput, ...time }: ToolKnowledge & Timing,
): UpstreamPool {
  const listeners = new Set<(what: Changed) => void>();
  let offered: ReturnType<typeof sortOut> = { known: new Map(), refused: [] };
  const upstreams = prefixed(servers, { log, ...time }, (upstream, what) => {
    if (what === 'tools') offered = sortOut(upstreams, settings, log);
    else items.changed(upstream, what);
    for (const listener of listeners) listener(what);
  });
  const items = createItems(upstreams, { log, clock: time.clock });
  const connections = () => [...upstreams.values()].map(({ connection }) => connection);

  return {
    ...createCalls(upstreams, { known: () => offered.known, fitsOutput, log, clock: time.clock }),
    items,

    async tools() {
      await Promise.all(connections().map((one) => atMost(one.ensureGoodTools(), one.waitMs, time.clock)));
      return [...offered.known.values()].filter((tool) => upstreams.get(tool.upstream)?.connection.isConnected);
    },

    async find(name, options) {
      const known = offered.known.get(name);
      // A call of a tool that is known waits for no other upstream than its own.
      const owner = options?.live ? undefined : known && upstreams.get(known.upstream);
      const candidates = owner ? [owner] : candidatesFor(name, upstreams).map(([, candidate]) => candidate);
      await Promise.all(candidates.map(({ connection }) => ensureTools(connection, time, options?.live)));
      return offered.known.get(name);
    },

    refused: () => offered.refused,

    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    outdate() {
      for (const connection of connections()) connection.outdate();
      items.outdate();
    },

    async close() {
      await Promise.all(connections().map((connection) => connection.close()));
    },
  };
}

/** A connection opens, and calls `onChanged`, only after the first request. */
function prefixed(
  servers: Readonly<Record<string, ConfiguredUpstream>>,
  { log, ...time }: Timing & { readonly log: Logger },
  onChanged: (upstream: string, what: Changed) => void,
): ReadonlyMap<string, PrefixedUpstream> {
  return new Map(
    Object.entries(servers).map(([upstream, { prefix = upstream, ...server }]) => {
      const own = { log: log.child({ upstream }), onChanged: (what: Changed) => onChanged(upstream, what) };
      const connection = new UpstreamConnection(server, { ...own, ...time });
      return [upstream, { connection, namePrefix: namePrefixOf(prefix) }];
    }),
  );
}

/**
 * Has the upstream's list of tools read when it is too old; with `live`, in any case. Throws `ERR_UPSTREAM_UNAVAILABLE` or
 * `ERR_UPSTREAM_LIST_UNAVAILABLE` when that fails or takes too long.
 */
async function ensureTools(connection: UpstreamConnection, { clock, limits }: Timing, live = false): Promise<void> {
  if (live) return void (await connection.refresh());
  if (await atMost(connection.ensureGoodTools(), limits.upstreamWaitMs, clock)) return;
  if (connection.tools === undefined)
    throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'the upstream server has not listed its tools yet');
  throw new CountersignError('ERR_UPSTREAM_LIST_UNAVAILABLE', 'the upstream server does not list its tools now');
}

/** Whether an upstream can be used: how many tools it lists, or why not. */
export type UpstreamState = { readonly upstream: string } & (
  { readonly tools: number } | { readonly problem: unknown }
);

/** Connects every upstream once, has its tools listed, and disconnects. Never rejects. */
export function examineUpstreams(
  servers: Readonly<Record<string, UpstreamServer>>,
  log: Logger,
  time: Timing,
): Promise<readonly UpstreamState[]> {
  return Promise.all(
    Object.entries(servers).map(async ([upstream, server]): Promise<UpstreamState> => {
      const connection = new UpstreamConnection(server, { log, onChanged: () => undefined, ...time });
      try {
        await connection.connect();
        return { upstream, tools: connection.tools?.length ?? 0 };
      } catch (problem) {
        return { upstream, problem };
      } finally {
        await connection.close();
      }
    }),
  );
}
