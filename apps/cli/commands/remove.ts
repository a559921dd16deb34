import { basename } from 'node:path';
import { Command } from 'commander';
import { parse } from 'yaml';
import { objectOf } from '../../../workflows/domain/canonical-json.ts';
import { commentOn } from '../configuration/additions.ts';
import { changedLines } from '../configuration/changed-lines.ts';
import { checkedText, ownFile, replaceFile, textOf } from '../configuration/configuration-file.ts';
import { partsOfServer, serverSection } from '../configuration/parts-of-server.ts';
import { withoutEntries } from '../configuration/removal.ts';
import { CliError, confirm, EXIT, type Io, json, visible } from '../context.ts';
import { OWN_COMMAND } from '../own-command.ts';
import { findStack, type Stack, type Taken, untilTaken } from '../stack.ts';
import { mentionedIn } from './add/requested.ts';
import { decidesItself } from './lint/policies.ts';

interface Options {
  readonly yes?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

const AFTER_HELP = `
Takes the server out of the file, with the settings of its tools, and with the rules that are about it alone. A rule that is about
other servers too loses the mention of this one. All else in the file stays, with its comments.`;

/** `remove`: takes a server with the settings of its tools and its rules out of the configuration. An error changes nothing. */
export function removeCommand(io: Io): Command {
  return new Command('remove')
    .description('take an MCP server out of countersign.yaml, with the settings of its tools and its rules')
    .argument('<server>', 'name of the server in the file')
    .option('--yes', 'write without a question')
    .option('--print', 'show the change, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (server: string, options: Options, command: Command) => {
      if (options.yes !== true && options.print !== true && io.ask === undefined)
        throw new CliError('there is no terminal for the question; add --yes to write, or --print to see the change', {
          exitCode: EXIT.usage,
        });
      const removal = removalOf(io, ownFile(io, command), server);
      const { file, before, after } = removal;
      if (options.print === true) return report(io, options, removal);
      if (options.yes !== true) {
        const question = `Write this to ${basename(file)}?`;
        await confirm(io, { shown: shownChange(removal), question, otherwise: 'nothing was written' });
      } else if (options.json !== true) for (const line of shownChange(removal)) io.err(line);
      const stack = await findStack(removal.config);
      replaceFile(file, after, before);
      const isOwn = stack !== undefined && [stack.configFile, stack.ownFile].includes(file);
      await report(io, options, { ...removal, isWritten: true, stack: isOwn ? stack : undefined });
    });
}

type Removal = ReturnType<typeof removalOf> & { readonly isWritten?: true; readonly stack?: Stack | undefined };

/** Throws unless the file has the server, and is a valid configuration without it. */
function removalOf(io: Io, file: string, server: string) {
  const before = textOf(file);
  if (before === undefined) throw new CliError(`there is no ${file}; name the file with --config`);
  // Its problems would be reported as those of the change.
  checkedText(io, { file, text: before });
  const content = objectOf(parse(before));
  const servers = objectOf(content[serverSection(content)]);
  if (!Object.hasOwn(servers, server)) {
    const names = Object.keys(servers).join(', ') || 'none';
    throw new CliError(`${basename(file)} has no server ${server}; it has ${names}`, { exitCode: EXIT.usage });
  }
  const parts = partsOfServer(content, server);
  const comment = `# ${commentOn(server)}`;
  const edited = withoutEntries(before, parts.paths);
  const after = parts.rules.length === 0 ? edited : withoutLine(edited, comment);
  const config = configOf(io, { file, text: after, server });
  const left = mentionedIn(parse(after));
  const unused = [...mentionedIn(servers[server])].filter((name) => !left.has(name));
  return { file, before, after, server, parts, config, unused };
}

const withoutLine = (text: string, line: string): string =>
  text
    .split(/(?<=\n)/)
    .filter((one) => one.trim() !== line)
    .join('');

/** A mention that stays, as in `not` of a rule, is for a person to decide. */
function configOf(io: Io, { file, text, server }: { file: string; text: string; server: string }) {
  try {
    return checkedText(io, { file, text }).config;
  } catch (cause) {
    const problems = (cause instanceof Error ? cause.message : '').replaceAll(/^[^\s:]+\.ya?ml(:\d+)?: /gm, '');
    const message = `Without ${server}, the rest of the file would not be valid; nothing was written. Correct it first:`;
    throw new CliError(`${message}\n${problems}`, { cause });
  }
}

const shownChange = ({ before, after }: Removal): string[] => changedLines(before, after).map(visible);

async function report(io: Io, options: Options, removal: Removal): Promise<void> {
  const { file, server, parts, unused, isWritten = false } = removal;
  if (options.json === true) {
    const removed = { tools: parts.tools, rules: parts.rules.length };
    return io.out(json({ file, written: isWritten, server, removed, unusedVariables: unused, stays: stays(removal) }));
  }
  if (!isWritten) {
    for (const line of shownChange(removal)) io.out(line);
    return io.err(`Nothing was written to ${file}.`);
  }
  io.out(`Wrote ${file}, without ${server}.`);
  io.out('What stays:');
  for (const line of stays(removal)) io.out(`  ${line}`);
  if (removal.stack !== undefined) io.out(AFTER[await untilTaken(removal.config, removal.stack)]);
}

/** What a change of the file does not take away, and who can. */
function stays({ server, config, unused }: Removal): string[] {
  return [
    `The accepted descriptions of its tools stay in the database. A server that is added as ${server} later has to describe its tools in the same way.`,
    'Calls of its tools that wait for an approval stay open. Deny them in the inbox, or cancel them.',
    Object.keys(config.mcpServers).length === 0
      ? 'MCP hosts keep their entry for Countersign, which has no server now. Remove it in the file of the host.'
      : 'MCP hosts keep their entry for Countersign, which still serves the other servers.',
    'What its program downloaded or stored stays, such as the cache of npx, and files in its folders.',
    ...(unused.length === 0 ? [] : [`Nothing in the file uses these variables any more: ${unused.join(', ')}.`]),
    ...(decidesItself(config)
      ? [`Policies in files stay. \`${OWN_COMMAND} lint\` names those about tools that are gone.`]
      : []),
  ];
}

const AFTER: Readonly<Record<Taken, string>> = {
  'in force': 'The running Countersign uses the file now, without the server.',
  refused: `The running Countersign refuses the file, and goes on as before. \`${OWN_COMMAND} doctor\` says why.`,
  unknown: 'Countersign runs with this file. If its console does not report the change within seconds, restart it.',
};
