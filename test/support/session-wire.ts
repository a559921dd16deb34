import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { request } from 'undici';
import { ACCEPTS } from './gateway-wire.ts';
import { waitFor } from './wait-for.ts';

/** An event of a stream, as it is on the wire. */
export interface WireEvent {
  readonly id?: string | undefined;
  readonly data: string;
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** An open HTTP answer. */
export interface WireStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** All bytes so far. */
  text(): string;
  events(): readonly WireEvent[];
  /** The messages so far. */
  messages(): readonly Message[];
  /** Resolves with the first message that fits. */
  next(fits: (message: Message) => boolean): Promise<Message>;
  /** Resolves when the answer has ended. */
  readonly ended: Promise<void>;
  /** Leaves: the connection is closed. */
  leave(): void;
}

interface WireRequest {
  readonly method?: 'POST' | 'GET' | 'DELETE';
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one HTTP request of an earlier revision, byte for byte as a client would, and reads the answer while it arrives. */
export async function openWire(
  { mcpUrl }: { readonly mcpUrl: string },
  { method = 'POST', body, token = 'token-of-alice', headers = {} }: WireRequest,
): Promise<WireStream> {
  const leaving = new AbortController();
  const answer = await request(mcpUrl, {
    method,
    headers: {
      ...(method === 'POST' ? ACCEPTS : { accept: 'text/event-stream' }),
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: leaving.signal,
  });
  const events: WireEvent[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => void events.push({ id, data }) });
  let text = '';
  const decoder = new StringDecoder('utf8');
  answer.body.on('data', (bytes: Buffer) => {
    const chunk = decoder.write(bytes);
    text += chunk;
    parser.feed(chunk);
  });
  const ended = new Promise<void>((resolve) => {
    answer.body
      .once('close', resolve)
      .once('end', resolve)
      .once('error', () => resolve());
  });
  const messages = () => events.flatMap(({ data }) => (data === '' ? [] : [JSON.parse(data) as Message]));
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: () => text,
    events: () => events,
    messages,
    next: (fits) => waitFor(() => messages().find(fits)),
    ended,
    leave: () => leaving.abort(),
  };
}

export interface SessionOptions {
  readonly revision?: string;
  readonly capabilities?: object;
  readonly token?: string;
  readonly name?: string;
}

/** A client of an earlier revision that has begun a session. */
export type WireSession = Awaited<ReturnType<typeof beginSession>>;

export async function beginSession(gateway: { readonly mcpUrl: string }, options: SessionOptions = {}) {
  const { revision = '2025-11-25', capabilities = {}, token = 'token-of-alice', name = 'wire-test' } = options;
  const params = { protocolVersion: revision, capabilities, clientInfo: { name, version: '0' } };
  const opened = await openWire(gateway, { body: { jsonrpc: '2.0', id: 'i', method: 'initialize', params }, token });
  await opened.ended;
  const id = opened.headers['mcp-session-id'] as string | undefined;
  const [answer] = opened.messages();
  return { ...continueSession(gateway, id, { revision, token }), opened, agreed: answer?.result };
}

/** Goes on with the id of a session. */
export function continueSession(
  gateway: { readonly mcpUrl: string },
  id: string | undefined,
  { revision = '2025-11-25', token }: SessionOptions = {},
) {
  const headersOf = (more: Readonly<Record<string, string>> = {}) => ({
    'mcp-protocol-version': revision,
    ...(id !== undefined && { 'mcp-session-id': id }),
    ...more,
  });
  let last = 0;
  const session = {
    id,
    post: (body: unknown, headers?: Readonly<Record<string, string>>) =>
      openWire(gateway, { body, token, headers: headersOf(headers) }),
    /** Sends a request, and reads its answer while it arrives. */
    start: (method: string, parameters: object = {}, requestId: string | number = (last += 1)) =>
      session.post({ jsonrpc: '2.0', id: requestId, method, params: parameters }),
    /** Sends a request, and waits for the end of its answer. */
    async ask(method: string, parameters?: object): Promise<Message> {
      const stream = await session.start(method, parameters);
      await stream.ended;
      const answer = stream.messages().at(-1);
      if (answer === undefined) throw new Error(`no answer: ${stream.status} ${stream.text()}`);
      return answer;
    },
    notify: (method: string, parameters: object = {}) => session.post({ jsonrpc: '2.0', method, params: parameters }),
    answer: (question: Message, result: object) => session.post({ jsonrpc: '2.0', id: question.id, result }),
    refuse: (question: Message, error: object) => session.post({ jsonrpc: '2.0', id: question.id, error }),
    listen: (lastEventId?: string) =>
      openWire(gateway, {
        method: 'GET',
        token,
        headers: headersOf(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      }),
    end: async () => {
      const answer = await openWire(gateway, { method: 'DELETE', token, headers: headersOf() });
      await answer.ended;
      return answer;
    },
  };
  return session;
}
