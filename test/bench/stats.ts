/** Durations of one kind of operation, in milliseconds. */
export interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
  readonly count: number;
}

/** Runs `operation` `count` times with `callers` at work at once, and measures each. */
export async function measure(
  { count, callers }: { count: number; callers: number },
  operation: (index: number) => Promise<unknown>,
): Promise<Sample> {
  const durations: number[] = [];
  let next = 0;
  const began = performance.now();
  const caller = async () => {
    for (let index = next++; index < count; index = next++) {
      const start = performance.now();
      await operation(index);
      durations.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return summarise(durations, performance.now() - began);
}

/** Percentiles of durations that took `elapsedMs` together. */
export function summarise(durations: number[], elapsedMs: number): Sample {
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), perSecond: (durations.length / elapsedMs) * 1_000, count: durations.length };
}

/** Joins rounds of the same measurement: the median round by p50, so that one disturbed round does not decide. */
export function medianRound(rounds: Sample[]): Sample {
  const sorted = rounds.toSorted((a, b) => a.p50 - b.p50);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('no rounds');
  return middle;
}

/** One at a time: the whole takes as long as its parts. */
export function summariseEach(durations: number[]): Sample {
  return summarise(
    durations,
    durations.reduce((sum, one) => sum + one, 0),
  );
}
