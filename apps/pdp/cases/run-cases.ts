import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Endpoint, Expectation, PolicyCase } from './case-set.ts';

/** Puts one question to policies and answers the body of the response. */
export type Ask = (one: Pick<PolicyCase, 'endpoint' | 'request' | 'approval'>) => Promise<unknown>;

export interface CaseResult {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** What is not as expected, one sentence each; none when the case passed. */
  readonly misses: readonly string[];
}

/** Pages of one search that are followed; whoever has more goes on without an end. */
const MAX_PAGES = 1_000;

/** Asks every case, one after the other. An answer that cannot be had is a miss like any other. */
export async function runCases(cases: readonly PolicyCase[], ask: Ask): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const one of cases) {
    const misses = await missesOf(one, ask).catch((error: unknown) => [
      error instanceof Error ? error.message : String(error),
    ]);
    results.push({ name: one.name, endpoint: one.endpoint, misses });
  }
  return results;
}

async function missesOf(one: PolicyCase, ask: Ask): Promise<string[]> {
  const { expected } = one;
  if ('results' in expected) return compareResults(expected.results, await searchAll(one, ask));
  if (!isList(expected)) return compareOne(expected, await ask(one));
  const answers = memberOf(await ask(one), 'evaluations');
  if (!Array.isArray(answers)) return ['expected a batch of decisions, got none'];
  if (answers.length !== expected.length) return [`expected ${expected.length} decisions, got ${answers.length}`];
  return expected.flatMap((each, index) =>
    compareOne(each, answers[index]).map((miss) => `decision ${index + 1}: ${miss}`),
  );
}

function compareOne(expected: Expectation, answer: unknown): string[] {
  const context = memberOf(answer, 'context');
  const got: { [Member in keyof Required<Expectation>]: unknown } = {
    decision: memberOf(answer, 'decision'),
    reason: memberOf(context, 'reason'),
    template: memberOf(memberOf(context, 'access_request'), 'template'),
    next_action: memberOf(context, 'next_action'),
    obligations: idsOf(memberOf(context, 'obligations')),
  };
  return Object.entries(expected).flatMap(([member, wanted]) => {
    const found = got[member as keyof Expectation];
    const isMet = isDeepStrictEqual(found, Array.isArray(wanted) ? [...wanted].sort() : wanted);
    return isMet ? [] : [`expected ${member} ${show(wanted)}, got ${show(found)}`];
  });
}

/** Order means nothing (OBL-05). */
const idsOf = (obligations: unknown): unknown[] =>
  Array.isArray(obligations) ? obligations.map((one) => memberOf(one, 'id')).sort() : [];

function compareResults(expected: readonly unknown[], found: readonly unknown[]): string[] {
  const lacks = (list: readonly unknown[]) => (one: unknown) => !list.some((other) => isDeepStrictEqual(one, other));
  return [
    ...expected.filter(lacks(found)).map((one) => `${show(one)} is not found`),
    ...found.filter(lacks(expected)).map((one) => `${show(one)} is found`),
  ];
}

/** The results of all pages. */
async function searchAll({ endpoint, request }: PolicyCase, ask: Ask): Promise<unknown[]> {
  const all: unknown[] = [];
  let page: JsonObject | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const answer = await ask({ endpoint, request: page ? { ...request, page } : request });
    const results = memberOf(answer, 'results');
    if (!Array.isArray(results)) throw new Error('expected results, got none');
    all.push(...(results as unknown[]));
    const token = memberOf(memberOf(answer, 'page'), 'next_token');
    if (typeof token !== 'string' || token === '') return all;
    page = { token };
  }
  throw new Error(`a search has not ended after ${MAX_PAGES} pages`);
}

const show = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));
const isList = (expected: Expectation | readonly Expectation[]): expected is readonly Expectation[] =>
  Array.isArray(expected);

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
