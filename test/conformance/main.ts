import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import * as z from 'zod';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { installForeign, type ForeignPrograms } from '../support/foreign.ts';
import { runSet, type Finding } from './run-set.ts';
import { SETS, TARGETS, type ConformanceSet } from './sets.ts';
import { startTargets, type Targets } from './targets.ts';
import { judge, readExpectations, type SetRun, type Verdict } from './verdict.ts';

const EXPECTED_FAILURES = packagePath('test', 'conformance', 'expected-failures.yaml');
const HELP = `Runs the official conformance suite (@modelcontextprotocol/conformance) against the gateway and a fixture behind it.
Exit code 1 when a check fails that test/conformance/expected-failures.yaml does not name, or one that it names does not.

  npm run test:conformance                       every set, about five minutes
  npm run test:conformance -- --set tasks        only these sets (may be repeated): ${SETS.map(({ name }) => name).join(' ')}

Targets:
${Object.entries(TARGETS)
  .map(([name, what]) => `  ${name.padEnd(10)}${what}`)
  .join('\n')}
`;

const {
  values: { set: chosen, help },
} = parseArgs({ options: { set: { type: 'string', multiple: true }, help: { type: 'boolean' } } });

const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line = '') => process.stdout.write(`${line}\n`);

const requirementSet = z.looseObject({ server: z.array(z.string()) });

/** The scenarios of a set that count for the suite's own score: those that its revision demands. Others are run beside them. */
function scoredIn(set: ConformanceSet, programs: ForeignPrograms): ReadonlySet<string> | undefined {
  const [args = []] = set.runs;
  if (args[0] !== '--requirements') return undefined;
  const file = programs.path(set.package, 'requirements', `${args[1]}.yaml`);
  return new Set(requirementSet.parse(parse(readFileSync(file, 'utf8'))).server);
}

/** How many of the scenarios in which anything was checked passed as a whole, as the suite counts. */
function score(findings: readonly Finding[]): string {
  const verdicts = new Map<string, boolean>();
  for (const { scenario, verdict } of findings) {
    if (verdict !== 'skipped') verdicts.set(scenario, (verdicts.get(scenario) ?? true) && verdict !== 'failed');
  }
  return `${[...verdicts.values()].filter(Boolean).length}/${verdicts.size}`;
}

const line = (set: string, target: string, ...figures: string[]) =>
  `${set.padEnd(12)}${target.padEnd(10)}${figures.map((figure) => figure.padStart(16)).join('')}`;

function scoreLine({ target, set, findings }: SetRun, scored: ReadonlySet<string> | undefined): string {
  const count = (verdict: Finding['verdict']) => findings.filter((one) => one.verdict === verdict).length;
  const demanded = findings.filter(({ scenario }) => scored?.has(scenario) ?? true);
  const beside = findings.filter(({ scenario }) => scored !== undefined && !scored.has(scenario));
  const scenarios = score(demanded) + (beside.length > 0 ? ` and ${score(beside)}` : '');
  const checks = `${count('passed')}/${count('passed') + count('failed')}`;
  return line(set, target, scenarios, checks, String(count('warned')), String(count('skipped')));
}

async function runAll(sets: readonly ConformanceSet[], { urls }: Targets): Promise<SetRun[]> {
  const programs = await installForeign('conformance', say);
  const runs: SetRun[] = [];
  print(line('set', 'target', 'scenarios', 'checks', 'warnings', 'skipped'));
  for (const set of sets) {
    for (const target of set.targets) {
      const run = { target, set: set.name, findings: await runSet(set, programs, urls[target]) };
      runs.push(run);
      print(scoreLine(run, scoredIn(set, programs)));
    }
  }
  return runs;
}

function report({ unexpected, stale }: Verdict): void {
  if (unexpected.length > 0) print('\nfailed, and not expected to:');
  for (const { run, finding } of unexpected) {
    print(`  ${run.target} ${run.set} ${finding.scenario}:${finding.check}\n      ${finding.message}`);
  }
  if (stale.length > 0) print('\nexpected to fail, and did not:');
  for (const check of stale) print(`  ${check}`);
}

async function main(): Promise<boolean> {
  const unknown = chosen?.filter((name) => !SETS.some((set) => set.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`there is no set ${unknown.join(', ')}`);
  const expected = readExpectations(EXPECTED_FAILURES);
  say('starting the fixture and the product …');
  const targets = await startTargets();
  try {
    const runs = await runAll(
      SETS.filter(({ name }) => chosen?.includes(name) ?? true),
      targets,
    );
    const verdict = judge(runs, expected);
    report(verdict);
    return verdict.unexpected.length === 0 && verdict.stale.length === 0;
  } finally {
    await targets.stop();
  }
}

if (help) print(HELP);
else process.exitCode = (await main()) ? 0 : 1;
