import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { ACCEPTS, REVISION } from '../support/gateway-wire.ts';
import { messages, type Known, type Message } from './messages.ts';
import { sessionIdFor, sessionOf, type SessionOf } from './sessions.ts';
import { change, changed, HARD_TEXTS, jsonOf, type Change } from './values.ts';

/** One request, described by the valid message that it started from and every change made to it. */
export interface Plan {
  readonly message: Message;
  readonly changes: readonly Change[];
  /** Bytes of text that are added to the message, so that it is large. */
  readonly padding: number;
  readonly text: TextChange;
  readonly encoding: keyof typeof ENCODINGS;
  readonly headers: readonly HeaderChange[];
  readonly authorization: string;
  readonly session: SessionOf;
  readonly method: string;
  readonly query: string;
  /** Whether the client waits for the answer, or leaves after it has sent half of the body or all of it. */
  readonly leaves: 'never' | 'half way' | 'at once';
}

type TextChange =
  | { readonly how: 'none' | 'in a list' | 'twice in a list' }
  | { readonly how: 'cut' | 'insert' | 'instead'; readonly at: number; readonly text: string };

interface HeaderChange {
  readonly name: string;
  readonly how: 'set' | 'repeat' | 'remove';
  readonly value: string;
}

/** The bytes on the wire. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

const ENCODINGS = {
  plain: (body: string) => Buffer.from(body, 'utf8'),
  'with a byte order mark': (body: string) => Buffer.from(`\ufeff${body}`, 'utf8'),
  utf16: (body: string) => Buffer.from(body, 'utf16le'),
  latin1: (body: string) => Buffer.from(body, 'latin1'),
  gzip: (body: string) => gzipSync(body),
  deflate: (body: string) => deflateSync(body),
  br: (body: string) => brotliCompressSync(body),
  'cut gzip': (body: string) => gzipSync(body).subarray(0, -5),
} as const;

const HEADER_NAMES = [
  ...['content-type', 'accept', 'accept-encoding', 'content-encoding', 'content-language', 'authorization', 'cookie'],
  ...['host', 'origin', 'referer', 'x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'x-http-method-override'],
  ...['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id', 'mcp-param-path', 'last-event-id'],
  ...['if-none-match', 'range', 'te', 'connection', 'x-unknown'],
];
const HEADER_VALUES = [
  ...HARD_TEXTS.filter((text) => /^[\t -~]*$/.test(text)),
  ...['application/json', 'application/json; charset=utf-7', 'text/plain', 'text/event-stream', '*/*', 'q=0', ';;,,'],
  ...['gzip', 'identity', 'br', 'gzip, gzip', 'localhost', '127.0.0.1', 'evil.example', 'http://evil.example', 'null'],
  ...[REVISION, '2025-11-25', '2024-11-05', 'tools/call', 'tasks/get', 'files__write_file', 'close', 'bytes=0-1'],
  ...['=?base64?Zm9v?=', '=?base64?****?=', '\u00e4\u00ff', 'Bearer', 'Basic YTpi', 'x'.repeat(4_000)],
];

const headerChange: fc.Arbitrary<HeaderChange> = fc.record({
  name: fc.constantFrom(...HEADER_NAMES),
  how: fc.constantFrom('set', 'repeat', 'remove'),
  value: fc.constantFrom(...HEADER_VALUES),
});

const textChange: fc.Arbitrary<TextChange> = fc.oneof(
  { weight: 100, arbitrary: fc.constant({ how: 'none' as const }) },
  { weight: 1, arbitrary: fc.record({ how: fc.constantFrom('in a list' as const, 'twice in a list' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      how: fc.constantFrom('cut' as const, 'insert' as const, 'instead' as const),
      at: fc.nat(500),
      text: fc.oneof(fc.constantFrom('', '[', '"', 'null', '\\u', '}}', '/**/', ...HARD_TEXTS), fc.fullUnicodeString()),
    }),
  },
);

/** Mostly small; some as large as a long document; a few about the size that the gateway refuses. */
const padding = fc.oneof(
  { weight: 980, arbitrary: fc.constant(0) },
  { weight: 19, arbitrary: fc.nat(100_000) },
  { weight: 1, arbitrary: fc.integer({ min: 4_000_000, max: 4_400_000 }) },
);

/** Most requests are valid but for one or two changes, so that code deep inside is reached as well. */
const few = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(arbitrary, { maxLength: 3 }) });

/** Any of these, mostly the first. */
const mostly = <T>(weight: number, first: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

export function plans(known: Known): fc.Arbitrary<Plan> {
  const encodings = Object.keys(ENCODINGS).filter((name) => name !== 'plain') as Plan['encoding'][];
  return fc.record({
    message: messages(known),
    changes: few(change),
    padding,
    text: textChange,
    encoding: mostly<Plan['encoding']>(20, 'plain', ...encodings),
    headers: few(headerChange),
    authorization: fc.oneof(
      { weight: 19, arbitrary: fc.constantFrom(...known.good) },
      { weight: 1, arbitrary: fc.constantFrom(...known.bad) },
    ),
    session: sessionOf,
    method: mostly(40, 'POST', 'GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND'),
    query: mostly(60, '', '?', '?access_token=x', '?a[__proto__]=1&a[]=2', '/', '/%2e%2e/mcp', '/%ff'),
    leaves: mostly<Plan['leaves']>(60, 'never', 'half way', 'at once'),
  });
}

/** The request that a plan makes. */
export function requestOf(plan: Plan, mcpUrl: string, known: Known): HttpRequest {
  const { host, pathname } = new URL(mcpUrl);
  const message = changed(inRevisionOf(plan, padded(plan)), plan.changes);
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown; taskId?: unknown } };
  const name = params?.name ?? params?.taskId;
  const headers = [
    ['host', host],
    ...Object.entries(ACCEPTS),
    ...(plan.session === 'none'
      ? [
          ['mcp-protocol-version', REVISION],
          ['mcp-method', headerText(method)],
          ['mcp-name', headerText(name)],
        ]
      : [['mcp-session-id', sessionIdOf(plan, known) ?? '']]),
    ['authorization', plan.authorization],
    ['content-encoding', plan.encoding.replace('cut ', '')],
  ] as [string, string][];
  const isSent = ([header, value]: [string, string]) =>
    value !== '' && (header !== 'content-encoding' || /^(gzip|deflate|br)$/.test(value));
  return {
    method: plan.method,
    path: `${pathname}${plan.query}`,
    headers: withChanges(headers.filter(isSent), plan.headers),
    body: ENCODINGS[plan.encoding](textWith(plan.text, jsonOf(message))),
  };
}

const padded = ({ message, padding: bytes }: Plan): Message =>
  bytes === 0 ? message : { ...message, params: { ...message.params, padding: 'x'.repeat(bytes) } };

/** Messages of a session are of an earlier revision, without the `_meta` of the present one. */
function inRevisionOf({ session }: Plan, message: Message): Message {
  if (session === 'none' || message.params === undefined) return message;
  const { _meta, ...params } = message.params;
  return { ...message, params };
}

const sessionIdOf = ({ session, authorization, method }: Plan, { sessions, good }: Known): string | undefined =>
  sessionIdFor(session, { sessions, place: Math.max(0, good.indexOf(authorization)), ends: method === 'DELETE' });

const OF_SESSIONS: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);

/** Whether the request names a session that its caller does not have, so that the gateway must not serve it. */
export const namesForeignSession = (plan: Plan, { headers, method }: HttpRequest, known: Known): boolean =>
  plan.session !== 'none' &&
  plan.session !== 'own' &&
  plan.message.method !== 'initialize' &&
  OF_SESSIONS.has(method) &&
  headers
    .filter(([name]) => name === 'mcp-session-id')
    .map(([, id]) => id)
    .join() === sessionIdOf(plan, known);

/** The value that a client would repeat in a header; undefined when no header can hold it. */
const headerText = (value: unknown): string => (typeof value === 'string' && /^[!-~]{1,200}$/.test(value) ? value : '');

function textWith(plan: TextChange, json: string): string {
  switch (plan.how) {
    case 'none':
      return json;
    case 'in a list':
      return `[${json}]`;
    case 'twice in a list':
      return `[${json},${json}]`;
    case 'cut':
      return json.slice(0, plan.at);
    case 'insert':
      return json.slice(0, plan.at) + plan.text + json.slice(plan.at);
    case 'instead':
      return plan.text;
  }
}

function withChanges(headers: [string, string][], changes: readonly HeaderChange[]): [string, string][] {
  return changes.reduce<[string, string][]>((before, { name, how, value }) => {
    const others = before.filter(([one]) => one !== name);
    if (how === 'remove') return others;
    return how === 'set' ? [...others, [name, value]] : [...before, [name, value]];
  }, headers);
}
