import { basename, dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { pino } from 'pino';
import { type Addition, withAdditions } from '../configuration/additions.ts';
import { checkedText, ownFile, replaceFile, textOf } from '../configuration/configuration-file.ts';
import { newConfiguration, USUAL_CHOICES } from '../configuration/new-configuration.ts';
import { CliError, confirm, EXIT, type Io } from '../context.ts';
import { findStack } from '../stack.ts';
import { acceptShown } from './add/acceptance.ts';
import { listServers } from './add/listing.ts';
import { proposalFor, type ToolProposal } from './add/proposal.ts';
import { mentionedIn, type Requested, requestedServers, type ServerOptions } from './add/requested.ts';
import { type Proposal, report, type Result, shownChange, shownTools } from './add/report.ts';
import { bare, type Draft, usable, withoutFailed } from './add/usable.ts';
import { decidesItself } from './lint/policies.ts';

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
      await addServers(io, options, { draft, requested });
    });
}

const isAsked = ({ yes, print, dryRun }: Options) => yes === true || print === true || dryRun === true;

function draftOf(io: Io, command: Command): Draft {
  const file = ownFile(io, command);
  const before = textOf(file);
  const text = before ?? newConfiguration(USUAL_CHOICES);
  return { file, before, text, loaded: checkedText(io, { file, text }) };
}

interface Work {
  readonly draft: Draft;
  readonly requested: Requested;
}

async function addServers(io: Io, options: Options, { draft, requested: wanted }: Work): Promise<void> {
  const { file, text } = draft;
  const isSeveral = wanted.isSeveral;
  // Values that a host file had are used for this connection, and written nowhere.
  const check = (draftText: string) => checkedText(io, { file, text: draftText, variables: wanted.variables });
  const chosen = usable(wanted, draft, { isSeveral, check });
  const names = chosen.servers.map(({ name }) => name);
  const { config } = check(withAdditions(text, chosen.servers.map(bare)));
  if (!options.json) io.err(`Connecting to ${names.join(', ')}. This can take a minute …`);
  const listing = await listServers(config, names, pino({ enabled: false }));
  try {
    const requested = withoutFailed(chosen, listing.failed, isSeveral);
    const proposals = listing.tools.map((tool) => ({ ...proposalFor(tool, options), upstream: tool.upstream }));
    const additions = requested.servers.map((one) => completed(bare(one), proposals, decidesItself(config)));
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
