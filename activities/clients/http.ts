import { EventEmitter } from 'node:events';
import { Agent, request } from 'undici';

/** Larger answers than this are not what we asked for. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** One pool of connections for the services beside us. No redirects: a credential goes where it was sent and nowhere else. */
const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });

export interface HttpAnswer {
  readonly status: number;
  /** Header values by lower-case name; the first one where a header came several times. */
  header(name: string): string | undefined;
  readonly text: string;
}

/**
 * Sends one request and reads the whole answer. Rejects when there is none within the limit, when it is too large, and
 * when the connection breaks. Never repeats, never follows.
 */
export async function sendHttp(
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string; timeoutMs: number },
): Promise<HttpAnswer> {
  const { timeoutMs, body, ...rest } = init;
  // An emitter does for a signal, and costs a fraction of one.
  const signal = new EventEmitter();
  const timer = setTimeout(() => signal.emit('abort'), timeoutMs);
  try {
    const { headers, statusCode, ...answer } = await request(url, {
      ...rest,
      body: body ?? null,
      signal,
      dispatcher: agent,
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
    clearTimeout(timer);
  }
}
