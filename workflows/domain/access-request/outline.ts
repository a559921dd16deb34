import { canonicalJson, type Json, objectOf } from '../canonical-json.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';

/** One value of the arguments that has no members: a text, a number, a boolean, `null`, an empty object or an empty list. */
export interface Leaf {
  /** `target.path`, `items[0].name`; a name that is no plain word stands in brackets as a JSON string. */
  readonly path: string;
  /** RFC 8785 text. Of a long text, only the start. */
  readonly json: string;
  /** Present if the text was cut: how many characters all of it has, and its digest. */
  readonly cut?: { readonly length: number; readonly digest: string };
}

/**
 * The values in the arguments of a call, for lists and comparisons. It has a greatest size, also for a large call, and is stored when the
 * request opens. Nothing is decided by it alone: `isWhole` says whether it has all that the arguments have.
 */
export interface Outline {
  /** In the order of the canonical text. */
  readonly leaves: readonly Leaf[];
  /** Whether the leaves are all values, each of them complete. */
  readonly isWhole: boolean;
  /** Equal for calls whose arguments have the same paths, where all elements of a list count as one. */
  readonly shape: string;
  /** Digest of the arguments. */
  readonly digest: string;
}

const MAX_LEAVES = 40;
const MAX_TEXT = 500;
const MAX_PATH = 200;
/** Characters of all leaves together: a page of a list reads many outlines. */
const MAX_SIZE = 6_000;
const WORD = /^[A-Za-z_][\w-]*$/;

/** The outline of arguments. Undefined for a request that is no tool call. Throws a `RangeError` for a value without a canonical form. */
export function outlineOf(args: Json | undefined, sha256: Sha256): Outline | undefined {
  if (args === undefined) return undefined;
  const shapes = new Set<string>();
  const leaves: Leaf[] = [];
  let size = 0;
  let count = 0;
  for (const { path, shape, value } of leavesOf(args)) {
    shapes.add(shape);
    count += 1;
    if (leaves.length === MAX_LEAVES || size >= MAX_SIZE || path.length > MAX_PATH) continue;
    const leaf = { path, ...written(value, sha256) };
    size += leaf.path.length + leaf.json.length;
    leaves.push(leaf);
  }
  return {
    leaves,
    isWhole: leaves.length === count && leaves.every(({ cut }) => cut === undefined),
    shape: sha256([...shapes].sort().join('\n')),
    digest: sha256(canonicalJson(args)),
  };
}

interface Found {
  readonly path: string;
  readonly shape: string;
  readonly value: Json;
}

function* leavesOf(value: Json, path = '', shape = ''): Generator<Found> {
  if (Array.isArray(value) && value.length > 0) {
    for (const [at, element] of (value as readonly Json[]).entries()) {
      yield* leavesOf(element, `${path}[${at}]`, `${shape}[]`);
    }
    return;
  }
  const members = Array.isArray(value) ? [] : Object.entries(objectOf(value)).sort(byCodeUnits);
  if (members.length === 0) return void (yield { path, shape, value });
  for (const [name, member] of members) {
    yield* leavesOf(member, memberOf(path, name), memberOf(shape, name));
  }
}

const memberOf = (path: string, name: string) =>
  WORD.test(name) ? `${path && `${path}.`}${name}` : `${path}[${JSON.stringify(name)}]`;

/** Whether a value is the argument of this name, or is within it. */
export function isWithin({ path }: Pick<Leaf, 'path'>, argument: string): boolean {
  const start = memberOf('', argument);
  return path.startsWith(start) && /^(?:$|[.[])/.test(path.slice(start.length));
}

/** The order of RFC 8785. */
const byCodeUnits = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

function written(value: Json, sha256: Sha256): Omit<Leaf, 'path'> {
  if (typeof value !== 'string' || value.length <= MAX_TEXT) return { json: canonicalJson(value) };
  // A cut between the halves of a character would leave a text without a canonical form.
  const start = value.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '');
  return { json: canonicalJson(start), cut: { length: value.length, digest: sha256(value) } };
}
