import {
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  type RequestId,
  type Result,
} from '@modelcontextprotocol/server';
import type { Clock } from '../../shared/clock.ts';
import { SERVER_INFO, TASK_NOTIFICATION } from './identifiers.ts';

/** Comment lines keep proxies from taking a quiet stream for a dead one. @see LISTEN-009 */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

export type EventStream = ReturnType<typeof openEventStream>;

/** An answer of several JSON-RPC messages, as server-sent events. */
export function openEventStream(clock: Clock) {
  const { readable, writable } = new TextEncoderStream();
  const writer = writable.getWriter();
  const over = new AbortController();
  // Rejects when the client has gone; `closed` reports that.
  const write = (text: string) => writer.write(text).catch(() => undefined);
  const quiet = clock.every(KEEP_ALIVE_MS, () => {
    // An unread message keeps the stream alive as well.
    if ((writer.desiredSize ?? 0) > 0) void write(KEEP_ALIVE);
  });
  over.signal.addEventListener('abort', quiet, { once: true });
  const closed = writer.closed.catch(() => undefined).then(() => over.abort());

  return {
    response: new Response(readable, {
      headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
    }),
    /** Fires when the stream was ended or the client has gone. */
    over: over.signal,
    /** Resolves when the connection is closed. Never rejects. */
    closed,
    /** Resolves when there is room for the next message, so that a slow client is not sent more than it reads. */
    send: async (message: object): Promise<void> => {
      if (!over.signal.aborted) await write(eventOf(message));
    },
    /** Sends this and nothing after it. A second end changes nothing. */
    end: (last?: object): void => {
      if (over.signal.aborted) return;
      over.abort();
      if (last !== undefined) void write(eventOf(last));
      writer.close().catch(() => undefined);
    },
  };
}

const eventOf = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** The first message of a subscription: the part of the filter that is served. @see LISTEN-002 */
export function renderAcknowledgement(id: RequestId, notifications: Readonly<Record<string, unknown>>) {
  return notification(id, 'notifications/subscriptions/acknowledged', { notifications });
}

/** A task as `tasks/get` shows it now, without `resultType`. @see SEP-2663, Notifications; TASK-074 */
export function renderTaskNotification(id: RequestId, { resultType: _resultType, ...task }: Result) {
  return notification(id, TASK_NOTIFICATION, task);
}

/** The answer with which the gateway ends a subscription. @see LISTEN-006 */
export function renderSubscriptionEnd(id: RequestId) {
  const _meta = { [SUBSCRIPTION_ID_META_KEY]: id, [SERVER_INFO_META_KEY]: SERVER_INFO };
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}

function notification(id: RequestId, method: string, params: Readonly<Record<string, unknown>>) {
  const meta = params['_meta'] as Readonly<Record<string, unknown>> | undefined;
  return { jsonrpc: '2.0', method, params: { ...params, _meta: { ...meta, [SUBSCRIPTION_ID_META_KEY]: id } } };
}
