import type { Logger } from 'pino';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { InvocationResult, Upstreams, UpstreamTool } from '../../workflows/domain/ports.ts';
import { sortOut, type RefusedTool, type SettingsByTool } from './offered-tools.ts';
import { atMost, orAborted } from './patience.ts';
import { readFailure, readToolResult } from './upstream-answer.ts';
import { UpstreamConnection } from './upstream-connection.ts';
import type { UpstreamServer } from './upstream-transport.ts';

/** How old an attempt to connect may get while a list of all tools waits for it. A program has to start first. */
const LIST_PATIENCE_MS = 15_000;
/** How long a call waits for the first list of tools of the upstream it names. */
const FIND_PATIENCE_MS = 15_000;
const SEPARATOR = '__';

/** An upstream as the configuration names it. */
export type ConfiguredUpstream = UpstreamServer & {
  /** What the public names of its tools begin with. Default: its key. Empty: they are the upstream's own. */
  readonly prefix?: string | undefined;
};

/** An upstream with what the public names of its tools begin with, separator included. */
interface Mounted {
  readonly connection: UpstreamConnection;
  readonly start: string;
}

/** The upstream MCP servers, with their connections. */
export interface UpstreamPool extends Upstreams {
  /** What the upstreams listed last, and is not offered. */
  refused(): readonly RefusedTool[];
  /** Calls back whenever the tools may have changed. Answers how to stop that. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** Connects to upstreams when they are first needed. The keys of `servers` are their names. */
export function createUpstreams(
  servers: Readonly<Record<string, ConfiguredUpstream>>,
  log: Logger,
  settings: SettingsByTool = {},
): UpstreamPool {
  const listeners = new Set<() => void>();
  let known: ReadonlyMap<string, UpstreamTool> = new Map();
  let refused: readonly RefusedTool[] = [];
  const mounted = new Map<string, Mounted>();
  const connections = () => [...mounted.values()].map(({ connection }) => connection);
  const onTools = () => {
    const listed = [...mounted].map(
      ([upstream, { connection, start }]) => [upstream, { definitions: connection.tools ?? [], start }] as const,
    );
    ({ known, refused } = sortOut(new Map(listed), settings, log));
    for (const listener of listeners) listener();
  };
  for (const [upstream, { prefix = upstream, ...server }] of Object.entries(servers)) {
    const connection = new UpstreamConnection(server, log.child({ upstream }), onTools);
    mounted.set(upstream, { connection, start: prefix === '' ? '' : `${prefix}${SEPARATOR}` });
  }

  return {
    async tools() {
      await Promise.all(connections().map((connection) => untilListed(connection)));
      return [...known.values()].filter((tool) => mounted.get(tool.upstream)?.connection.isConnected);
    },

    async find(name, options) {
      const candidates = candidatesFor(name, mounted);
      if (options?.live) await Promise.all(candidates.map((connection) => connection.refresh()));
      else if (!known.has(name)) await firstAnswers(candidates);
      return known.get(name);
    },

    refused: () => refused,

    call: (call, options) => callOnce(mounted.get(call.upstream)?.connection, call, options),

    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async close() {
      await Promise.all(connections().map((connection) => connection.close()));
    },
  };
}

/** Waits for a connection, but not again and again for one that does not come about. */
function untilListed(connection: UpstreamConnection): Promise<void> {
  const connected = connection.connect();
  return atMost(connected, Math.max(0, LIST_PATIENCE_MS - connection.connectingMs));
}

/** Connects those that never listed their tools. Throws `ERR_UPSTREAM_UNAVAILABLE` when that takes too long. */
async function firstAnswers(connections: readonly UpstreamConnection[]): Promise<void> {
  const unread = connections.filter(({ tools }) => tools === undefined);
  await Promise.all(unread.map((connection) => firstAnswer(connection)));
}

async function firstAnswer(connection: UpstreamConnection): Promise<void> {
  await atMost(connection.connect(), FIND_PATIENCE_MS);
  if (connection.tools !== undefined) return;
  throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'the upstream server has not listed its tools yet');
}

/** Every upstream whose prefix begins the name: `a` and `a_` may both be meant by `a___b`, and one without any always. */
function candidatesFor(name: string, mounted: ReadonlyMap<string, Mounted>): UpstreamConnection[] {
  return [...mounted.values()].flatMap(({ connection, start }) => (name.startsWith(start) ? [connection] : []));
}

async function callOnce(
  connection: UpstreamConnection | undefined,
  call: Parameters<Upstreams['call']>[0],
  { sendBy = Infinity, ...options }: Parameters<Upstreams['call']>[1],
): Promise<InvocationResult> {
  if (connection === undefined) return { kind: 'not_sent', cause: 'no such upstream' };
  let client, credentials;
  try {
    client = await orAborted(connection.connect(), options.signal);
    credentials = await orAborted(connection.credentials.headers(call.caller), options.signal);
  } catch (error) {
    return { kind: 'not_sent', cause: error instanceof CountersignError ? error.code : 'aborted' };
  }
  // Here and not earlier: connecting and getting a credential may take long, and the process may have stood still meanwhile.
  if (performance.now() >= sendBy) return { kind: 'not_sent', cause: 'too late' };
  const { upstreamTool: name, arguments: args, meta, idempotencyKey } = call;
  const params = { name, arguments: args, ...(meta !== undefined && { _meta: meta }) };
  try {
    const headers = { ...credentials, ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }) };
    return readToolResult(await connection.request(client, 'tools/call', params, { ...options, headers }));
  } catch (error) {
    const outcome = readFailure(error);
    if (outcome.kind === 'not_sent') connection.discard(client);
    else connection.doubt(client);
    return outcome;
  }
}
