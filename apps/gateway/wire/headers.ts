import { ProtocolError } from '@modelcontextprotocol/server';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { mirroredValue, type MirroredArgument } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import { ENCODED_VALUE, HEADER_MISMATCH, MIRROR_HEADER_PREFIX } from './identifiers.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { TASK_METHODS } from '../../../workflows/domain/upstream-ports.ts';

/** RFC 9110 allows other bytes, but not their encoding. */
const READABLE = /^[\t\x20-\x7e]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/**
 * The first header that does not repeat its argument; `undefined` if all do. A header without its argument counts as well: a router that
 * went by the header took the call for another one.
 *
 * @see MCP 2026-07-28, Streamable HTTP, Server Behavior for Custom Headers (HTTP-014 to HTTP-017)
 */
function mismatchedHeader(
  mirrored: readonly MirroredArgument[],
  args: JsonObject,
  headers: Headers,
): string | undefined {
  const wrong = mirrored.find((argument) => {
    const sent = headers.get(`${MIRROR_HEADER_PREFIX}${argument.name}`);
    const value: Json | undefined = mirroredValue(args, argument);
    if (value === undefined || sent === null) return (value === undefined) !== (sent === null);
    return !isRepeated(value, argument, sent);
  });
  return wrong && `${MIRROR_HEADER_PREFIX}${wrong.name}`;
}

/** An object or a list is a fault of the argument, and is reported for the argument, not for the header. */
function isRepeated(value: Json, { type }: MirroredArgument, sent: string): boolean {
  if (typeof value === 'object') return true;
  const text = decoded(sent);
  if (text === undefined) return false;
  if (type === 'integer' && typeof value === 'number' && DECIMAL.test(text)) return Number(text) === value;
  return text === String(value);
}

function decoded(sent: string): string | undefined {
  const { start, end } = ENCODED_VALUE;
  if (!READABLE.test(sent)) return undefined;
  if (!sent.startsWith(start) || !sent.endsWith(end) || sent.length < start.length + end.length) return sent;
  const encoded = sent.slice(start.length, -end.length);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}

/** Requests that were refused for a header during the call. The SDK answers them with status 200, like any error. */
const refused = new WeakSet<Request>();

/** Checks the headers of one request. Throws an error that names the header but no value. */
export function headerCheck(request: Request | undefined, args: JsonObject) {
  if (request === undefined) return undefined;
  return (mirrored: readonly MirroredArgument[]): void => {
    const header = mismatchedHeader(mirrored, args, request.headers);
    if (header === undefined) return;
    refused.add(request);
    throw new ProtocolError(
      HEADER_MISMATCH,
      `Header mismatch: ${header} does not repeat its argument. The tool did not run. Next step: read tools/list again, then ` +
        "send each header that the tool's schema names for an argument.",
    );
  };
}

/** The answer to this request, with status 400 if a header was wrong. */
export const withStatusFor = (request: Request, answer: Response): Response =>
  refused.has(request) ? new Response(answer.body, { status: 400, headers: answer.headers }) : answer;

const NAME_HEADER = 'mcp-name';
/** Methods whose task id a client must also send in the header. @see SEP-2663, Routing headers */
const ROUTED: ReadonlySet<unknown> = new Set(TASK_METHODS);
/** Each client is logged once. */
const MAX_CLIENTS = 1_000;

export type CompleteTaskHeader = (request: Request, asked: unknown, caller: () => Principal) => void;

/**
 * Adds the header `Mcp-Name` to a request about a task that lacks it. Today's clients leave it out, and the SDK refuses such requests, so
 * their tasks could not be read. This is safe: the header is for routers in front of the gateway, which have already seen that it is
 * missing. A header that is present is not changed, and must agree with the body (TASK-081, HTTP-012).
 */
export function completesTaskHeaders(log: Logger): CompleteTaskHeader {
  const logged = new LRUCache<string, true>({ max: MAX_CLIENTS });
  return (request, asked, caller) => {
    const { method, params } = (asked ?? {}) as { method?: unknown; params?: { taskId?: unknown } | null };
    const taskId = params?.taskId;
    if (!ROUTED.has(method) || typeof taskId !== 'string' || request.headers.has(NAME_HEADER)) return;
    const { start, end } = ENCODED_VALUE;
    request.headers.set(NAME_HEADER, `${start}${Buffer.from(taskId).toString('base64')}${end}`);
    const { issuer, clientId } = caller();
    const client = JSON.stringify([issuer, clientId]);
    if (logged.has(client)) return;
    logged.set(client, true);
    log.info({ clientId, method }, 'a client sends no task id in the header Mcp-Name; its requests are served anyway');
  };
}
