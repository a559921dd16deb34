import { pauseMs } from '../workflows/domain/gated-call/deadlines.ts';
import type { CallProgress } from './stores/stored-call.ts';

type Waiting = Pick<CallProgress, 'inStateMs' | 'remainingMs'>;

/** A decision that was put off is asked for again after a pause between these, in milliseconds. */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 60_000;

/**
 * Milliseconds to wait: as long again as the call is in its state already, within the limits, and at least as long as the
 * other side asked for; never past the deadline of the state, which then has to be carried out.
 */
export function waitWithin(
  call: Waiting,
  { minMs, maxMs, askedMs }: { minMs: number; maxMs: number; askedMs?: number | undefined },
): number {
  return pauseMs({
    ...{ attempt: 1, minMs: Math.max(minMs, call.inStateMs), maxMs, askedMs },
    remainingMs: Math.max(call.remainingMs, 0) + 1,
    random: Math.random(),
  });
}

/** Nothing is to be done before the deadline of the state, unless a signal comes earlier. */
export const untilDeadline = (call: Waiting): number => waitWithin(call, { minMs: Infinity, maxMs: Infinity });

/** Before the next attempt to get a decision. Never past the approval: when that ends, so does the waiting. */
export const untilRetry = (call: Waiting, askedMs?: number): number =>
  waitWithin(call, { minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS, askedMs });

/** Where the call cannot be moved on although a deadline may have passed: while the database is frozen, mostly. */
export const LATER_MS = 5_000;
