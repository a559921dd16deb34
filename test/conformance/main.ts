import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import * as z from 'zod';
import { packagePath } from '../../apps/shared/config/files.ts';
import { installForeign, type ForeignPrograms } from '../support/foreign.ts';
import { runSet } from './run-set.ts';
import { SETS, TARGETS, type ConformanceSet } from './sets.ts';
import { reasonsOf, scoreTable } from './table.ts';
import { startTargets, type Targets } from './targets.ts';
import { judge, readExpectations, type SetRun, type Verdict } from './verdict.ts';

const EXPECTED_FAILURES = packagePath('test', 'conformance', 'expected-failures.yaml');
const HELP = `Runs the official conformance suite (@modelcontextprotocol/conformance) against the gateway and a fixture behind it.
Exit code 1 when a check fails that test/conformance/expected-failures.yaml does not name, or when a named one passes.

  npm run test:conformance                       every set, about six minutes
  npm run test:conformance -- --set tasks        only these sets (may be repeated): ${SETS.map(({ name }) => name).join(' ')}

Profiles:
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

/** The scenarios that the revision demands, when the set is one. */
function demandedIn({ name, runs: [args = []], ...set }: ConformanceSet, programs: ForeignPrograms) {
  const [option, revision] = args;
  if (option !== '--requirements') return [];
  const file = programs.path(set.package, 'requirements', `${revision}.yaml`);
  return [[name, new Set(requirementSet.parse(parse(readFileSync(file, 'utf8'))).server)] as const];
}

async function runAll(
  sets: readonly ConformanceSet[],
  programs: ForeignPrograms,
  { subjects }: Targets,
): Promise<SetRun[]> {
  const runs: SetRun[] = [];
  for (const set of sets) {
    for (const target of set.targets) {
      say(`running ${set.name} against ${target} …`);
      runs.push({ target, set: set.name, findings: await runSet(set, programs, subjects[target]) });
    }
  }
  return runs;
}

function report({ unexpected, stale }: Verdict): void {
  if (unexpected.length > 0) print('\nfailed unexpectedly:');
  for (const { run, finding } of unexpected) {
    print(`  ${run.target} ${run.set} ${finding.scenario}:${finding.check}\n      ${finding.message}`);
  }
  if (stale.length > 0) print('\nexpected to fail, but passed:');
  for (const check of stale) print(`  ${check}`);
}

async function main(): Promise<boolean> {
  const unknown = chosen?.filter((name) => !SETS.some((set) => set.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`there is no set ${unknown.join(', ')}`);
  const expected = readExpectations(EXPECTED_FAILURES);
  say('starting the fixture and the product …');
  const targets = await startTargets();
  try {
    const programs = await installForeign('conformance', say);
    const sets = SETS.filter(({ name }) => chosen?.includes(name) ?? true);
    const runs = await runAll(sets, programs, targets);
    print(scoreTable(runs, new Map(sets.flatMap((set) => demandedIn(set, programs)))));
    const reasons = reasonsOf(runs, expected);
    if (reasons !== '') print(`\nfailed or warned as expected, with the number of checks:\n${reasons}`);
    const verdict = judge(runs, expected);
    report(verdict);
    return verdict.unexpected.length === 0 && verdict.stale.length === 0;
  } finally {
    await targets.stop();
  }
}

if (help) print(HELP);
else process.exitCode = (await main()) ? 0 : 1;
