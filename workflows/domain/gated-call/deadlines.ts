/**
 * Pause before the next attempt, in milliseconds: doubles with each attempt from `minMs` to `maxMs`, spread by up to a
 * fifth so that many calls do not come at the same moment, and never beyond the deadline, which is `remainingMs` away.
 * `random` is in [0, 1). `askedMs` is the least pause that the other side asked for (Retry-After).
 */
export function pauseMs(pause: {
  attempt: number;
  minMs: number;
  maxMs: number;
  remainingMs: number;
  random: number;
  askedMs?: number | undefined;
}): number {
  const doubled = Math.min(pause.maxMs, pause.minMs * 2 ** Math.min(pause.attempt - 1, 30));
  const spread = doubled * (1 - pause.random / 5);
  const wanted = Math.max(spread, pause.askedMs ?? 0);
  return Math.max(0, Math.ceil(Math.min(wanted, pause.remainingMs)));
}
