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
  operation: (index: number, caller: number) => Promise<unknown>,
): Promise<Sample> {
  const durations: number[] = [];
  let next = 0;
  const began = performance.now();
  const work = async (caller: number) => {
    for (let index = next++; index < count; index = next++) {
      const start = performance.now();
      await operation(index, caller);
      durations.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)));
  return summarise(durations, performance.now() - began);
}

/** Percentiles of durations that took `elapsedMs` together. */
export function summarise(durations: number[], elapsedMs: number): Sample {
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), perSecond: (durations.length / elapsedMs) * 1_000, count: durations.length };
}

/** The median by `by`, so that one disturbed run does not decide. */
export function middleOf<T>(items: readonly T[], by: (item: T) => number): T {
  const middle = items.toSorted((a, b) => by(a) - by(b))[Math.floor(items.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}

/** One at a time: the whole takes as long as its parts. */
export function summariseEach(durations: number[]): Sample {
  return summarise(
    durations,
    durations.reduce((sum, one) => sum + one, 0),
  );
}
