import { join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import type { PolicyCheck, PolicyPlaces, PolicyProblem } from '../../../pdp/main.ts';
import { CliError, facts, type Io, json, readConfig, visible } from '../../context.ts';

/** `policy check`: whether a policy folder could be put in force, and what is wrong with it. */
export function checkCommand(io: Io): Command {
  return new Command('check')
    .description(
      'load policies as the decision point would, and tell all that is wrong. Exit code 1 when they cannot be used',
    )
    .argument('[folder]', 'policy folder (default: pdp.policies)')
    .option('--json', 'print JSON')
    .action(async (folder: string | undefined, options: { json?: boolean }, command: Command) => {
      const places = policyPlaces(io, command, folder);
      // Loaded only now: it brings the policy engine with it.
      const { checkPolicies, describeProblem, shortVersion } = await import('../../../pdp/main.ts');
      const checked = await checkPolicies(places);
      const locate = (problems: readonly PolicyProblem[]) => problems.map((problem) => placed(io, places, problem));
      const check: PolicyCheck = { ...checked, errors: locate(checked.errors), warnings: locate(checked.warnings) };
      if (options.json) io.out(json(check));
      else {
        for (const error of check.errors) shown(io, `error    ${describeProblem(error)}`);
        for (const warning of check.warnings) shown(io, `warning  ${describeProblem(warning)}`);
        if (check.found) io.out(summary(check.found, shortVersion(check.found.version)));
      }
      const { length } = check.errors;
      if (length > 0)
        throw new CliError(`${length} ${length === 1 ? 'thing is' : 'things are'} wrong with the policies`);
    });
}

function summary(found: NonNullable<PolicyCheck['found']>, version: string): string {
  return facts([
    ['version', version],
    [
      'policies',
      `${found.policies} in ${found.files} ${found.files === 1 ? 'file' : 'files'}, ${found.requestable} requestable`,
    ],
    ['templates', found.templates.join(', ') || 'none'],
    ['request schemas', String(found.requestSchemas)],
    ['obligations', found.obligations.map(({ id, type }) => `${id} (${type})`).join(', ') || 'none'],
    ['people', String(found.people)],
  ]);
}

/** The policies that a command is about: those of a folder, else the configured ones. People are always the configured ones. */
export function policyPlaces(io: Io, command: Command, folder?: string): PolicyPlaces {
  const { config } = readConfig(io, command);
  return {
    folder: folder === undefined ? config.pdp.policies : resolve(io.cwd, folder),
    directory: config.directory,
    catalogs: config.approvals.catalogs,
  };
}

/** The file as a terminal or an editor finds it from where the command was given. */
export function placed<P extends Pick<PolicyProblem, 'file'>>(io: Io, { folder }: PolicyPlaces, at: P): P {
  return { ...at, file: relative(io.cwd, resolve(folder, at.file)) || join('.', at.file) };
}

const shown = (io: Io, line: string) => io.out(visible(line));
