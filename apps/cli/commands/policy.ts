import { resolve } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import type { PolicyTest } from '../../pdp/main.ts';
import { CliError, type Io, json, visible } from '../context.ts';
import { checkCommand, policyPlaces } from './policy/check.ts';
import { explainCommand } from './policy/explain.ts';
import { replayCommand } from './policy/replay.ts';

/** `policy`: what the policies say, before anybody depends on it. */
export function policyCommand(io: Io): Command {
  return new Command('policy')
    .description('try the policies')
    .addCommand(checkCommand(io))
    .addCommand(testCommand(io))
    .addCommand(explainCommand(io))
    .addCommand(replayCommand(io));
}

const TEST_HELP = `
A file is YAML or JSON:
  policies: ./policies          # folder, relative to the file; without it --policies, else the configured one
  cases:
    - name: writing needs an approval
      request: { subject: {...}, action: {...}, resource: {...}, context: {...} }
      expected: { decision: false, template: operator_approval }    # or true, or false
    - name: an approval that is over
      request: {...}
      approval: { template: operator_approval, state: expired }     # or valid (default), out_of_scope, unverifiable
      expected: { decision: false, reason: approval_expired, next_action: request }
    - name: somebody is told
      request: {...}
      expected: { decision: true, obligations: [tell-treasury] }    # ids, in any order; [] for none
or has the decisions of an AuthZEN interoperability scenario as they are published.`;

interface TestOptions {
  readonly policies?: string;
  readonly json?: boolean;
}

function testCommand(io: Io): Command {
  return new Command('test')
    .description('hold decisions against what files expect. Exit code 1 when one differs')
    .argument('<file...>', 'files with requests and the decisions they should get')
    .option('--policies <folder>', 'policy folder for files that name none (default: pdp.policies)')
    .option('--json', 'print JSON')
    .addHelpText('after', TEST_HELP)
    .action(async (files: string[], options: TestOptions, command: Command) => {
      const places = policyPlaces(io, command, options.policies);
      // Loaded only now: it brings the policy engine with it.
      const { testPolicies } = await import('../../pdp/main.ts');
      const tests: PolicyTest[] = [];
      for (const file of files) tests.push(await testPolicies(resolve(io.cwd, file), places, systemClock));
      if (options.json) io.out(json({ files: tests }));
      else for (const test of tests) print(io, test);
      const cases = tests.flatMap((test) => test.cases);
      const missed = cases.filter(({ misses }) => misses.length > 0).length;
      if (missed > 0) throw new CliError(`${missed} of ${cases.length} cases are not as expected`);
    });
}

function print(io: Io, { file, cases }: PolicyTest): void {
  const missed = cases.filter(({ misses }) => misses.length > 0);
  io.out(`${visible(file)}  ${cases.length - missed.length}/${cases.length}`);
  for (const { name, misses } of missed) io.out(`  ${visible(name)}: ${visible(misses.join('; '))}`);
}
