import { describe, expect, it } from '@jest/globals';
import { createSlowMappings } from '../../../../../apps/shared/coaz/resolve.ts';

/** How long this many mappings hold the gateway in a minute, when each is tried all the time. */
function heldMs({ mappings, eachMs }: { mappings: number; eachMs: number }): number {
  const slow = createSlowMappings(250);
  const all = Array.from({ length: mappings }, () => ({}));
  let held = 0;
  for (let nowMs = 0; nowMs < 60_000; nowMs += 1) {
    for (const one of all) {
      if (slow.isRefused(one, nowMs)) continue;
      nowMs += eachMs;
      held += eachMs;
      slow.took(one, eachMs, nowMs);
    }
  }
  return held;
}

describe('slow mappings', () => {
  it.each([
    { mappings: 1, eachMs: 250 },
    { mappings: 1, eachMs: 30 },
    { mappings: 20, eachMs: 250 },
    { mappings: 20, eachMs: 249 },
    { mappings: 100, eachMs: 100 },
  ])(
    'hold their gateway together for a twentieth of the time, and once each: $mappings of $eachMs ms [PRJ-34]',
    (of) => {
      const firstTimes = of.mappings * of.eachMs;
      expect(heldMs(of)).toBeGreaterThan(0);
      expect(heldMs(of)).toBeLessThanOrEqual(60_000 / 20 + firstTimes + 100 + of.eachMs);
    },
  );

  it('do not pause for being slow once on a busy machine, nor because of other mappings [PRJ-34]', () => {
    const slow = createSlowMappings(250);
    const [unlucky, hostile, honest] = [{}, {}, {}];
    slow.took(unlucky, 60, 0);
    expect(slow.isRefused(unlucky, 0)).toBe(false);
    slow.took(hostile, 250, 60);
    slow.took(honest, 10, 60);
    expect([unlucky, hostile, honest].map((one) => slow.isRefused(one, 60))).toEqual([true, true, false]);
    expect([unlucky, hostile, honest].map((one) => slow.isRefused(one, 60 + 210 * 20))).toEqual([false, false, false]);
  });
});
