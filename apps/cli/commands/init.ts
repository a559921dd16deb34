import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { packagePath } from '../../shared/config/files.ts';
import { checkedText, ownFile, replaceFile } from '../configuration/configuration-file.ts';
import { type Choices, newConfiguration, PERSON, TAKEN, USUAL_CHOICES } from '../configuration/new-configuration.ts';
import { CliError, EXIT, type Io, json } from '../context.ts';
import { OWN_COMMAND } from '../own-command.ts';

interface Options {
  readonly yes?: boolean;
  readonly policies?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

const AFTER_HELP = `
Examples:
  countersign init              asks who approves, and writes countersign.yaml
  countersign init --yes        asks nothing: alice and bob approve
  countersign init --policies   also writes policies/, for Cedar policies beside the rules
  countersign init --print      prints the configuration, and writes nothing`;

/** What a policy folder needs before the first policy of its own. */
const POLICY_FILES = ['protocol.cedar', 'subjects.cedar', 'schema.cedarschema', 'entities.json'];

/** `init`: writes a configuration that refuses every call until servers are added. It overwrites nothing. */
export function initCommand(io: Io): Command {
  return new Command('init')
    .description('write a new countersign.yaml. An existing file stays unchanged')
    .option('--yes', 'ask nothing')
    .option('--policies', 'also write a folder policies/ for Cedar policies')
    .option('--print', 'print the configuration, and write nothing')
    .option('--json', 'print the written files as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (options: Options, command: Command) => {
      const file = ownFile(io, command);
      const folder = join(dirname(file), 'policies');
      if (options.print !== true) refuseExisting(file, options.policies === true ? folder : undefined);
      const choices = await choicesOf(io, options);
      const text = newConfiguration(choices);
      if (options.print) return io.out(text.trimEnd());
      checkedText(io, { file, text });
      if (choices.policies) writePolicies(folder);
      replaceFile(file, text, undefined);
      const written = [file, ...(choices.policies ? [folder] : [])];
      if (options.json) return io.out(json({ written }));
      io.out(`Wrote ${written.join(' and ')}. ${NEXT}`);
    });
}

const NEXT = `Every call is refused until you add a server:

  ${OWN_COMMAND} add <name> -- <command>   or --url <address>, or --from <file of your MCP host>
  ${OWN_COMMAND} up                        starts Countersign
  ${OWN_COMMAND} connect <host>            connects your MCP host`;

function refuseExisting(file: string, folder: string | undefined): void {
  const found = [file, folder].find((path) => path !== undefined && existsSync(path));
  if (found === undefined) return;
  const next = found === file ? 'change it with `npx countersign add` or an editor' : 'leave out --policies';
  throw new CliError(`${found} is there already, and stays unchanged; ${next}, or use another folder`);
}

/** Without a terminal there is no person to ask. Then the usual choices count. */
async function choicesOf(io: Io, { yes, policies, print }: Options): Promise<Choices> {
  const usual = { ...USUAL_CHOICES, policies: policies === true };
  if (yes || print || io.ask === undefined) return usual;
  const named = await io.ask(`Who approves calls? Names, separated by blanks [${usual.approvers.join(' ')}]: `);
  const approvers = [
    ...new Set(
      named
        .toLowerCase()
        .split(/[\s,]+/)
        .filter((name) => name !== ''),
    ),
  ];
  const wrong = approvers.find((name) => !PERSON.test(name) || TAKEN.includes(name));
  if (wrong !== undefined) {
    const advice = `use letters, digits, dot, dash and underscore, and another name than ${TAKEN.join(' and ')}`;
    throw new CliError(`${wrong} cannot be the name of an approver; ${advice}`, { exitCode: EXIT.usage });
  }
  return { ...usual, approvers: approvers.length === 0 ? usual.approvers : approvers };
}

function writePolicies(folder: string): void {
  if (existsSync(folder)) throw new CliError(`${folder} is there already, and stays unchanged; leave out --policies`);
  mkdirSync(folder, { recursive: true });
  for (const name of POLICY_FILES) copyFileSync(packagePath('policies', name), join(folder, name));
}
