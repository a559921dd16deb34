import { createParser } from 'eventsource-parser';
import { request } from 'undici';
import { ACCEPTS, requestOf, type SendOptions } from './gateway-wire.ts';
import { waitFor } from './wait-for.ts';

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown> & { readonly _meta: Record<string, unknown> };
  readonly result?: Record<string, unknown>;
}

/** A client that listens, and keeps its notifications. */
export interface Subscriber {
  readonly headers: Record<string, string | string[] | undefined>;
  readonly messages: Message[];
  readonly comments: string[];
  /** Whether the connection's answer has ended, or was cut. */
  isOver(): boolean;
  /** The notifications of tasks so far. */
  tasks(): Record<string, unknown>[];
  /** The last of them, once it has this status. */
  shown(status: string): Promise<Record<string, unknown>>;
  leave(): void;
}

/** Sends `subscriptions/listen` with this filter, and resolves when it is acknowledged. */
export async function subscribe(
  gateway: { readonly mcpUrl: string },
  notifications: Record<string, unknown>,
  options: SendOptions = {},
): Promise<Subscriber> {
  const { body, headers } = requestOf('subscriptions/listen', { notifications }, options);
  const gone = new AbortController();
  const answer = await request(gateway.mcpUrl, {
    method: 'POST',
    headers: { ...ACCEPTS, ...headers },
    body,
    signal: gone.signal,
  });
  const messages: Message[] = [];
  const comments: string[] = [];
  let isOver = false;
  const parser = createParser({
    onEvent: ({ data }) => messages.push(JSON.parse(data) as Message),
    onComment: (comment) => comments.push(comment),
  });
  answer.body.on('data', (chunk: Buffer) => parser.feed(chunk.toString('utf8')));
  answer.body.once('close', () => (isOver = true)).on('error', () => undefined);
  const tasks = () =>
    messages.flatMap(({ method, params }) => (method === 'notifications/tasks' && params ? [params] : []));
  await waitFor(() => messages.length > 0 || isOver);
  return {
    headers: answer.headers,
    messages,
    comments,
    isOver: () => isOver,
    tasks,
    shown: (status) =>
      waitFor(() => {
        const last = tasks().at(-1);
        return last?.['status'] === status ? last : undefined;
      }),
    leave: () => gone.abort(),
  };
}
