import type { Logger } from 'pino';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { ResultCheck, UpstreamItems, Upstreams } from '../../workflows/domain/upstream-ports.ts';
import type { UpstreamRelay } from '../../workflows/domain/relay-port.ts';
import { candidatesFor, startOf, type Mounted } from './mounted.ts';
import { sortOut, type OfferedTools, type RefusedTool, type SettingsByTool } from './offered-tools.ts';
import { atMost } from './patience.ts';
import { createCalls } from './upstream-calls.ts';
import { UpstreamConnection } from './upstream-connection.ts';
import { JoinedItems } from './upstream-items.ts';
import type { Changed } from './upstream-notices.ts';
import type { UpstreamServer } from './upstream-transport.ts';

/** How long a call waits for the first list of tools of the upstream it names. */
const FIND_PATIENCE_MS = 15_000;

/** An upstream as the configuration names it. */
export type ConfiguredUpstream = UpstreamServer & {
  /** What the public names of its tools and prompts begin with. Default: its key. Empty: they are the upstream's own. */
  readonly prefix?: string | undefined;
};

/** The upstream MCP servers, with their connections. */
export interface UpstreamPool extends Upstreams, UpstreamRelay {
  /** What the upstreams have beside tools. */
  readonly items: UpstreamItems;
  /** What the upstreams listed last, and is not offered. */
  refused(): readonly RefusedTool[];
  /** Calls back whenever the tools, the prompts, or the resources and their templates may have changed. Answers how to stop that. */
  onChange(listener: (what: Changed) => void): () => void;
  close(): Promise<void>;
}

/** What is known of tools beside what their upstreams say. */
export interface ToolKnowledge {
  readonly settings: SettingsByTool;
  readonly fitsOutput: ResultCheck;
}

/** Connects to upstreams when they are first needed. The keys of `servers` are their names. */
export function createUpstreams(
  servers: Readonly<Record<string, ConfiguredUpstream>>,
  log: Logger,
  { settings, fitsOutput }: ToolKnowledge,
): UpstreamPool {
  const listeners = new Set<(what: Changed) => void>();
  const mounted = new Map<string, Mounted>();
  let offered: OfferedTools = { known: new Map(), refused: [] };
  const onChanged = (upstream: string, what: Changed) => {
    if (what === 'tools') offered = sortOut(mounted, settings, log);
    else items.changed(upstream, what);
    for (const listener of listeners) listener(what);
  };
  for (const [upstream, { prefix = upstream, ...server }] of Object.entries(servers)) {
    const onChange = (what: Changed) => onChanged(upstream, what);
    const connection = new UpstreamConnection(server, log.child({ upstream }), onChange);
    mounted.set(upstream, { connection, start: startOf(prefix) });
  }
  const items = new JoinedItems(mounted, log);
  const connections = () => [...mounted.values()].map(({ connection }) => connection);

  return {
    ...createCalls(mounted, { known: () => offered.known, fitsOutput, log }),
    items,

    async tools() {
      await Promise.all(connections().map((connection) => atMost(connection.connect(), connection.patienceMs)));
      return [...offered.known.values()].filter((tool) => mounted.get(tool.upstream)?.connection.isConnected);
    },

    async find(name, options) {
      const candidates = candidatesFor(name, mounted).map(([, { connection }]) => connection);
      await lookAt(candidates, { live: options?.live, isKnown: offered.known.has(name) });
      return offered.known.get(name);
    },

    refused: () => offered.refused,

    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async close() {
      await Promise.all(connections().map((connection) => connection.close()));
    },
  };
}

/** Connects an upstream that never listed its tools. Throws `ERR_UPSTREAM_UNAVAILABLE` when that takes too long. */
async function firstAnswer(connection: UpstreamConnection): Promise<void> {
  await atMost(connection.connect(), FIND_PATIENCE_MS);
  if (connection.tools !== undefined) return;
  throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'the upstream server has not listed its tools yet');
}

/** Looks whether one of these upstreams has a tool: with `live` now, else only at those that never listed theirs. */
async function lookAt(
  candidates: readonly UpstreamConnection[],
  { live, isKnown }: { live: boolean | undefined; isKnown: boolean },
): Promise<void> {
  if (live) await Promise.all(candidates.map((connection) => connection.refresh()));
  if (live || isKnown) return;
  const unread = candidates.filter((connection) => connection.tools === undefined);
  await Promise.all(unread.map((connection) => firstAnswer(connection)));
}
