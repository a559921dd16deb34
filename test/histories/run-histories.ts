import type { Pool } from 'pg';
import { TEST_SEALS } from '../support/gated-calls.ts';
import { checkInvariants, type Violation } from '../invariants/check-invariants.ts';
import { runHistory, type HistoryResult } from './history.ts';
import type { Mutation } from './instance.ts';

/** The number of histories between two checks of the whole database, and how many of them run at the same time. */
const BATCH = 40;
const AT_ONCE = 8;
/** One connection for each, and a few for moving the clocks. */
export const CONNECTIONS = 2 * AT_ONCE;

export interface HistoriesOptions {
  readonly count: number;
  readonly seed: string;
  readonly mutation?: Mutation;
  /** Called after each batch. */
  readonly onProgress?: (done: number) => unknown;
}

export interface Failure {
  /** Gives the same history again. Undefined when only the histories together show the failure. */
  readonly seed: string | undefined;
  readonly findings: readonly string[];
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
}

export interface HistoriesFigures {
  readonly histories: number;
  readonly seconds: number;
  /** How many calls ended in each state. */
  readonly ends: Readonly<Record<string, number>>;
  readonly arrivals: number;
  /** Requests that a grant approved. */
  readonly byGrant: number;
  readonly failure?: Failure;
}

/**
 * Runs histories until one fails or all are done. The database is emptied on the way, so only this program may use it.
 */
export async function runHistories(pool: Pool, options: HistoriesOptions): Promise<HistoriesFigures> {
  const { count, seed, mutation = {}, onProgress } = options;
  const began = performance.now();
  const ends: Record<string, number> = {};
  let [histories, arrivals, byGrant] = [0, 0, 0];
  const figures = () => ({ histories, arrivals, byGrant, ends, seconds: (performance.now() - began) / 1_000 });
  while (histories < count) {
    const seeds = Array.from(
      { length: Math.min(BATCH, count - histories) },
      (_, index) => `${seed}-${histories + index}`,
    );
    const results = await inParallel(seeds, (one) => runHistory(pool, one, mutation));
    const violations = await checkTogether(pool, results);
    histories += results.length;
    for (const state of results.flatMap((result) => result.ends)) ends[state] = (ends[state] ?? 0) + 1;
    arrivals += results.reduce((sum, result) => sum + result.arrivals.length, 0);
    byGrant += results.reduce((sum, result) => sum + result.byGrant, 0);
    if (violations.length > 0 || results.some(({ findings }) => findings.length > 0)) {
      return { ...figures(), failure: await findFailure(pool, { results, violations, mutation }) };
    }
    await empty(pool);
    onProgress?.(histories);
  }
  return figures();
}

/** The figures for people, and for a failure everything that is needed to repeat it. */
export function wordsOf({ failure, ...figures }: HistoriesFigures): string {
  const ends = Object.entries(figures.ends).map(([state, count]) => `${state} ${count}`);
  const { findings = [], violations = [], trace = [], seed } = failure ?? {};
  const lines = [
    `${figures.histories} histories in ${figures.seconds.toFixed(1)} s, ${figures.arrivals} arrivals at tools, ${figures.byGrant} requests approved by grants`,
    `calls ended as: ${ends.sort().join(', ') || 'not counted'}`,
    `violations: ${findings.length + violations.length}`,
    ...findings,
    ...violations.map(({ invariant, cases }) => `no longer holds: ${invariant}: ${JSON.stringify(cases)}`),
    ...(seed === undefined ? [] : [`again with: npm run test:histories -- --replay ${seed}`]),
    ...trace.map((line) => `  ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Runs one history alone, in an empty database, and checks every invariant. */
export async function replay(pool: Pool, seed: string, mutation: Mutation = {}): Promise<Failure> {
  await empty(pool);
  const result = await runHistory(pool, seed, mutation);
  return { seed, findings: result.findings, violations: await checkTogether(pool, [result]), trace: result.trace };
}

function checkTogether(pool: Pool, results: readonly HistoryResult[]): Promise<Violation[]> {
  return checkInvariants(pool, {
    arrivals: results.flatMap((result) => result.arrivals),
    requests: results.flatMap((result) => result.requests),
    seenTaskIds: results.flatMap((result) => result.seenTaskIds),
    quietForMs: 0,
    keyed: TEST_SEALS.digest,
  });
}

/** The first history of the batch that fails when it runs alone. */
async function findFailure(
  pool: Pool,
  of: { results: readonly HistoryResult[]; violations: readonly Violation[]; mutation: Mutation },
): Promise<Failure> {
  const suspects = [...of.results].sort((a, b) => b.findings.length - a.findings.length);
  for (const { seed } of suspects) {
    const failure = await replay(pool, seed, of.mutation);
    if (failure.findings.length + failure.violations.length > 0) return failure;
  }
  const findings = of.results.flatMap((result) => result.findings.map((finding) => `${result.seed}: ${finding}`));
  return { seed: undefined, findings, violations: of.violations, trace: [] };
}

async function inParallel<T, R>(inputs: readonly T[], work: (input: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = [...inputs];
  const lane = async () => {
    for (let input = left.shift(); input !== undefined; input = left.shift()) results.push(await work(input));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return results;
}

/** The fences refuse TRUNCATE, too. */
async function empty(pool: Pool): Promise<void> {
  await pool.query(
    `SET session_replication_role = replica;
     TRUNCATE gateway.gated_call, gateway.outbox, approvals.access_request, approvals."grant", approvals.outbox CASCADE;
     SET session_replication_role = origin`,
  );
}
