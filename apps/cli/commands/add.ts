import { basename, dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { pino } from 'pino';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { Config } from '../../shared/config/config.ts';
import { type LoadedConfig, OWN_VARIABLES } from '../../shared/config/load.ts';
import { type Addition, withAdditions } from '../configuration/additions.ts';
import { changedLines } from '../configuration/changed-lines.ts';
import { checkedText, ownFile, replaceFile, textOf } from '../configuration/configuration-file.ts';
import { newConfiguration, USUAL_CHOICES } from '../configuration/new-configuration.ts';
import { CliError, confirm, EXIT, type Io, json, table, visible } from '../context.ts';
import { findStack, type Stack, type Taken, untilTaken } from '../stack.ts';
import { acceptShown, type Acceptance } from './add/acceptance.ts';
import { type Listing, listServers } from './add/listing.ts';
import { proposalFor, type ToolProposal } from './add/proposal.ts';
import { mentionedIn, type Requested, requestedServers, type ServerOptions } from './add/requested.ts';
import { decidesItself } from './lint/policies.ts';
import { OWN_COMMAND } from '../own-command.ts';

interface Options extends ServerOptions {
  readonly yes?: boolean;
  readonly print?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly trustHints?: boolean;
}

const AFTER_HELP = `
Examples:
  countersign add files -- npx -y @modelcontextprotocol/server-filesystem ./files
  countersign add github --url https://api.githubcopilot.com/mcp/ --token-env GITHUB_TOKEN
  countersign add crm --url https://crm.example/mcp --header 'X-Api-Key: \${CRM_KEY}'
  countersign add --from .mcp.json              all servers of Claude Code in this folder
  countersign add git --from ~/.cursor/mcp.json one server of Cursor

The file names secrets by variables, and never has their values. A tool may be called afterwards if its server says that it
only reads, and if nothing speaks against that: no other hint, and no word of its name, description and arguments. A call of any
other tool waits for an approval. Change rules in the file.`;

/** `add`: puts servers with their tools and rules into the configuration, after connecting to them. An error changes nothing. */
export function addCommand(io: Io): Command {
  const several = (value: string, before: readonly string[]) => [...before, value];
  return new Command('add')
    .description('put an MCP server into countersign.yaml, with a rule for each of its tools')
    .argument('[name]', 'name of the server: the prefix of its tools')
    .argument('[command...]', 'program and arguments, after --')
    .option('--url <address>', 'address of a server over Streamable HTTP')
    .option('--token-env <variable>', 'variable that holds the bearer token for --url')
    .option('--token-file <file>', 'file that holds the bearer token for --url')
    .option('--header <header>', "header for --url, as in 'X-Key: ${KEY}'. Can be repeated", several, [])
    .option('--env <name>', 'variable that the program gets, by NAME or NAME=value. Can be repeated', several, [])
    .option('--work-dir <folder>', 'folder in which the program starts')
    .option('--prefix <prefix>', 'prefix of its tools, in place of the name')
    .option('--from <file>', 'take the server, or without a name all servers, from a file of an MCP host')
    .option(
      '--trust-hints',
      'let a tool be called if the hints of its server say that it only reads, even if its words say otherwise',
    )
    .option('--yes', 'write without a question')
    .option('--print', 'show the change, and write nothing')
    .option('--dry-run', 'the same as --print')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (name: string | undefined, program: string[], options: Options, command: Command) => {
      if (!isAsked(options) && io.ask === undefined) {
        throw new CliError('there is no terminal for the question; add --yes to write, or --print to see the change', {
          exitCode: EXIT.usage,
        });
      }
      const draft = draftOf(io, command);
      const requested = requestedServers({
        ...{ name, command: program, options, cwd: io.cwd },
        ownUrl: draft.loaded.config.urls.mcp,
        stateDir: draft.loaded.config.stateDir,
        variables: io.environment.variables,
        mentioned: mentionedIn([draft.text]),
      });
      refuseKnown(draft, requested);
      await addServers(io, options, { draft, requested });
    });
}

const isAsked = ({ yes, print, dryRun }: Options) => yes === true || print === true || dryRun === true;

/** The configuration as it is, or as `init` would write it. */
interface Draft {
  readonly file: string;
  readonly before: string | undefined;
  readonly text: string;
  readonly loaded: LoadedConfig;
}

function draftOf(io: Io, command: Command): Draft {
  const file = ownFile(io, command);
  const before = textOf(file);
  const text = before ?? newConfiguration(USUAL_CHOICES);
  return { file, before, text, loaded: checkedText(io, { file, text }) };
}

function refuseKnown({ file, loaded }: Draft, { servers }: Requested): void {
  for (const { name } of servers) {
    // A server that is switched off is in the file, and not in the configuration.
    const line = loaded.lineOf(['mcpServers', name]) ?? loaded.lineOf(['servers', name]);
    if (line === undefined && !Object.hasOwn(loaded.config.mcpServers, name)) continue;
    const place = line === undefined ? basename(file) : `${basename(file)}:${line}`;
    throw new CliError(
      `${name} is in ${place} already; use another name, or remove it there first. ` +
        '`npx countersign lint` lists its tools without a rule',
    );
  }
}

interface Work {
  readonly draft: Draft;
  readonly requested: Requested;
}

async function addServers(io: Io, options: Options, { draft, requested }: Work): Promise<void> {
  const { file, text } = draft;
  const names = requested.servers.map(({ name }) => name);
  const bare = requested.servers.map((one) => ({ ...one, effects: [], rules: undefined }));
  // Values that a host file had are used for this connection, and written nowhere.
  const check = (draftText: string) => checkedText(io, { file, text: draftText, variables: requested.variables });
  const { config } = check(withAdditions(text, bare));
  if (!options.json) io.err(`Connecting to ${names.join(', ')}. This can take a minute …`);
  const listing = await listServers(config, names, pino({ enabled: false }));
  try {
    const proposals = listing.tools.map((tool) => ({ ...proposalFor(tool, options), upstream: tool.upstream }));
    const additions = bare.map((one) => completed(one, proposals, decidesItself(config)));
    const after = withAdditions(text, additions, folderToKeep(draft));
    const { config: next } = check(after);
    const result: Result = { ...{ draft, requested, listing, proposals, after }, config: next };
    if (!options.json) for (const line of shownTools(result)) io.err(line);
    if (options.print || options.dryRun) return report(io, options, result);
    if (!options.yes) {
      const question = `Write this to ${basename(file)}?`;
      await confirm(io, { shown: ['', ...shownChange(result)], question, otherwise: 'nothing was written' });
    }
    // First: if this fails, the file must not name the tools.
    const acceptance = await acceptShown(io, { config: next, listing });
    const stack = await findStack(next);
    replaceFile(file, after, draft.before);
    await report(io, options, { ...result, acceptance, stack });
  } finally {
    await listing.upstreams.close();
  }
}

type Proposal = ToolProposal & { readonly upstream: string };

interface Result extends Work {
  readonly listing: Listing;
  readonly proposals: readonly Proposal[];
  /** The new text of the file. */
  readonly after: string;
  readonly config: Config;
  /** Undefined if nothing was written. */
  readonly acceptance?: Acceptance;
  /** The running Countersign, as it was before the file was written. */
  readonly stack?: Stack | undefined;
}

function completed(bare: Addition, proposals: readonly Proposal[], hasRules: boolean): Addition {
  const own = proposals.filter(({ upstream }) => upstream === bare.name);
  const namesOf = (wanted: ToolProposal['verb']) =>
    own.filter(({ verb }) => verb === wanted).map(({ upstreamName }) => upstreamName);
  return {
    ...bare,
    effects: own.flatMap(({ name, effect }) => (effect === undefined ? [] : [[name, effect] as const])),
    rules: hasRules ? { allow: namesOf('allow'), approve: namesOf('approve') } : undefined,
  };
}

/** A folder that counts without being named stops to count with the first rule, unless it is named then. */
function folderToKeep({ file, loaded }: Draft): string | undefined {
  const { rules } = loaded.config.pdp;
  if (rules !== undefined || loaded.lineOf(['pdp', 'policies']) !== undefined) return undefined;
  return existsSync(join(dirname(file), 'policies')) ? './policies' : undefined;
}

function shownTools({ proposals, listing, requested }: Result): string[] {
  const rows = proposals.map(({ name, says, effect, verb, why, isContradicted, description }) => [
    ...[name, says, effect ?? '-', verb],
    `${isContradicted ? '! ' : ''}${why}`,
    description,
  ]);
  const contradicted = proposals.filter(({ isContradicted }) => isContradicted).length;
  const others = Object.entries(listing.others).filter(([, count]) => count > 0);
  return [
    ...requested.notes.map((note) => `note: ${visible(note)}`),
    table(['TOOL', 'ITS SERVER SAYS', 'EFFECT', 'RULE', 'WHY', 'DESCRIPTION'], rows),
    ...(contradicted === 0 ? [] : [CONTRADICTED]),
    ...listing.refused.map(({ name, reason }) => `not offered: ${visible(name)}: ${visible(reason)}`),
    ...others.map(
      ([name, count]) =>
        `${name} also lists ${count} prompts and resources, which no rule allows. To allow them, add rules such as ` +
        `\`- allow: { prompt: '${name}__*' }\` and \`- allow: { resource: '<address>' }\``,
    ),
  ];
}

const CONTRADICTED =
  '! The hints of this tool contradict its other hints or its words. Look at it before you allow it.';

const shownChange = ({ draft, after }: Result): string[] => changedLines(draft.before ?? '', after).map(visible);

async function report(io: Io, options: Options, result: Result): Promise<void> {
  const { draft, requested, proposals, listing, acceptance } = result;
  const { file } = draft;
  const isWritten = acceptance !== undefined;
  if (options.json) {
    const tools = proposals.map(({ name, upstream, says, effect, verb, why, isContradicted }) => ({
      ...{ name, server: upstream, says, effect, rule: verb, why, contradicted: isContradicted },
    }));
    return io.out(
      json({
        file,
        written: isWritten,
        servers: requested.servers.map(({ name }) => name),
        tools,
        refused: listing.refused,
        variables: variablesIn(requested),
        notes: requested.notes,
        descriptions: acceptance?.state ?? 'not accepted',
      }),
    );
  }
  if (!isWritten) {
    for (const line of shownChange(result)) io.out(line);
    return io.err(`Nothing was written to ${file}.`);
  }
  io.out(`Wrote ${file}.`);
  io.out(acceptance.said);
  for (const line of variableLines(io, requested)) io.out(line);
  io.out(await nextStep(result));
}

/** Every variable that the new servers name. */
const variablesIn = ({ servers }: Requested): string[] =>
  [...mentionedIn(servers)].filter((name) => !OWN_VARIABLES.some((own) => own === name));

function variableLines({ environment }: Io, requested: Requested): string[] {
  const taken = Object.keys(requested.variables);
  const unset = variablesIn(requested).filter(
    (name) => taken.includes(name) || ownProperty(environment.variables, name) === undefined,
  );
  if (unset.length === 0) return [];
  return [
    taken.length === 0
      ? 'Set these variables before `npx countersign up`:'
      : 'The file has variables in place of secrets. Set them before `npx countersign up`, to the values that were given:',
    ...unset.map((name) => `  export ${name}=…`),
  ];
}

const CONNECT = `\`${OWN_COMMAND} connect <host>\` connects your MCP host`;

async function nextStep({ draft, config, requested, stack }: Result): Promise<string> {
  if (stack === undefined) return `Next: \`${OWN_COMMAND} up\` starts it, and ${CONNECT}.`;
  const isOwn = [stack.configFile, stack.ownFile].includes(draft.file);
  if (!isOwn)
    return `Countersign runs with ${stack.configFile}. Restart it in this folder, so that it uses ${basename(draft.file)}.`;
  if (Object.keys(requested.variables).length > 0)
    return 'Countersign runs with this file, without the variables above. Restart it with them.';
  return AFTER[await untilTaken(config, stack)];
}

const AFTER: Readonly<Record<Taken, string>> = {
  'in force': `The running Countersign uses it now. Next: ${CONNECT}.`,
  refused: `The running Countersign refuses the file, and goes on as before. \`${OWN_COMMAND} doctor\` says why.`,
  unknown: 'Countersign runs with this file. If its console does not report the change within seconds, restart it.',
};
