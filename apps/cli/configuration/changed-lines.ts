/** The lines that a change adds (`+`) and removes (`-`), each with its place among the others. Lines that stay are left out. */
export function changedLines(before: string, after: string): string[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  const common = commonLengths(old, young);
  const changes: string[] = [];
  let [at, to] = [0, 0];
  while (at < old.length || to < young.length) {
    if (at < old.length && to < young.length && old[at] === young[to]) {
      at += 1;
      to += 1;
    } else if (to < young.length && (common[at]?.[to + 1] ?? 0) >= (common[at + 1]?.[to] ?? 0)) {
      changes.push(`+ ${young[to] ?? ''}`);
      to += 1;
    } else {
      changes.push(`- ${old[at] ?? ''}`);
      at += 1;
    }
  }
  return changes;
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** For each two places, how many lines the rests have in common. */
function commonLengths(old: readonly string[], young: readonly string[]): readonly (readonly number[])[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(young.length + 1).fill(0));
  for (let at = old.length - 1; at >= 0; at -= 1) {
    for (let to = young.length - 1; to >= 0; to -= 1) {
      const [row = [], below = []] = [lengths[at], lengths[at + 1]];
      row[to] = old[at] === young[to] ? (below[to + 1] ?? 0) + 1 : Math.max(below[to] ?? 0, row[to + 1] ?? 0);
    }
  }
  return lengths;
}
