/** How two samples of one kind of measurement compare. Medians in the unit of the samples. */
export interface Comparison {
  /** The number of pairs with one value of each sample. */
  readonly pairs: number;
  /** The number of pairs in which the value of the first sample is larger; ties count half. */
  readonly wins: number;
  /** The variance of `wins` when both samples come from the same source. */
  readonly variance: number;
}

/**
 * Compares ranks, so that neither the form of the distributions nor a few long pauses matter. With samples of one
 * source, `wins` is about half of the pairs. @see Mann and Whitney 1947
 */
export function compare(first: readonly number[], second: readonly number[]): Comparison {
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ];
  const sorted = all.toSorted((one, other) => one.value - other.value);
  let rankSum = 0;
  let ties = 0;
  for (let start = 0; start < sorted.length;) {
    let end = start;
    while (end < sorted.length && sorted[end]?.value === sorted[start]?.value) end += 1;
    const rank = (start + 1 + end) / 2;
    rankSum += rank * sorted.slice(start, end).filter(({ isFirst }) => isFirst).length;
    ties += (end - start) ** 3 - (end - start);
    start = end;
  }
  const [n, m, both] = [first.length, second.length, all.length];
  return {
    pairs: n * m,
    wins: rankSum - (n * (n + 1)) / 2,
    variance: ((n * m) / 12) * (both + 1 - ties / (both * (both - 1))),
  };
}

/**
 * Combines comparisons of kinds that differ from each other: each first sample was compared with its own second one.
 */
export function together(comparisons: readonly Comparison[]): Comparison {
  const sum = (member: keyof Comparison) => comparisons.reduce((total, one) => total + one[member], 0);
  return { pairs: sum('pairs'), wins: sum('wins'), variance: sum('variance') };
}

/** By how many standard deviations the first sample exceeds chance. About ±1 for samples of one source. */
export const deviation = ({ pairs, wins, variance }: Comparison): number => (wins - pairs / 2) / Math.sqrt(variance);

/**
 * The share of pairs in which the first value is larger: how often an observer of one value of each guesses right. A
 * half: by chance.
 */
export const share = ({ pairs, wins }: Comparison): number => wins / pairs;

/**
 * How much larger each value of a sample like this would have to be for its deviation from the rest of it to reach
 * `limit`.
 */
export function smallestSeen(sample: readonly number[], limit: number): number {
  const [one, other] = [sample.filter((_, index) => index % 2 === 0), sample.filter((_, index) => index % 2 === 1)];
  const isSeen = (shift: number) =>
    deviation(
      compare(
        one.map((value) => value + shift),
        other,
      ),
    ) >= limit;
  let [low, high] = [0, Math.max(...sample)];
  for (let step = 0; step < 30; step += 1) {
    const middle = (low + high) / 2;
    if (isSeen(middle)) high = middle;
    else low = middle;
  }
  return high;
}
