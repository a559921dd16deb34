import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AssumedApproval, Expectation, PolicyCase } from './case-set.ts';

/** Puts one question to policies and answers the body of the response, of a single evaluation or of a batch. */
export type Ask = (request: JsonObject, approval?: AssumedApproval) => Promise<unknown>;

export interface CaseResult {
  readonly name: string;
  /** What is not as expected, one sentence each; none when the case passed. */
  readonly misses: readonly string[];
}

/** Asks every case, one after the other. An answer that cannot be had is a miss like any other. */
export async function runCases(cases: readonly PolicyCase[], ask: Ask): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const { name, request, approval, expected } of cases) {
    const misses = await ask(request, approval).then(
      (answer) => compare(expected, answer),
      (error: unknown) => [error instanceof Error ? error.message : String(error)],
    );
    results.push({ name, misses });
  }
  return results;
}

function compare(expected: PolicyCase['expected'], answer: unknown): string[] {
  if (!isList(expected)) return compareOne(expected, answer);
  const answers = memberOf(answer, 'evaluations');
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
  };
  return Object.entries(expected).flatMap(([member, wanted]) => {
    const found = got[member as keyof Expectation];
    return found === wanted ? [] : [`expected ${member} ${show(wanted)}, got ${show(found)}`];
  });
}

const show = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));
const isList = (expected: PolicyCase['expected']): expected is readonly Expectation[] => Array.isArray(expected);

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
