/** What takes less than this part of the limit is no slower than any other step of a message. */
const SLOW = 1 / 10;
/** As much of the time as slow mappings may have together. */
const SHARE = 1 / 20;
/** This part of the limit may be owed before they wait: one that a busy machine made slow once is not refused for it. */
const CREDIT = 2 / 5;

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

/** @param limitMs The longest that one mapping may take. */
export function createSlowMappings(limitMs: number): SlowMappings {
  const slow = new WeakSet();
  let owedMs = 0;
  let countedMs = 0;
  const owedAt = (nowMs: number) => Math.max(0, owedMs - Math.max(0, nowMs - countedMs) * SHARE);
  return {
    rests: (mapping, nowMs) => slow.has(mapping) && owedAt(nowMs) > limitMs * CREDIT,
    took(mapping, ms, nowMs) {
      if (ms < limitMs * SLOW) return;
      slow.add(mapping);
      owedMs = owedAt(nowMs) + ms;
      countedMs = nowMs;
    },
  };
}
