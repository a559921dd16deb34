import type { Problem } from './problems.ts';

/** Members by which hosts name the transport of a server, and the values that mean one that is spoken here. */
const TRANSPORT_NAMES = ['type', 'transport', 'transportType'] as const;
const TRANSPORTS: ReadonlyMap<string, 'stdio' | 'http'> = new Map([
  ['stdio', 'stdio'],
  ['local', 'stdio'],
  ['http', 'http'],
  ['remote', 'http'],
  ['streamable-http', 'http'],
  ['streamable_http', 'http'],
  ['streamableHttp', 'http'],
]);

/** Members by which hosts name the address of a server. */
const URL_NAMES = ['url', 'serverUrl', 'httpUrl'] as const;

/** Each of these names with this value. */
const each = <T>(names: readonly string[], value: T): [string, T][] => names.map((name) => [name, value]);

/** Settings of hosts that are left aside, with the reason. No such setting restricts access. */
const LEFT_ASIDE: ReadonlyMap<string, string> = new Map([
  ...each(
    ['autoApprove', 'alwaysAllow', 'autoApproveAll', 'trust'],
    'it is left aside: policies say which calls pass (see policies/README.md)',
  ),
  ...each(
    ['timeout', 'initTimeout', 'startupTimeout'],
    'it is left aside: gateway.executionTimeoutSeconds limits a call',
  ),
  ...each(
    ['name', 'displayName', 'description', 'gallery', 'version', 'icon', 'tags', 'dev', 'watchPaths'],
    'it is left aside: it has no effect outside the host',
  ),
]);

const HIDES_TOOLS =
  'the host hid tools by it, and all would be offered here. Remove it, and let policies permit only what is to be used';
/** Lists of what may be used: they hide nothing where a star stands for all. */
const SHOWN_TOOLS = ['tools', 'includeTools', 'allowedTools', 'enabledTools', 'toolFilter'];

/** Settings of hosts that may not be left aside, with what to do. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...each([...SHOWN_TOOLS, 'disabledTools', 'excludeTools'], HIDES_TOOLS),
  ...each(
    ['sandbox', 'sandboxEnabled'],
    'the host confined the program by it, and it would run free here. Remove it, and confine the program by its command',
  ),
  ...each(
    ['oauth', 'headersHelper', 'authProviderType', 'authorization_token'],
    'the host signed in by it. Remove it, and use auth or headers',
  ),
  ...each(['envFile'], 'the host read variables from it. Remove it, and name each in env, as NAME: ${NAME}'),
]);

/** Why a setting of hosts cannot be left aside. `undefined`: it is none that is known here. */
const refusalOf = (name: string): string | undefined => REFUSED.get(name);

/** Whether a setting that cannot be left aside asks for nothing with this value. */
function isInert(name: string, value: unknown): boolean {
  if (value === null || value === false) return true;
  if (!Array.isArray(value)) return false;
  return SHOWN_TOOLS.includes(name) ? value.includes('*') : value.length === 0;
}

type Members = Readonly<Record<string, unknown>>;

/** A configuration in which upstreams are written as we write them. */
interface FromHost {
  readonly value: unknown;
  /** What the host did by itself and we do not. Leaving such a setting aside would open more than the host did, or start a program without what it needs. */
  readonly problems: readonly Problem[];
  /** What is left aside, and what is switched off. */
  readonly notes: readonly Problem[];
}

/** Where a server is written, and what is found there. */
interface Place {
  readonly path: readonly PropertyKey[];
  readonly problems: Problem[];
  readonly notes: Problem[];
}

/**
 * Reads upstreams as MCP hosts write them: `mcpServers` of Claude Desktop, Claude Code, Cursor, Cline, Roo Code, Windsurf and Gemini
 * CLI, and `servers` of VS Code. It only renames and leaves aside: what comes of it is checked like anything else. Variables
 * are not expanded yet, so those of an upstream that is switched off need not be set.
 */
export function fromHost(raw: unknown): FromHost {
  const found = { problems: [] as Problem[], notes: [] as Problem[] };
  if (!isMembers(raw)) return { value: raw, ...found };
  const { servers, inputs, ...own } = raw;
  const isOfVsCode = isMembers(servers) && !('mcpServers' in raw);
  const written = isOfVsCode ? servers : raw['mcpServers'];
  if (!isMembers(written)) return { value: raw, ...found };
  const read = Object.entries(written).flatMap(([name, server]) => {
    if (!isMembers(server)) return [[name, server] as const];
    const path = [isOfVsCode ? 'servers' : 'mcpServers', name];
    const upstream = readServer(server, { path, ...found });
    return upstream === undefined ? [] : [[name, upstream] as const];
  });
  // `inputs` are the questions of VS Code; a reference to one is a problem.
  const rest = isOfVsCode ? own : { ...own, ...('servers' in raw && { servers }), ...('inputs' in raw && { inputs }) };
  return { value: { ...rest, mcpServers: Object.fromEntries(read) }, ...found };
}

/** `undefined` for one that the host has switched off. */
function readServer(server: Members, place: Place): Members | undefined {
  const switches = { disabled: true, enabled: false, isActive: false };
  if (Object.entries(switches).some(([name, off]) => server[name] === off)) {
    place.notes.push({
      path: place.path,
      message: 'it is switched off, so it is not started and its tools are not offered',
    });
    return undefined;
  }
  const known = Object.entries(server).flatMap(([name, value]) => {
    // One that says what holds anyway; any other value is no such setting.
    if (Object.hasOwn(switches, name) && typeof value === 'boolean') return [];
    if (LEFT_ASIDE.has(name)) return leaveAside(name, place);
    const refusal = refusalOf(name);
    if (refusal !== undefined) return isInert(name, value) ? [] : refuse(name, refusal, place);
    return [[name, name === 'env' ? asTexts(value) : value] as const];
  });
  const upstream = withOneUrl(withoutTransport(Object.fromEntries(known), place), place);
  refuseHostVariables(upstream, place);
  return upstream;
}

function leaveAside(name: string, { path, notes }: Place): [] {
  notes.push({ path: [...path, name], message: LEFT_ASIDE.get(name) ?? '' });
  return [];
}

function refuse(name: string, message: string, { path, problems }: Place): [] {
  problems.push({ path: [...path, name], message });
  return [];
}

/** `command` or `url` say which transport it is, and its name has to agree with them. */
function withoutTransport(server: Members, place: Place): Members {
  const named = TRANSPORT_NAMES.filter((name) => server[name] !== undefined);
  for (const name of named) {
    const message = transportProblem(server[name], server);
    if (message !== undefined) refuse(name, message, place);
  }
  return Object.fromEntries(Object.entries(server).filter(([name]) => !named.some((one) => one === name)));
}

function transportProblem(said: unknown, server: Members): string | undefined {
  const kind = typeof said === 'string' ? TRANSPORTS.get(said) : undefined;
  if (kind === undefined)
    return 'only stdio and streamable-http are spoken; give the address of the streamable HTTP endpoint, if there is one';
  if (kind === 'stdio') return 'command' in server ? undefined : 'a program needs command';
  return URL_NAMES.some((name) => name in server) ? undefined : 'a server that is reached over HTTP needs url';
}

function withOneUrl({ url, serverUrl, httpUrl, ...rest }: Members, place: Place): Members {
  const given = [...new Set([url, serverUrl, httpUrl].filter((one) => one !== undefined))];
  if (given.length > 1) refuse('url', 'it has several addresses; keep the one of the streamable HTTP endpoint', place);
  return given.length === 0 ? rest : { ...rest, url: given[0] };
}

/** Variables of programs are texts; hosts take numbers and switches as well, and null for none. */
function asTexts(env: unknown): unknown {
  if (!isMembers(env)) return env;
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (value === null) return [];
      return [[name, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value]];
    }),
  );
}

/** `${input:token}`, `${command:name}` and the like are filled in by the host. `${env:NAME}` and `${NAME:-default}` are read here, too. */
const HOST_VARIABLE = /\$\{(?!env:)([a-zA-Z]+):(?!-)[^}]*\}/;

function refuseHostVariables(node: unknown, place: Place): void {
  if (typeof node === 'string') {
    const [, kind] = HOST_VARIABLE.exec(node) ?? [];
    if (kind === undefined) return;
    const message = `only the host can fill in \${${kind}:…}. Use \${NAME}, which is a variable of the environment`;
    place.problems.push({ path: place.path, message });
  } else if (typeof node === 'object' && node !== null)
    for (const [name, value] of Object.entries(node))
      refuseHostVariables(value, { ...place, path: [...place.path, Array.isArray(node) ? Number(name) : name] });
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
