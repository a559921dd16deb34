import type { Leaf } from '../../../workflows/domain/access-request/outline.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';

type Outlined = Pick<AccessRequestSummary, 'id' | 'outline'>;

/** Where alike requests differ. */
export interface Differences {
  /** Arguments that are not equal in all requests, in the order of the first one. */
  readonly paths: readonly string[];
  /** Arguments that all requests have in common. */
  readonly common: readonly Leaf[];
  /** For a request by its id: the arguments in which it stands out, each with the reason in words. */
  readonly outliers: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** A request stands out if more than this share of the others have something that it has not. */
const MAJORITY = 0.5;
/** How far a number or a length is from the middle one to stand out. */
const FAR = 3;
/** Fewer requests have no usual value. */
const FEWEST = 3;

/** Compares requests of one kind. Cut texts are compared by their digests, so equal always means equal in full. */
export function differencesIn(requests: readonly Outlined[]): Differences {
  const columns = new Map<string, Map<string, Leaf>>();
  for (const { id, outline } of requests) {
    for (const leaf of outline?.leaves ?? []) {
      const column = columns.get(leaf.path) ?? new Map<string, Leaf>();
      columns.set(leaf.path, column.set(id, leaf));
    }
  }
  const isCommon = (column: ReadonlyMap<string, Leaf>) =>
    column.size === requests.length && new Set([...column.values()].map(keyOf)).size === 1;
  const common = [...columns.values()].filter(isCommon).flatMap((column) => [...column.values()].slice(0, 1));
  const differing = [...columns].filter(([, column]) => !isCommon(column));
  const outliers = new Map<string, Map<string, string>>();
  for (const [path, column] of differing) {
    for (const [id, why] of oddIn(column, requests)) {
      outliers.set(id, (outliers.get(id) ?? new Map<string, string>()).set(path, why));
    }
  }
  return { paths: differing.map(([path]) => path), common, outliers };
}

const keyOf = ({ json, cut }: Leaf): string => (cut === undefined ? json : `${json} ${cut.digest}`);

/** The requests that stand out in one argument. The first test with a usual value decides: equality, the place, the size. */
function oddIn(column: ReadonlyMap<string, Leaf>, requests: readonly Outlined[]): [string, string][] {
  if (requests.length < FEWEST) return [];
  const missing = requests.filter(({ id }) => !column.has(id));
  if (missing.length > 0 && missing.length < requests.length * MAJORITY)
    return missing.map(({ id }) => [id, 'only here it is missing']);
  const entries = [...column];
  for (const [trait, why] of TRAITS) {
    const usual = mostFrequent(entries.map(([, leaf]) => trait(leaf)));
    if (usual === undefined) continue;
    const odd = entries.filter(([, leaf]) => trait(leaf) !== usual);
    if (odd.length > 0) return odd.map(([id]) => [id, why]);
  }
  return farFrom(entries);
}

/** From the strictest to the loosest. */
const TRAITS = [
  [keyOf, 'most of the others have one value'],
  [kindOf, 'it is of another type'],
  [placeOf, 'most of the others are in one place'],
] as const satisfies readonly (readonly [(leaf: Leaf) => string | undefined, string])[];

/** The value that more than half have; undefined if there is none. */
function mostFrequent(values: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return most !== undefined && most[1] > values.length * MAJORITY ? most[0] : undefined;
}

function kindOf({ json }: Leaf): string {
  if (json.startsWith('"')) return 'text';
  return /^[-\d]/.test(json) ? 'number' : json;
}

/** The folder of a path, the host and folder of an address, the domain of a mail address. Undefined for other texts. */
function placeOf({ json, cut }: Leaf): string | undefined {
  if (!json.startsWith('"') || cut !== undefined) return undefined;
  const text = json.slice(1, -1);
  const at = text.lastIndexOf('/');
  if (at !== -1) return text.split('/').includes('..') ? `climbs ${text}` : text.slice(0, at + 1);
  return text.includes('@') ? text.slice(text.lastIndexOf('@')) : undefined;
}

function farFrom(entries: readonly (readonly [string, Leaf])[]): [string, string][] {
  const sizes = entries.map(([id, leaf]) => [id, sizeOf(leaf)] as const);
  const sorted = sizes.map(([, size]) => size).toSorted((a, b) => a - b);
  const middle = Math.max(1, sorted[Math.floor(sorted.length / 2)] ?? 1);
  const odd = sizes.filter(([, size]) => size > middle * FAR || size * FAR < middle);
  if (odd.length >= entries.length * MAJORITY) return [];
  return odd.map(([id, size]) => [id, size > middle ? 'far above the others' : 'far below the others']);
}

/** The amount of a number, the length of anything else. */
const sizeOf = ({ json, cut }: Leaf): number =>
  /^[-\d]/.test(json) ? Math.abs(Number(json)) : (cut?.length ?? Math.max(0, json.length - 2));
