import { Command } from 'commander';
import type { PolicyCheck, PolicyProblem } from '../../../pdp/main.ts';
import { CliError, facts, type Io, json, visible } from '../../context.ts';
import { loadPdp, located, policyPlaces } from './places.ts';

export function checkCommand(io: Io): Command {
  return new Command('check')
    .description(
      'load rules and policies as the PDP would, and list all problems. Exit code 1 if the PDP could not use them',
    )
    .argument('[folder]', 'policy folder or configuration file (default: the configuration)')
    .option('--json', 'print JSON')
    .action(async (folder: string | undefined, options: { json?: boolean }, command: Command) => {
      const places = policyPlaces(io, command, folder);
      const { checkPolicies, describeProblem, shortVersion } = await loadPdp();
      const checked = await checkPolicies(places);
      const locate = (problems: readonly PolicyProblem[]) => problems.map((problem) => located(io, places, problem));
      const check: PolicyCheck = { ...checked, errors: locate(checked.errors), warnings: locate(checked.warnings) };
      if (options.json) io.out(json(check));
      else {
        for (const error of check.errors) io.out(visible(`error    ${describeProblem(error)}`));
        for (const warning of check.warnings) io.out(visible(`warning  ${describeProblem(warning)}`));
        if (check.found) io.out(summary(check.found, shortVersion(check.found.version)));
      }
      const { length } = check.errors;
      if (length > 0)
        throw new CliError(`the policies have ${length} ${length === 1 ? 'error' : 'errors'}; correct them`);
    });
}

function summary(found: NonNullable<PolicyCheck['found']>, version: string): string {
  const { policies, files, requestable, templates, requestSchemas, obligations, people } = found;
  return facts([
    ['version', version],
    ['policies', `${policies} in ${files} ${files === 1 ? 'file' : 'files'}, ${requestable} requestable`],
    ['templates', templates.join(', ') || 'none'],
    ['request schemas', String(requestSchemas)],
    ['obligations', obligations.map(({ id, type }) => `${id} (${type})`).join(', ') || 'none'],
    ['people', String(people)],
  ]);
}
