import type { Logger } from 'pino';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { InvocationResult, Upstreams, UpstreamTool } from '../../workflows/domain/ports.ts';
import { refusalOf, toolFacts, type ToolSettings } from '../../workflows/domain/tools/tool-facts.ts';
import { sha256 } from '../sha256.ts';
import { atMost, orAborted } from './patience.ts';
import { readFailure, readToolResult } from './upstream-answer.ts';
import { UpstreamConnection } from './upstream-connection.ts';
import type { UpstreamServer } from './upstream-transport.ts';

/** How old an attempt to connect may get while a list of all tools waits for it. A program has to start first. */
const LIST_PATIENCE_MS = 15_000;
/** How long a call waits for the first list of tools of the upstream it names. */
const FIND_PATIENCE_MS = 15_000;
const SEPARATOR = '__';
const CLAIMED_TWICE = 'two upstream tools have this name; rename an upstream to tell them apart';

/** The name under which agents know the tool of an upstream. */
export const publicName = (upstream: string, upstreamTool: string) => `${upstream}${SEPARATOR}${upstreamTool}`;

/** A tool that an upstream lists, and that is not offered. */
export interface RefusedTool {
  readonly upstream: string;
  /** Public name. */
  readonly name: string;
  readonly reason: string;
}

/** The upstream MCP servers, with their connections. */
export interface UpstreamPool extends Upstreams {
  /** What the upstreams listed last, and is not offered. */
  refused(): readonly RefusedTool[];
  /** Calls back whenever the tools may have changed. Answers how to stop that. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** What the operator says of tools, by their public names. */
type SettingsByTool = Readonly<Record<string, ToolSettings>>;

/** Connects to upstreams when they are first needed. The keys of `servers` are the prefixes of the tool names. */
export function createUpstreams(
  servers: Readonly<Record<string, UpstreamServer>>,
  log: Logger,
  settings: SettingsByTool = {},
): UpstreamPool {
  const listeners = new Set<() => void>();
  let known: ReadonlyMap<string, UpstreamTool> = new Map();
  let refused: readonly RefusedTool[] = [];
  const connections = new Map<string, UpstreamConnection>();
  const onTools = () => {
    ({ known, refused } = sortOut(connections, log, settings));
    for (const listener of listeners) listener();
  };
  for (const [prefix, server] of Object.entries(servers)) {
    connections.set(prefix, new UpstreamConnection(server, log.child({ upstream: prefix }), onTools));
  }

  return {
    async tools() {
      await Promise.all([...connections.values()].map((connection) => untilListed(connection)));
      return [...known.values()].filter((tool) => connections.get(tool.upstream)?.isConnected);
    },

    async find(name, options) {
      const candidates = candidatesFor(name, connections);
      if (options?.live) {
        await Promise.all(candidates.map((connection) => connection.refresh()));
      } else if (!known.has(name)) {
        const unread = candidates.filter((connection) => connection.tools === undefined);
        await Promise.all(unread.map((connection) => firstAnswer(connection)));
      }
      return known.get(name);
    },

    refused: () => refused,

    call: (call, options) => callOnce(connections.get(call.upstream), call, options),

    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

/** Waits for a connection, but not again and again for one that does not come about. */
function untilListed(connection: UpstreamConnection): Promise<void> {
  const connected = connection.connect();
  return atMost(connected, Math.max(0, LIST_PATIENCE_MS - connection.connectingMs));
}

/** Connects an upstream that never listed its tools. Throws `ERR_UPSTREAM_UNAVAILABLE` when that takes too long. */
async function firstAnswer(connection: UpstreamConnection): Promise<void> {
  await atMost(connection.connect(), FIND_PATIENCE_MS);
  if (connection.tools !== undefined) return;
  throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'the upstream server has not listed its tools yet');
}

/** Every upstream whose prefix begins the name: `a` and `a_` may both be meant by `a___b`. */
function candidatesFor(name: string, connections: ReadonlyMap<string, UpstreamConnection>): UpstreamConnection[] {
  return [...connections].flatMap(([prefix, connection]) => (name.startsWith(prefix + SEPARATOR) ? [connection] : []));
}

/** What is offered and what is not. A name that two tools claim belongs to neither: nobody could know which one was approved. */
function sortOut(
  connections: ReadonlyMap<string, UpstreamConnection>,
  log: Logger,
  settings: SettingsByTool,
): { known: Map<string, UpstreamTool>; refused: RefusedTool[] } {
  const known = new Map<string, UpstreamTool>();
  const refused = new Map<string, RefusedTool>();
  for (const [upstream, { tools: definitions = [] }] of connections) {
    for (const definition of definitions) {
      const tool = describe(upstream, definition, settings);
      if (tool === undefined) {
        log.error({ upstream }, 'a tool has no canonical description and is left out');
        continue;
      }
      const { name } = tool;
      const reason = known.delete(name) || refused.has(name) ? CLAIMED_TWICE : refusalOf(tool.facts);
      if (reason === undefined) known.set(name, tool);
      else refused.set(name, { upstream, name, reason });
    }
  }
  for (const { name, reason } of refused.values()) log.error({ tool: name, reason }, 'a tool is not offered');
  return { known, refused: [...refused.values()] };
}

function describe(upstream: string, definition: JsonObject, settings: SettingsByTool): UpstreamTool | undefined {
  const upstreamTool = definition['name'] as string;
  const name = publicName(upstream, upstreamTool);
  try {
    const digest = `sha-256:${sha256(canonicalJson(definition))}`;
    const facts = toolFacts(definition, Object.hasOwn(settings, name) ? settings[name] : undefined);
    return { upstream, upstreamTool, name, definition, digest, facts };
  } catch {
    return undefined;
  }
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
