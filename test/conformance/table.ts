import type { Finding } from './run-set.ts';
import { failuresOf, type Expectations, type SetRun } from './verdict.ts';

/** The scenarios that a revision requires, for the sets that are one; the other scenarios run beside them. */
export type Demanded = ReadonlyMap<string, ReadonlySet<string>>;

const HEADINGS = ['set', 'profile', 'scenarios', 'beside', 'checks', 'warnings', 'skipped'] as const;
const LEFT_COLUMNS = 2;

/**
 * The score of each set in each profile. `scenarios`: those in the suite's own score with all checks passed; `beside`:
 * those that the suite runs without counting them. Warnings fail nothing, as the suite has it.
 */
export function scoreTable(runs: readonly SetRun[], demanded: Demanded): string {
  const rows: readonly (readonly string[])[] = [HEADINGS, ...runs.map((run) => rowOf(run, demanded.get(run.set)))];
  const widths = HEADINGS.map((_heading, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number) =>
    column < LEFT_COLUMNS ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(cell).join('  ')).join('\n');
}

function rowOf({ set, target, findings }: SetRun, demanded: ReadonlySet<string> | undefined): readonly string[] {
  const count = (verdict: Finding['verdict']) => findings.filter((one) => one.verdict === verdict).length;
  const counts = (scenario: string) => demanded?.has(scenario) ?? true;
  return [
    set,
    target,
    score(findings.filter(({ scenario }) => counts(scenario))),
    score(findings.filter(({ scenario }) => !counts(scenario))),
    `${count('passed')}/${count('passed') + count('failed')}`,
    String(count('warned')),
    String(count('skipped')),
  ];
}

/** How many of the scenarios with any check passed as a whole, as the suite counts. */
function score(findings: readonly Finding[]): string {
  const verdicts = new Map<string, boolean>();
  for (const { scenario, verdict } of findings) {
    if (verdict !== 'skipped') verdicts.set(scenario, (verdicts.get(scenario) ?? true) && verdict !== 'failed');
  }
  return verdicts.size === 0 ? '-' : `${[...verdicts.values()].filter(Boolean).length}/${verdicts.size}`;
}

/**
 * The reasons for expected failures: each with the profiles and sets, and the number of checks that fail there because
 * of it.
 */
export function reasonsOf(runs: readonly SetRun[], expected: Expectations): string {
  return expected
    .flatMap(({ reason, in: places, checks }) => {
      const where = places.flatMap((place) => {
        const failed = runs.filter((run) => `${run.target} ${run.set}` === place).flatMap(failuresOf);
        const count = failed.filter(({ scenario, check }) => checks.includes(`${scenario}:${check}`)).length;
        return count === 0 ? [] : [`${place} (${count})`];
      });
      return where.length === 0 ? [] : [`  ${reason}\n      ${where.join(', ')}`];
    })
    .join('\n');
}
