import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { stringify } from 'yaml';
import { templatesOf } from '../../../shared/rules/rules.ts';
import { CliError, type Io, readConfig } from '../../context.ts';
import { configuredPlaces } from '../lint/policies.ts';
import { loadPdp } from './places.ts';

const HELP = `
The folder gets the policies that the rules are compiled to, with everything else that the PDP reads. The rules decide no
longer once you set pdp.policies to the folder and remove them from the configuration.`;

/** `policy eject`: writes the rules as the Cedar policies that they are compiled to, for an author who goes on in Cedar. */
export function ejectCommand(io: Io): Command {
  return new Command('eject')
    .description('write the rules as Cedar policies to a new folder')
    .argument('<folder>', 'folder that does not exist, or is empty')
    .addHelpText('after', HELP)
    .action(async (folder: string, _options: object, command: Command) => {
      const { config } = readConfig(io, command);
      const { rules } = config.pdp;
      if (rules === undefined)
        throw new CliError('the configuration has no rules; write rules first, or write Cedar policies');
      const target = resolve(io.cwd, folder);
      await refuseContent(target);
      const { writtenPolicies } = await loadPdp();
      const files = await writtenPolicies(configuredPlaces(config));
      await mkdir(target, { recursive: true });
      for (const { file, text } of files) await writeFile(join(target, file), text, { flag: 'wx' });
      io.out(files.map(({ file }) => join(relative(io.cwd, target) || '.', file)).join('\n'));
      io.err(nextSteps(relative(config.baseDir, target), templatesOf(rules.all)));
    });
}

async function refuseContent(folder: string): Promise<void> {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new CliError(`${folder} cannot be used: ${error.message}. Name another folder`, { cause: error });
  });
  if (found.length > 0)
    throw new CliError(`${folder} is not empty; name another folder, so that no file is overwritten`);
}

function nextSteps(folder: string, templates: object): string {
  const named = Object.keys(templates).length === 0 ? {} : { approvals: { templates } };
  const settings = stringify({ pdp: { policies: `./${folder}` }, ...named });
  return `\nNext: remove rules from the configuration, and add:\n\n${settings}`;
}
