import type { Logger } from 'pino';
import type { Timing } from '../../../apps/shared/limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type {
  ResultCheck,
  UpstreamItems,
  UpstreamRelay,
  Upstreams,
  UpstreamTool,
} from '../../../workflows/domain/upstream-ports.ts';
import {
  candidatesFor,
  sortOut,
  type PrefixedUpstream,
  type RefusedTool,
  type SettingsByTool,
} from './offered-tools.ts';
import { createReports } from './reports.ts';
import { createAudience } from './audience.ts';
import { atMost } from './reconnection.ts';
import { createCalls } from './calls.ts';
import { UpstreamConnection } from './connection.ts';
import { Connections, type Servers } from './connections.ts';
import { createItems } from './items.ts';
import type { Changed } from './notices.ts';
import { createSubscribing } from './subscriptions.ts';
import type { UpstreamServer } from './transport.ts';

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
  /**
   * Takes these servers and settings of tools, at once. A server whose settings are the same keeps its connection. One that is gone, or
   * has other settings, gets no new request; what was sent to it ends as usual, and then its connection is closed.
   */
  reconfigure(servers: Servers, settings: SettingsByTool): void;
  close(): Promise<void>;
}

interface ToolKnowledge {
  readonly settings: SettingsByTool;
  readonly fitsOutput: ResultCheck;
}

/** Connects to upstreams when they are first needed. The keys of `servers` are their names. */
export function createUpstreams(
  servers: Servers,
  log: Logger,
  { settings: atStart, fitsOutput, ...time }: ToolKnowledge & Timing,
): UpstreamPool {
  const changes = createAudience<[what: Changed]>();
  const updates = createAudience<[upstream: string, uri: string]>();
  let settings = atStart;
  let offered: ReturnType<typeof sortOut> = { known: new Map(), refused: [] };
  const report = createReports(log);
  const sort = () => {
    offered = sortOut(upstreams, settings);
    report(offered);
  };
  const onChanged = (upstream: string, what: Changed) => {
    if (what === 'tools') sort();
    else items.changed(upstream, what);
    changes.tell(what);
  };
  const all = new Connections({ log, ...time }, { onChanged, onUpdated: updates.tell });
  all.replace(servers);
  const { upstreams, asking } = all;
  const items = createItems(upstreams, { asking, log, clock: time.clock });

  return {
    ...createCalls(upstreams, { known: () => offered.known, fitsOutput, asking, log, clock: time.clock }),
    items: { ...items, ...createSubscribing(upstreams, all.subscriptions), onUpdated: updates.hear },

    ...createLookUp(upstreams, () => offered.known, time),

    refused: () => offered.refused,

    onChange: changes.hear,

    outdate() {
      for (const { connection } of upstreams.values()) connection.outdate();
      items.outdate();
    },

    reconfigure(next, ofTools) {
      settings = ofTools;
      all.replace(next);
      items.reconfigured();
      sort();
      for (const what of ['tools', 'prompts', 'resources'] as const) changes.tell(what);
    },

    close: () => all.close(),
  };
}

function createLookUp(
  upstreams: ReadonlyMap<string, PrefixedUpstream>,
  known: () => ReadonlyMap<string, UpstreamTool>,
  time: Timing,
): Pick<Upstreams, 'tools' | 'find'> {
  return {
    async tools() {
      const connections = [...upstreams.values()].map(({ connection }) => connection);
      await Promise.all(connections.map((one) => atMost(one.ensureGoodTools(), one.waitMs, time.clock)));
      return [...known().values()].filter((tool) => upstreams.get(tool.upstream)?.connection.isConnected);
    },

    async find(name, options) {
      for (;;) {
        const tool = known().get(name);
        // A call of a tool that is known waits for no other upstream than its own.
        const owner = options?.live ? undefined : tool && upstreams.get(tool.upstream);
        const candidates = owner ? [owner] : candidatesFor(name, upstreams).map(([, candidate]) => candidate);
        const listing = candidates.map(({ connection }) => ensureTools(connection, time, options?.live));
        const [failed] = (await Promise.allSettled(listing)).filter(({ status }) => status === 'rejected');
        // What a connection lists or fails at is of no account once another has its place.
        const present = new Set([...upstreams.values()].map(({ connection }) => connection));
        if (!candidates.every(({ connection }) => present.has(connection))) continue;
        if (failed?.status === 'rejected') throw failed.reason;
        return known().get(name);
      }
    },
  };
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
  | { readonly tools: number }
  | { readonly problem: unknown }
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
