import { describe, expect, it } from '@jest/globals';
import { pauseMs } from '../../../workflows/domain/gated-call/deadlines.ts';

type Pause = Parameters<typeof pauseMs>[0];
const aPause = (over: Partial<Pause> = {}): Pause => ({
  attempt: 1,
  minMs: 1_000,
  maxMs: 60_000,
  remainingMs: 3_600_000,
  random: 0,
  ...over,
});

describe('pauseMs', () => {
  it('doubles from the shortest to the longest pause, and stays there', () => {
    const pauses = [1, 2, 3, 6, 7, 8, 1_000, 1e9].map((attempt) => pauseMs(aPause({ attempt })));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000, 60_000]);
  });

  it('varies by up to a fifth, towards shorter', () => {
    expect(pauseMs(aPause({ random: 0.5 }))).toBe(900);
    expect(pauseMs(aPause({ random: 0.999_999 }))).toBe(801);
  });

  it('is at least what the other side asked for', () => {
    expect(pauseMs(aPause({ askedMs: 90_000 }))).toBe(90_000);
    expect(pauseMs(aPause({ askedMs: 10 }))).toBe(1_000);
  });

  it('never goes beyond the deadline, for any requested pause', () => {
    expect(pauseMs(aPause({ remainingMs: 300 }))).toBe(300);
    expect(pauseMs(aPause({ remainingMs: 300, askedMs: 90_000 }))).toBe(300);
  });

  it.each([0, -5_000])('is 0 when %d ms are left', (remainingMs) => {
    expect(pauseMs(aPause({ remainingMs, askedMs: 90_000 }))).toBe(0);
  });

  it('is a whole number of milliseconds, because timers take no other', () => {
    expect(pauseMs(aPause({ random: 0.123_45, remainingMs: 1e6 + 0.5 }))).toBe(976);
    expect(pauseMs(aPause({ remainingMs: 0.2 }))).toBe(1);
  });
});
