/** Items by key. An item with several keys is in several groups. Keeps the order of items. */
export function groupBy<T, K>(items: Iterable<T>, keysOf: (item: T) => Iterable<K>): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items)
    for (const key of keysOf(item)) {
      const group = groups.get(key);
      if (group) group.push(item);
      else groups.set(key, [item]);
    }
  return groups;
}

/** Items in portions of at most `size`. */
export function* portions<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}
