import { createHash } from 'node:crypto';

/** Choices that are the same for the same seed. */
export interface Chance {
  /** A whole number from 0 up to, but not including, this one. */
  below(count: number): number;
  happens(probability: number): boolean;
  oneOf<T>(list: readonly T[]): T;
  /** One of the values; a larger weight makes it more likely. */
  weighted<T>(list: readonly (readonly [weight: number, value: T])[]): T;
}

/** Digests of seed and counter: good enough as chance, and the same on every machine. */
export function createChance(seed: string): Chance {
  let drawn = 0;
  const fraction = () => createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32BE(0) / 2 ** 32;
  const below = (count: number) => Math.floor(fraction() * count);
  function oneOf<T>(list: readonly T[]): T {
    const found = list[below(list.length)];
    if (found === undefined) throw new Error('there is nothing to choose from');
    return found;
  }
  return {
    below,
    oneOf,
    happens: (probability) => fraction() < probability,
    weighted(list) {
      let left = fraction() * list.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of list) {
        left -= weight;
        if (left < 0) return value;
      }
      return oneOf(list)[1];
    },
  };
}
