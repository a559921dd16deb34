import {
  attempt,
  KINDS,
  METHODS,
  planAttempts,
  type Attempted,
  type Ground,
  type Kind,
  type Method,
} from './attempts.ts';
import { compare, deviation, share, smallestSeen, together, type Comparison } from './rank-test.ts';

/**
 * Two latencies count as distinguishable when they are this many standard deviations away from chance. With latencies
 * of one source that happens once in 16,000 comparisons, so once in 2,000 runs with seven comparisons each.
 */
export const LIMIT = 4;
/** Compilation takes a large share of the first requests. */
const WARM_UP_SHARE = 0.05;

/** Latency of requests about tasks of other callers against that of requests about tasks that do not exist. */
export interface Difference {
  readonly what: Method | Kind;
  readonly requests: number;
  readonly share: number;
  readonly deviation: number;
}

export interface PrincipalFigures {
  readonly seed: number;
  readonly attempts: number;
  /** The number of different answers of each method. */
  readonly answers: Readonly<Record<Method, number>>;
  /** The first two answers of one method that differ. */
  readonly unequal?: readonly [string, string];
  /** Whether any stored data has changed. */
  readonly hasChanged: boolean;
  readonly differences: readonly Difference[];
  /** By how many milliseconds `tasks/get` could be slower without being noticed here. */
  readonly unseenMs: number;
  readonly medianMs: number;
}

/**
 * Makes attempts one after the other on tasks of other callers, and looks for any difference from tasks that do not
 * exist.
 */
export async function runPrincipals(
  ground: Ground,
  { attempts: count, seed, onProgress }: { attempts: number; seed: number; onProgress?: (made: number) => void },
): Promise<PrincipalFigures> {
  const before = await ground.stored();
  const made: Attempted[] = [];
  for (const [nth, planned] of planAttempts(ground, count, seed).entries()) {
    made.push(await attempt(ground, planned, nth));
    onProgress?.(made.length);
  }
  const hasChanged = (await ground.stored()) !== before;
  const warm = made.slice(Math.ceil(count * WARM_UP_SHARE));
  const reads = latencies(warm, 'tasks/get', 'unknown');
  return {
    ...{ seed, attempts: made.length, hasChanged },
    ...answersOf(made),
    differences: differencesIn(warm),
    unseenMs: smallestSeen(reads, LIMIT),
    medianMs: reads.toSorted((one, other) => one - other)[Math.floor(reads.length / 2)] ?? Number.NaN,
  };
}

function answersOf(made: readonly Attempted[]): Pick<PrincipalFigures, 'answers' | 'unequal'> {
  const texts = METHODS.map((method) => [
    ...new Set(made.filter((one) => one.method === method).map(({ answer }) => answer)),
  ]);
  const [one, other] = texts.find(({ length }) => length > 1) ?? [];
  return {
    answers: Object.fromEntries(METHODS.map((method, index) => [method, texts[index]?.length ?? 0])) as Record<
      Method,
      number
    >,
    ...(one !== undefined && other !== undefined && { unequal: [one, other] as const }),
  };
}

const latencies = (made: readonly Attempted[], method: Method, kind: Kind) =>
  made.filter((one) => one.method === method && one.kind === kind).map(({ milliseconds }) => milliseconds);

/**
 * By method over all kinds, and by kind over all methods: methods differ from each other, so each is compared with
 * itself.
 */
function differencesIn(made: readonly Attempted[]): Difference[] {
  const others = KINDS.filter((kind) => kind !== 'unknown');
  const of = (method: Method, kinds: readonly Kind[]) =>
    compare(
      kinds.flatMap((kind) => latencies(made, method, kind)),
      latencies(made, method, 'unknown'),
    );
  const told = (what: Method | Kind, comparison: Comparison, requests: number): Difference => ({
    ...{ what, requests, share: share(comparison), deviation: deviation(comparison) },
  });
  const count = (test: (one: Attempted) => boolean) => made.filter(test).length;
  return [
    ...METHODS.map((method) =>
      told(
        method,
        of(method, others),
        count((one) => one.method === method),
      ),
    ),
    ...others.map((kind) =>
      told(
        kind,
        together(METHODS.map((method) => of(method, [kind]))),
        count((one) => one.kind === kind),
      ),
    ),
  ];
}
