import { request } from 'undici';
import { repeatWhile } from './wait-for.ts';

export interface Sent {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly body: {
    readonly jsonrpc?: string;
    readonly id?: unknown;
    readonly result?: Record<string, unknown>;
    readonly error?: { code: number; message: string; data?: unknown };
  };
}

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
/** The present revision of MCP. */
export const REVISION = '2026-07-28';
export const ACCEPTS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export interface SendOptions {
  readonly capabilities?: unknown;
  readonly token?: string | undefined;
  readonly headers?: Record<string, string>;
  /** How the client calls itself. */
  readonly clientName?: string;
  /** Of the request. */
  readonly id?: string | number;
  /** When it fires, the client leaves: the connection is closed. */
  readonly signal?: AbortSignal | undefined;
}

/** Sends one request of the present revision, byte for byte as a client would, and reads the answer's bytes. */
export async function send(
  gateway: { readonly mcpUrl: string },
  method: string,
  params: Record<string, unknown> = {},
  options: SendOptions = {},
): Promise<Sent> {
  const { body, headers } = requestOf(method, params, options);
  return post(gateway, body, headers, options.signal);
}

/** The answer says that the request may be repeated later. */
export const isForLater = ({ status, body: { error, result } }: Sent) =>
  status === 503 || /may be repeated later/.test(JSON.stringify(error ?? (result?.['isError'] === true ? result : '')));

/** Sends the request again while its answer says that it may be repeated later, as clients do. */
export const sendUntilAnswered = (...request: Parameters<typeof send>): Promise<Sent> =>
  repeatWhile(isForLater, () => send(...request));

/** A request of the present revision. */
export function requestOf(
  method: string,
  params: Record<string, unknown>,
  { capabilities = TASKS, token = 'token-of-alice', clientName = 'wire-test', id = 'r-1', headers }: SendOptions,
): { body: string; headers: Record<string, string> } {
  const name = params['name'] ?? params['taskId'] ?? params['uri'];
  const meta = params['_meta'] as Record<string, unknown> | undefined;
  const message = {
    jsonrpc: '2.0',
    id,
    method,
    params: {
      ...params,
      _meta: {
        ...meta,
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientInfo': { name: clientName, version: '0' },
        'io.modelcontextprotocol/clientCapabilities': capabilities,
      },
    },
  };
  return {
    body: JSON.stringify(message),
    headers: {
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
  };
}

export async function post(
  gateway: { readonly mcpUrl: string },
  body: string,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Sent> {
  const answer = await request(gateway.mcpUrl, {
    method: 'POST',
    headers: { ...ACCEPTS, ...headers },
    body,
    signal: signal ?? null,
  });
  const text = await answer.body.text();
  const received = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) received.set(name, String(value));
  const isJson = received.get('content-type')?.includes('json');
  return { status: answer.statusCode, text, headers: received, body: isJson ? JSON.parse(text) : {} };
}

export const transfer = (changes: Record<string, unknown> = {}) => ({
  name: 'bank__transfer',
  arguments: { to: 'acct-1', amount: 5 },
  ...changes,
});

export const AUTHORIZATION = 'io.modelcontextprotocol/authorization';
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
/** The answer to a client about a denial that an approval can permit. */
export const AWAITING = {
  reason: 'insufficient_authorization',
  remediation: 'available',
  remediationHints: [{ type: 'task' }],
};

type Result = Sent['body']['result'];

/** All text of a tool's result. */
export const textOf = (result: Result) =>
  (result?.['content'] as { text: string }[]).map(({ text }) => text).join('\n');

export const metaOf = (result: Result) => result?.['_meta'] as Record<string, unknown>;
