import { isAbsolute, relative, resolve, sep } from 'node:path';
import { CliError, EXIT } from '../../context.ts';
import { serversOfHost } from './host-file.ts';
import { SecretVariables, type ServerEntry } from './secrets.ts';

export interface ServerOptions {
  readonly url?: string;
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  readonly header: readonly string[];
  readonly env: readonly string[];
  readonly workDir?: string;
  readonly prefix?: string;
  readonly from?: string;
}

/** What a command line asks to add. */
export interface Requested {
  readonly servers: readonly { readonly name: string; readonly server: ServerEntry }[];
  /** Values that were taken out of the servers, by the variables that name them now. Never print them. */
  readonly variables: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  /** Whether all servers of a file are wanted, so that one of them can be left out. */
  readonly isSeveral: boolean;
}

interface Asked {
  readonly name: string | undefined;
  readonly command: readonly string[];
  readonly options: ServerOptions;
  readonly cwd: string;
  /** Address of our own MCP endpoint. A host's connection to it is no server to add. */
  readonly ownUrl: string;
  /** Variables of the environment, and the names of those that the configuration mentions. */
  readonly variables: Readonly<Record<string, string>>;
  readonly mentioned: ReadonlySet<string>;
  /** The state folder, which no server should reach. */
  readonly stateDir: string;
}

const usage = (message: string) => new CliError(message, { exitCode: EXIT.usage });

/** The servers that a command line names, without secrets. Throws a `CliError` if it does not name exactly one source. */
export function requestedServers(asked: Asked): Requested {
  const { servers, notes, ...requested } = serversAsked(asked);
  return { ...requested, servers, notes: [...notes, ...servers.flatMap((one) => withinReach(one, asked))] };
}

/** A server of files that gets a folder around the state folder: an agent could read the keys of Countersign there. */
function withinReach({ name, server }: Requested['servers'][number], { cwd, stateDir }: Asked): string[] {
  const { args, cwd: workDir } = server;
  const base = resolve(cwd, typeof workDir === 'string' ? workDir : '.');
  const given = Array.isArray(args) ? args.filter((one) => typeof one === 'string' && one !== '') : [];
  const around = given.find((one: string) => {
    const way = relative(resolve(base, one), stateDir);
    return way.split(sep)[0] !== '..' && !isAbsolute(way);
  }) as string | undefined;
  if (around === undefined) return [];
  return [
    `${name} gets the folder ${around}, which contains ${stateDir} with the keys of Countersign; name another one`,
  ];
}

function serversAsked(asked: Asked): Requested {
  const { name, command, options, cwd, ownUrl } = asked;
  const sources = [options.url, options.from, command[0]].filter((one) => one !== undefined);
  if (sources.length !== 1)
    throw usage('name one source: --url <address>, --from <file of an MCP host>, or a command after --');
  if (options.from === undefined) {
    if (name === undefined) throw usage('name the server first, as in `countersign add files -- npx …`');
    return cleaned(
      [{ name, server: command[0] === undefined ? ofAddress(options, cwd) : ofProgram(command, options) }],
      [],
      asked,
    );
  }
  if ([options.url, options.tokenEnv, options.tokenFile, options.workDir].some((one) => one !== undefined))
    throw usage('--from takes everything from the file; leave out the other options, or leave out --from');
  const found = serversOfHost(resolve(cwd, options.from), { wanted: name, ownUrl });
  if (found.servers.length === 0)
    throw new CliError([...found.notes, `${options.from} has no server to add`].join('\n'));
  return cleaned(found.servers, found.notes, asked);
}

function cleaned(found: Requested['servers'], notes: readonly string[], asked: Asked): Requested {
  const { name: wanted, options, variables, mentioned } = asked;
  const needed = [...mentionedIn(found, /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g)];
  const secrets = new SecretVariables({ environment: variables, mentioned: new Set([...mentioned, ...needed]) });
  const servers = found.map(({ name, server }) => ({ name, server: secrets.without(name, server) }));
  return { servers, variables: secrets.values, notes, isSeveral: options.from !== undefined && wanted === undefined };
}

const MENTION = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)[}:]/g;

/** Every variable that values mention. */
export function mentionedIn(values: unknown, mention = MENTION): Set<string> {
  const found = JSON.stringify(values).matchAll(mention);
  return new Set([...found].map(([, name = '']) => name));
}

function ofAddress(
  { url, tokenEnv, tokenFile, header, env, workDir, prefix }: ServerOptions,
  cwd: string,
): ServerEntry {
  if (env.length > 0 || workDir !== undefined)
    throw usage('--env and --work-dir are for a command; use --header with --url');
  if (tokenEnv !== undefined && tokenFile !== undefined) throw usage('use --token-env or --token-file, not both');
  if (tokenEnv !== undefined && !VARIABLE.test(tokenEnv))
    throw usage('--token-env takes the name of a variable, not the token itself');
  const bearer =
    tokenEnv === undefined
      ? tokenFile && { file: resolve(cwd, tokenFile), scheme: 'Bearer' }
      : `Bearer \${${tokenEnv}}`;
  const headers = { ...Object.fromEntries(header.map(headerOf)), ...(bearer && { Authorization: bearer }) };
  return {
    ...(prefix !== undefined && { prefix }),
    url,
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

function ofProgram([command, ...args]: readonly string[], options: ServerOptions): ServerEntry {
  const { tokenEnv, tokenFile, header, env, workDir, prefix } = options;
  if (tokenEnv !== undefined || tokenFile !== undefined || header.length > 0)
    throw usage('--token-env, --token-file and --header are for --url; use --env with a command');
  return {
    ...(prefix !== undefined && { prefix }),
    command,
    ...(args.length > 0 && { args }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map(variableOf)) }),
    ...(workDir !== undefined && { cwd: workDir }),
  };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

function headerOf(given: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.+)$/.exec(given) ?? [];
  if (name === undefined || value === undefined) throw usage("--header takes 'Name: value', as in 'X-Key: ${KEY}'");
  return [name, value];
}

/** `NAME` takes the variable of this name from the environment. `NAME=value` has its value. */
function variableOf(given: string): [string, string] {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(given) ?? [];
  if (name === undefined) throw usage('--env takes the name of a variable, or NAME=value');
  return [name, value ?? `\${${name}}`];
}
