import { spawn } from 'node:child_process';
import { Console } from 'node:console';
import { once } from 'node:events';
import { release } from 'node:os';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { isLoopbackHttp } from '../../shared/http/known-hosts.ts';
import { type Limits, limitsOf } from '../../shared/limits.ts';
import { CliError, EXIT, type Io, readConfig } from '../context.ts';
import { Access, type Helper } from '../stdio/access.ts';
import { issuerFetch } from '../stdio/issuer-fetch.ts';
import { relay } from '../stdio/relay.ts';
import { signIn } from '../stdio/sign-in.ts';
import { signOut } from '../stdio/sign-out.ts';
import { TokenFile, tokenName } from '../stdio/token-file.ts';
import { Upstream } from '../stdio/upstream.ts';
import { OWN_COMMAND } from '../own-command.ts';

interface Options {
  readonly url?: string;
  readonly clientId?: string;
  readonly port?: number;
  readonly scope?: string;
  readonly replacing?: string;
  readonly signIn?: boolean;
  readonly signOut?: boolean;
  readonly browser: boolean;
}

const AFTER_HELP = `
A host starts \`countersign stdio\` and writes messages to it. The first one that needs a sign-in opens a browser. You can sign in before:

  countersign stdio --sign-in                   opens a browser
  countersign stdio --sign-in --no-browser      prints the address, for a machine without a browser
  countersign stdio --sign-out                  ends the sign-in

Environment:
  COUNTERSIGN_CLIENT_ID      as --client-id
  COUNTERSIGN_CLIENT_SECRET  secret of that client, if it has one
  COUNTERSIGN_TOKEN          access token, in place of a sign-in
  COUNTERSIGN_HOME           folder of the tokens (default: ~/.countersign)`;

/** `stdio`: an MCP server for hosts that only launch programs. It signs a person in, and passes every message on. */
export function stdioCommand(io: Io): Command {
  return new Command('stdio')
    .description('serve a host that only launches programs: sign in, and pass its messages on')
    .option('--url <address>', 'address of the MCP endpoint (default: as the configuration says)')
    .option('--client-id <id>', 'client that your issuer knows (default: this program registers itself)')
    .option('--port <number>', 'port of this machine to which the issuer sends the browser back', portIn)
    .addOption(new Option('--scope <scopes>', 'scopes to ask for').hideHelp())
    .addOption(new Option('--replacing <name>', 'sign in only if the file still has the token of this name').hideHelp())
    .option('--sign-in', 'sign in, and end')
    .addOption(new Option('--sign-out', 'end the sign-in, and delete its tokens').conflicts('signIn'))
    .option('--no-browser', 'print the address of the sign-in, in place of opening a browser')
    .addHelpText('after', AFTER_HELP)
    .action(async (options: Options, command: Command) => {
      const setting = settingOf(io, options, command);
      if (options.signOut === true) return io.out(await signOut(setting.file, setting));
      if (options.signIn === true) return signInHere(io, options, setting);
      await serveHost(io, setting);
    });
}

type Setting = ReturnType<typeof settingOf>;

function settingOf(io: Io, options: Options, command: Command) {
  const { variables } = io.environment;
  const { url, limits } = endpointOf(io, options, command);
  const clientId = options.clientId ?? variables['COUNTERSIGN_CLIENT_ID'];
  const secret = variables['COUNTERSIGN_CLIENT_SECRET'];
  // Also what only the variables of a host say: a terminal has other ones.
  const named = Object.entries({ '--url': url, '--client-id': clientId, '--port': options.port }).flatMap(
    ([name, value]) => (value === undefined ? [] : [name, value]),
  );
  return {
    url,
    limits,
    client: clientId === undefined ? undefined : { client_id: clientId, client_secret: secret },
    file: new TokenFile(url, variables, clientId),
    /** For a person to run. */
    command: [OWN_COMMAND, 'stdio --sign-in', ...named].join(' '),
    fetch: issuerFetch(limits, systemClock),
  };
}

function endpointOf(io: Io, { url: named }: Options, command: Command): { url: string; limits: Limits } {
  const { urls, timeLimitFactor } = named === undefined ? readConfig(io, command).config : { timeLimitFactor: 1 };
  const url = named ?? urls?.mcp ?? '';
  const usage = (message: string) => new CliError(message, { exitCode: EXIT.usage });
  if (!URL.canParse(url)) throw usage('--url takes an address, such as http://127.0.0.1:4100/mcp');
  const { protocol, username, password } = new URL(url);
  if (username !== '' || password !== '') throw usage('the address has a user name; sign in with a browser instead');
  if (protocol === 'https:' || isLoopbackHttp(new URL(url))) return { url, limits: limitsOf({ timeLimitFactor }) };
  throw usage(`${url} is not protected by TLS, so others could read the token; give an address that begins with https`);
}

function portIn(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new InvalidArgumentError('It is a number from 1 to 65535.');
}

/** Signs in with a browser. At a terminal, the person can also paste the address of the last page. */
async function signInHere(
  io: Io,
  { scope, port, browser, replacing }: Options,
  { url, file, client, limits, fetch, command }: Setting,
): Promise<void> {
  const hasBrowser = browser && canOpenBrowser(io);
  if (browser && !hasBrowser && io.ask === undefined) {
    throw new CliError(
      `No browser can be opened from here. Sign in first, in a terminal: ${command}. Without a terminal, add --no-browser`,
    );
  }
  const open = async (address: string) => void (await (await import('open')).default(address));
  const say = (line: string) => io.err(line);
  const deps = { url, file, client, scope, port, ask: io.ask, say, command, fetch, clock: systemClock, limits };
  await file.signInAlone(async () => {
    // Several relays can start a sign-in at the same moment. The first one may be over before this process has begun.
    const present = file.read()?.tokens?.access_token;
    if (replacing !== undefined && present !== undefined && tokenName(present) !== replacing) return;
    await signIn({ ...deps, open: hasBrowser ? open : undefined });
  });
}

/** On Linux, a program without a display opens windows nowhere. Hosts often start programs without it. */
function canOpenBrowser({ environment: { variables } }: Io): boolean {
  if (process.platform !== 'linux' || release().toLowerCase().includes('microsoft')) return true;
  return ['DISPLAY', 'WAYLAND_DISPLAY', 'BROWSER'].some((name) => variables[name] !== undefined);
}

/** Serves the host on stdin and stdout until it closes stdin, or until a signal. */
async function serveHost(io: Io, { url, file, limits, fetch, command }: Setting): Promise<void> {
  // Other code must not write between the messages.
  globalThis.console = new Console(process.stderr);
  // A file that others can read is an error now, and not only at the first message.
  if (io.environment.variables['COUNTERSIGN_TOKEN'] === undefined) file.read();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  if (io.ask !== undefined) io.err(`Waiting for messages of a host on stdin. To sign in only, run: ${command}`);
  const access = new Access({
    file,
    given: io.environment.variables['COUNTERSIGN_TOKEN'],
    startSignIn,
    ...{ command, fetch, clock: systemClock, limits },
  });
  await relay({
    ...{ input: process.stdin, output: process.stdout, clock: systemClock, limits, signal: stop.signal },
    upstream: new Upstream({ url, access, clock: systemClock, limits }),
    log: (line) => io.err(line),
  });
}

/**
 * Signs in by a process of its own with the same options. Hosts end a server that does not answer at once, and the person is still at the
 * pages of the issuer.
 */
function startSignIn(scope: string | undefined, replaced: string | undefined): Helper {
  const further = [...(scope === undefined ? [] : ['--scope', scope]), '--replacing', tokenName(replaced)];
  const args = [...process.argv.slice(1), '--sign-in', ...further];
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  child.unref();
  const ended = Promise.all([once(child, 'exit'), text(child.stderr)]).then(
    ([[code], said]) => (code === 0 ? undefined : (said.trim().split('\n').at(-1) ?? '').replace(/^countersign: /, '')),
    () => 'The sign-in could not be started.',
  );
  return { ended };
}
