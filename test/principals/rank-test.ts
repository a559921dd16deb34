/** How two samples of one kind of measurement lie to each other. Medians in the unit of the samples. */
export interface Comparison {
  /** How many pairs there are of one of each sample. */
  readonly pairs: number;
  /** In how many of the pairs the one of the first sample is larger; ties count half. */
  readonly wins: number;
  /** Of `wins`, when both samples come from one and the same source. */
  readonly variance: number;
}

/**
 * Compares ranks, so that neither the form of the distributions nor a few long pauses count for anything. With samples of one
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

/** Comparisons within kinds that are not alike, taken together: each first sample was held against its own second one. */
export function together(comparisons: readonly Comparison[]): Comparison {
  const sum = (member: keyof Comparison) => comparisons.reduce((total, one) => total + one[member], 0);
  return { pairs: sum('pairs'), wins: sum('wins'), variance: sum('variance') };
}

/** By how many standard deviations the first sample is larger than chance makes it. About ±1 for samples of one source. */
export const deviation = ({ pairs, wins, variance }: Comparison): number => (wins - pairs / 2) / Math.sqrt(variance);

/** The part of the pairs in which the first is larger: how often who sees one of each guesses right. A half: by chance. */
export const share = ({ pairs, wins }: Comparison): number => wins / pairs;

/** How much larger each of a sample like this would have to be for its deviation from the rest of it to reach `limit`. */
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
