import type { Wait } from '../workflows/activity-ports.ts';
import { pauseMs } from '../workflows/domain/gated-call/deadlines.ts';
import type { CallProgress } from './stores/stored-call.ts';

/**
 * Waits as long again as the call is in its state already, within the limits in milliseconds, and at least as long as the
 * other side asked for; never past the deadline of the state, which then has to be carried out.
 */
export function waitWithin(
  call: Pick<CallProgress, 'inStateMs' | 'remainingMs'>,
  { minMs, maxMs, askedMs }: { minMs: number; maxMs: number; askedMs?: number | undefined },
): Wait {
  const waitMs = pauseMs({
    ...{ attempt: 1, minMs: Math.max(minMs, call.inStateMs), maxMs, askedMs },
    remainingMs: Math.max(call.remainingMs, 0) + 1,
    random: Math.random(),
  });
  return { kind: 'wait', waitMs };
}

/** Nothing is to be done before the deadline of the state, unless word comes earlier. */
export const waitForWord = (call: Pick<CallProgress, 'inStateMs' | 'remainingMs'>): Wait =>
  waitWithin(call, { minMs: Infinity, maxMs: Infinity });

/** Where the call cannot be moved on although a deadline may have passed: while the database is frozen, mostly. */
export const LATER: Wait = { kind: 'wait', waitMs: 5_000 };
