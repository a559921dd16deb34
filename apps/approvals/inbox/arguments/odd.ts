import { canonicalJson, isObject, type Json } from '../../../../workflows/domain/canonical-json.ts';

/** Something that a reader of many lines or rows easily passes over. */
export interface Odd {
  /** Where it is in the arguments; empty for the arguments themselves. */
  readonly path: string;
  /** The value that stands out, as JSON. Undefined for a gap or a repetition. */
  readonly json?: string;
  readonly why: string;
}

/** From this many entries on, a list has a usual value, which this share of them has. */
const FEWEST = 10;
const USUAL = 0.9;
/** Empty lines in a row, which may be meant to end a text for its reader. */
const LONG_GAP = 20;
/** Equal characters in a row, after which a reader looks no further. */
const LONG_REPETITION = 200;
const REPETITION = new RegExp(String.raw`([^\n])\1{${LONG_REPETITION - 1},}`, 'su');
/** A notice names no more. */
const MOST = 20;

/**
 * Gaps and repetitions within texts, and entries of lists that differ from almost all others. It is a help for reading: it decides nothing,
 * and what it does not name can still be wrong.
 */
export function oddIn(value: Json): Odd[] {
  const found: Odd[] = [];
  const visit = (one: Json, path: string): void => {
    if (found.length >= MOST) return;
    if (typeof one === 'string') found.push(...oddInText(one).map((why) => ({ path, why })));
    else if (Array.isArray(one)) {
      const list = one as readonly Json[];
      found.push(...oddInList(list, path));
      for (const [at, entry] of list.entries()) visit(entry, `${path}[${at}]`);
    } else if (isObject(one)) {
      for (const name of Object.keys(one).sort()) visit(one[name] ?? null, path === '' ? name : `${path}.${name}`);
    }
  };
  visit(value, '');
  return found.slice(0, MOST);
}

function oddInText(text: string): string[] {
  const odd: string[] = [];
  let blank = 0;
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') blank += 1;
    else {
      if (blank >= LONG_GAP) odd.push(`${number(blank)} empty lines, and then line ${number(at + 1)}`);
      blank = 0;
    }
  }
  const repetition = REPETITION.exec(text);
  if (repetition !== null) {
    const length = Array.from(repetition[0]).length;
    const isLast = repetition.index + repetition[0].length === text.length;
    odd.push(`${number(length)} equal characters in a row${isLast ? '' : ', and then more'}`);
  }
  return odd;
}

const number = (count: number) => count.toLocaleString('en');

/** Entries that differ from almost all others, as a whole or in one member. */
function oddInList(list: readonly Json[], path: string): Odd[] {
  if (list.length < FEWEST) return [];
  const objects = list.filter(isObject);
  if (objects.length === 0)
    return oddAmong(
      list.map((one) => canonicalJson(one)),
      (at) => `${path}[${at}]`,
    );
  if (objects.length < list.length) return [];
  const names = new Set(objects.flatMap((one) => Object.keys(one)));
  return [...names].sort().flatMap((name) =>
    oddAmong(
      objects.map((one) => (Object.hasOwn(one, name) ? canonicalJson(one[name] ?? null) : undefined)),
      (at) => `${path}[${at}].${name}`,
    ),
  );
}

function oddAmong(values: readonly (string | undefined)[], pathOf: (at: number) => string): Odd[] {
  const counts = new Map<string | undefined, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [usual] = [...counts].toSorted(([, one], [, other]) => other - one);
  if (usual === undefined || usual[1] === values.length || usual[1] < values.length * USUAL) return [];
  const others = usual[0] === undefined ? 'most others have none' : 'most others have one other value';
  return values.flatMap((value, at): Odd[] => {
    if (value === usual[0]) return [];
    return [
      {
        path: pathOf(at),
        ...(value !== undefined && { json: value }),
        why: value === undefined ? 'it is missing, and most others have it' : others,
      },
    ];
  });
}
