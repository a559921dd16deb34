import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import type { Finding } from './run-set.ts';
import type { Target } from './sets.ts';

const SCENARIO_AND_CHECK = /^[^:\s]+:.+$/;
const expectations = z.array(
  z.strictObject({
    reason: z.string().min(1),
    /** Each the name of a target and of a set, such as `relayed 2026-07-28`. */
    in: z.array(z.string().regex(/^\w+ \S+$/)).min(1),
    checks: z.array(z.string().regex(SCENARIO_AND_CHECK)).min(1),
  }),
);
/** Failing checks, and the reason. */
export type Expectations = z.infer<typeof expectations>;

/** One set that was run against one target. */
export interface SetRun {
  readonly target: Target;
  readonly set: string;
  readonly findings: readonly Finding[];
}

export interface Verdict {
  /** Unexpected failures, with the suite's words on them. */
  readonly unexpected: readonly { readonly run: SetRun; readonly finding: Finding }[];
  /** Expectations without a matching failure. */
  readonly stale: readonly string[];
}

export const readExpectations = (file: string): Expectations => expectations.parse(parse(readFileSync(file, 'utf8')));

/** Warnings must be expected, too. */
export const failuresOf = ({ findings }: SetRun): Finding[] =>
  findings.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned');

/**
 * Compares failures with expectations: neither may contain more than the other. Sets that were not run do not count.
 */
export function judge(runs: readonly SetRun[], expected: Expectations): Verdict {
  const placeOf = ({ target, set }: SetRun) => `${target} ${set}`;
  const places = new Set(runs.map(placeOf));
  const open = new Set<string>();
  for (const { in: where, checks } of expected) {
    for (const place of where) if (places.has(place)) for (const check of checks) open.add(`${place} ${check}`);
  }
  const unexpected = runs.flatMap((run) =>
    failuresOf(run)
      .filter(({ scenario, check }) => !open.delete(`${placeOf(run)} ${scenario}:${check}`))
      .map((finding) => ({ run, finding })),
  );
  return { unexpected, stale: [...open] };
}
