import { resolve } from 'node:path';
import { Command } from 'commander';
import type { PolicyTest } from '../../../pdp/main.ts';
import { systemClock } from '../../../shared/clock.ts';
import { CliError, type Io, json, visible } from '../../context.ts';
import { loadPdp, policyPlaces } from './places.ts';

const TEST_HELP = `
A file is YAML or JSON:
  policies: ./policies          # folder, relative to the file; by default --policies, or else the configured folder
  cases:
    - name: writing needs an approval
      request: { subject: {...}, action: {...}, resource: {...}, context: {...} }
      expected: { decision: false, template: operator_approval }    # or true, or false
    - name: an approval that has expired
      request: {...}
      approval: { template: operator_approval, state: expired }     # or valid (default), out_of_scope, unverifiable
      expected: { decision: false, reason: approval_expired, next_action: request }
    - name: the treasury gets a notification
      request: {...}
      expected: { decision: true, obligations: [tell-treasury] }    # ids, in any order; [] for none
A file can also contain the published decisions of an AuthZEN interoperability scenario.`;

export function testCommand(io: Io): Command {
  return new Command('test')
    .description('compare decisions with the expectations in files. Exit code 1 if one differs')
    .argument('<file...>', 'files with requests and expected decisions')
    .option(
      '--policies <folder>',
      'policy folder or configuration file, for files that name none (default: the configuration)',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', TEST_HELP)
    .action(async (files: string[], options: { policies?: string; json?: boolean }, command: Command) => {
      const places = policyPlaces(io, command, options.policies);
      const { testPolicies } = await loadPdp();
      const tests: PolicyTest[] = [];
      for (const file of files) tests.push(await testPolicies(resolve(io.cwd, file), places, systemClock));
      if (options.json) io.out(json({ files: tests }));
      const missed = tests.map(({ file, cases }) => {
        const failed = cases.filter(({ misses }) => misses.length > 0);
        if (!options.json) printTest(io, visible(file), { failed, total: cases.length });
        return failed.length;
      });
      const [wrong, total] = [sum(missed), sum(tests.map(({ cases }) => cases.length))];
      if (wrong > 0)
        throw new CliError(`${wrong} of ${total} cases are not as expected; correct the policies or the cases`);
    });
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

function printTest(io: Io, file: string, { failed, total }: { failed: PolicyTest['cases']; total: number }): void {
  io.out(`${file}  ${total - failed.length}/${total}`);
  for (const { name, misses } of failed) io.out(`  ${visible(name)}: ${visible(misses.join('; '))}`);
}
