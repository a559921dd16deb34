/** What takes less is no slower than any other step of a message. Milliseconds. */
const SLOW_MS = 25;
/** As much of the time as slow mappings may have together. */
const SHARE = 1 / 20;
/** So much may be owed before they wait: one that a busy machine made slow once is not refused for it. Milliseconds. */
const CREDIT_MS = 100;

/**
 * How long mappings hold the process, in which nobody else is served meanwhile. All that were slow before share one small part of
 * the time, however many they are; one that never was does not wait for them.
 */
export interface SlowMappings {
  /** Whether this one has to wait, since it and others like it had their part. `nowMs`: of a clock that only goes on. */
  rests(mapping: object, nowMs: number): boolean;
  /** Notes how long one took. */
  took(mapping: object, ms: number, nowMs: number): void;
}

export function createSlowMappings(): SlowMappings {
  const slow = new WeakSet();
  let owedMs = 0;
  let countedMs = 0;
  const owedAt = (nowMs: number) => Math.max(0, owedMs - Math.max(0, nowMs - countedMs) * SHARE);
  return {
    rests: (mapping, nowMs) => slow.has(mapping) && owedAt(nowMs) > CREDIT_MS,
    took(mapping, ms, nowMs) {
      if (ms < SLOW_MS) return;
      slow.add(mapping);
      owedMs = owedAt(nowMs) + ms;
      countedMs = nowMs;
    },
  };
}
