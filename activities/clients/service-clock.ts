import type { Clock } from '../../apps/shared/clock.ts';
import { sendHttp } from './http.ts';

/** An answer that takes longer says too little: half of it bounds the error. */
const TIMEOUT_MS = 1_000;
/** A `Date` header counts whole seconds, so on average the clock behind it is half a second further. */
const HALF_A_SECOND = 500;

/**
 * The clock of an HTTP service to half a second, in milliseconds since 1970, from the `Date` header of whatever it answers;
 * `undefined` when there is none. No credential goes along. Rejects when there is no answer within a second.
 * @see RFC 9110, section 6.6.1
 */
export async function readServiceClock(serviceUrl: string, clock: Clock): Promise<number | undefined> {
  const init = { method: 'GET', headers: {}, timeoutMs: TIMEOUT_MS, clock } as const;
  const answer = await sendHttp(`${serviceUrl}/healthz`, init);
  const at = Date.parse(answer.header('date') ?? '');
  return Number.isNaN(at) ? undefined : at + HALF_A_SECOND;
}
