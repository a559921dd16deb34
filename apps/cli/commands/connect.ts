import { copyFileSync, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { objectOf, valueAt } from '../../../workflows/domain/canonical-json.ts';
import { systemClock } from '../../shared/clock.ts';
import { packagePath } from '../../shared/config/files.ts';
import { demandInside, replaceFile, textOf } from '../configuration/configuration-file.ts';
import { CliError, confirm, EXIT, type Io, json, readConfig, table } from '../context.ts';
import { contentOf, type Placed, snippet, withServer } from './connect/host-text.ts';
import { type Address, type Host, HOSTS, launched, type Places, SERVER_NAME } from './connect/hosts.ts';

interface Options {
  readonly project?: boolean;
  readonly print?: boolean;
  readonly stdio?: boolean;
  readonly url?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const NAMES = HOSTS.map(({ name }) => name);

const AFTER_HELP = `
Hosts: ${NAMES.join(', ')}

Examples:
  countersign connect                       lists the hosts and their files
  countersign connect claude-code           shows the entry, asks, and writes it
  countersign connect vscode --project      writes .vscode/mcp.json of this folder
  countersign connect codex --print         prints the entry, and writes nothing
  countersign connect --print               prints an entry that most other hosts understand
  countersign connect --print --stdio       prints one for hosts that only launch programs

No token is written. The host opens a browser, and you sign in there.`;

/** `connect`: puts Countersign into the file of an MCP host. All else in the file stays, and a copy of it is kept. */
export function connectCommand(io: Io): Command {
  return new Command('connect')
    .description('connect an MCP host to Countersign, by an entry in its file')
    .argument('[host]', `name of the host. Without it, the hosts are listed`)
    .option('--project', 'write the file of this folder, in place of the file of your user')
    .option('--print', 'print the entry, and write nothing')
    .option('--stdio', 'with --print and no host: the entry of a host that only launches programs')
    .option('--url <address>', 'address of the MCP endpoint (default: as the configuration says)')
    .option('--yes', 'write without a question')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async (name: string | undefined, options: Options, command: Command) => {
      const places = placesOf(io);
      if (options.stdio === true && (options.print !== true || name !== undefined))
        throw new CliError(ONLY_PRINTED, { exitCode: EXIT.usage });
      if (name === undefined && options.print !== true) return list(io, options, places);
      const host = name === undefined ? anyHost(options) : hostCalled(name);
      const address = addressOf(io, options, command);
      const file = fileOf(host, { options, places, cwd: io.cwd });
      if (options.project === true && options.print !== true) demandInside(file, io.cwd);
      const before = textOf(file);
      const content = options.print === true && name === undefined ? {} : contentOf(host.format, before ?? '', file);
      const path = [...host.path(content), SERVER_NAME];
      const placed = { path, entry: host.entry(address, content) };
      await connect(io, options, { host, file, before, content, placed });
    });
}

const ONLY_PRINTED =
  '--stdio goes with --print and without a host: `npx countersign connect --print --stdio`; the entry of a known host has what the host needs';

/** What most hosts understand. */
const anyHost = ({ stdio }: Options): Host => ({
  ...{
    name: 'any',
    label: 'Other hosts',
    format: 'json',
    check: 'Restart the host. It opens a browser, and you sign in there.',
  },
  files: () => [''],
  path: () => ['mcpServers'],
  entry: stdio === true ? launched : ({ url }) => ({ type: 'http', url }),
});

function hostCalled(name: string): Host {
  const host = HOSTS.find((one) => one.name === name);
  if (host !== undefined) return host;
  const known = `known are ${NAMES.join(', ')}; for another host use \`countersign connect --print\``;
  throw new CliError(`there is no host called ${name}; ${known}`, { exitCode: EXIT.usage });
}

const placesOf = ({ environment }: Io): Places => ({
  home: environment.variables['HOME'] ?? environment.variables['USERPROFILE'] ?? homedir(),
  platform: process.platform,
  variables: environment.variables,
});

function addressOf(io: Io, { url: named }: Options, command: Command): Address {
  if (named !== undefined && !URL.canParse(named))
    throw new CliError('--url takes an address, such as http://127.0.0.1:4100/mcp', { exitCode: EXIT.usage });
  const url = named ?? readConfig(io, command).config.urls.mcp;
  const { variables } = io.environment;
  const passed = PASSED_ON.flatMap((name) => (variables[name] === undefined ? [] : [[name, variables[name]]]));
  // By its path: hosts with a window often lack the PATH of a terminal, and a name may lead to the package of a stranger.
  const args = [packagePath('apps', 'cli', 'countersign.mjs'), 'stdio', '--url', url];
  const env = passed.length > 0 && { env: Object.fromEntries(passed) as Record<string, string> };
  return { url, program: { command: process.execPath, args, ...env } };
}

/** Variables that change how `stdio` signs in, and hold no secret. Hosts start programs with few variables. */
const PASSED_ON = ['COUNTERSIGN_HOME', 'COUNTERSIGN_CLIENT_ID', 'NODE_EXTRA_CA_CERTS'];

function fileOf(host: Host, { options, places, cwd }: { options: Options; places: Places; cwd: string }): string {
  if (options.project !== true) return existing(host.files(places));
  if (host.projectFiles !== undefined) return existing(host.projectFiles.map((file) => join(cwd, file)));
  throw new CliError(`${host.label} has no file for one folder; leave out --project`, { exitCode: EXIT.usage });
}

/** The first that exists, else the first. */
const existing = (files: readonly string[]): string => files.find((file) => existsSync(file)) ?? files[0] ?? '';

function list(io: Io, { json: asJson }: Options, places: Places): void {
  const hosts = HOSTS.map((host) => {
    const file = existing(host.files(places));
    return { host: host.name, name: host.label, file, exists: existsSync(file), project: host.projectFiles?.[0] };
  });
  if (asJson) return io.out(json({ hosts }));
  const rows = hosts.map(({ host, file, exists, project }) => [host, file, exists ? 'yes' : 'no', project ?? '-']);
  io.out(table(['HOST', 'FILE', 'EXISTS', 'WITH --project'], rows));
  io.out('Connect one with `npx countersign connect <host>`. For another host: `npx countersign connect --print`');
}

interface Connection {
  readonly host: Host;
  readonly file: string;
  readonly before: string | undefined;
  readonly content: Readonly<Record<string, unknown>>;
  readonly placed: Placed;
}

async function connect(io: Io, options: Options, connection: Connection): Promise<void> {
  const { host, file, before, content, placed } = connection;
  const text = snippet(host.format, placed);
  const told = { host: host.name, file, path: placed.path, entry: placed.entry, check: host.check };
  if (options.print) {
    if (options.json) return io.out(json({ ...told, written: false }));
    io.out(text);
    return io.err(`This goes into ${file === '' ? 'the file of your host' : file}. ${host.check}`);
  }
  const known = valueAt(objectOf(content), placed.path);
  if (isDeepStrictEqual(known, placed.entry)) {
    if (options.json) return io.out(json({ ...told, written: false }));
    return io.out(`${host.label} is connected already, by ${file}. ${host.check}`);
  }
  const after = withServer(host.format, before ?? '', { file, ...placed });
  if (!options.yes) {
    const change = known === undefined ? 'gets this entry' : 'gets this entry in place of the one that it has';
    const shown = [`${file} ${change}:`, '', ...text.split('\n')];
    await confirm(io, { shown, question: `Connect ${host.label}?`, otherwise: 'nothing was written' });
  }
  const backup = before === undefined ? undefined : keepCopy(file);
  replaceFile(file, after, before);
  if (options.json) return io.out(json({ ...told, written: true, backup }));
  io.out(`Wrote ${file}.${backup === undefined ? '' : ` A copy of it as it was: ${backup}`}`);
  io.out(host.check);
}

/** The copy has the mode of the file, since both may hold secrets. */
function keepCopy(file: string): string {
  const moment = new Date(systemClock.now()).toISOString().replaceAll(/[:.]/g, '-');
  const copy = `${file}.${moment}.bak`;
  copyFileSync(file, copy);
  return copy;
}
