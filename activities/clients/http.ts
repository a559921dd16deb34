import { EventEmitter } from 'node:events';
import { Agent, interceptors, request, type Dispatcher } from 'undici';
import type { Clock } from '../../apps/shared/clock.ts';
import { traceHeaders } from '../../apps/shared/log-scope.ts';

/** Larger answers than this are not what we asked for. */
export const MAX_ANSWER_BYTES = 1024 * 1024;

/** One pool of connections for the services beside us. No redirects: a credential goes where it was sent and nowhere else. */
const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });

/** In milliseconds. For how long a document is kept whose server says nothing of it, and at most. */
const KEPT_MS = 300_000;

/**
 * Connections that keep what they fetched for as long as HTTP caching lets them. A request for such a document says itself
 * how old an answer may be, so that nothing is kept for longer than five minutes, even if its server allows that.
 */
export function cachingHttp(via: Dispatcher = agent): Dispatcher {
  return via.compose(interceptors.cache({ methods: ['GET'], type: 'private', cacheByDefault: KEPT_MS }));
}
export const KEPT_DOCUMENT = { 'cache-control': `max-age=${KEPT_MS / 1_000}` } as const;

/**
 * A limit is waited for in so many steps. A process that stood still loses one of them only, since the service
 * may have answered meanwhile.
 */
const STEPS = 4;

export interface HttpAnswer {
  readonly status: number;
  /** Header values by lower-case name; the first one where a header came several times. */
  header(name: string): string | undefined;
  readonly text: string;
}

/**
 * Sends one request and reads the whole answer. Rejects when there is none within the limit, of which time that this process
 * stood still counts a fourth at most; when it is too large, and when the connection breaks. Never repeats, never follows.
 */
export async function sendHttp(
  url: string,
  init: {
    method: 'GET' | 'POST';
    headers: Record<string, string>;
    body?: string;
    timeoutMs: number;
    clock: Clock;
    /** Default: the pool of connections of everybody. */
    via?: Dispatcher | undefined;
  },
): Promise<HttpAnswer> {
  const { timeoutMs, clock, body, headers: given, via = agent, ...rest } = init;
  // An emitter does for a signal, and costs a fraction of one.
  const signal = new EventEmitter();
  let left = STEPS;
  const letGo = clock.every(timeoutMs / STEPS, () => (left -= 1) === 0 && signal.emit('abort'));
  try {
    const { headers, statusCode, ...answer } = await request(url, {
      ...rest,
      headers: { ...traceHeaders(), ...given },
      body: body ?? null,
      signal,
      dispatcher: via,
    });
    return {
      status: statusCode,
      header(name) {
        const value = headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
      text: await answer.body.text(),
    };
  } finally {
    letGo();
  }
}
