import type { SettingProblem } from './problems.ts';

/** Members by which hosts name the transport of a server, and their values for the transports that Countersign supports. */
const TRANSPORT_NAMES: readonly string[] = ['type', 'transport', 'transportType'];
const TRANSPORTS = {
  stdio: ['stdio', 'local'],
  http: ['http', 'remote', 'streamable-http', 'streamable_http', 'streamableHttp'],
} as const;

const each = <T>(names: readonly string[], value: T): [string, T][] => names.map((name) => [name, value]);

/** Settings of hosts that are ignored, with the reason. No such setting restricts access. */
const IGNORED: ReadonlyMap<string, string> = new Map([
  ...each(
    ['autoApprove', 'alwaysAllow', 'autoApproveAll', 'trust'],
    'it is ignored: policies decide which calls pass (see policies/README.md)',
  ),
  ...each(['timeout', 'initTimeout', 'startupTimeout'], 'it is ignored: gateway.executionTimeoutSeconds limits a call'),
  ...each(
    ['name', 'displayName', 'description', 'gallery', 'version', 'icon', 'tags', 'dev', 'watchPaths'],
    'it is ignored: it has no effect outside the host',
  ),
]);

/** Allow-lists of tools. A list with a star hides no tool. */
const SHOWN_TOOLS = ['tools', 'includeTools', 'allowedTools', 'enabledTools', 'toolFilter'];

/**
 * Settings of hosts that Countersign cannot honor, with the next step. Ignoring such a setting would allow more than the host did, or
 * start a program without its needs.
 */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...each(
    [...SHOWN_TOOLS, 'disabledTools', 'excludeTools'],
    'the host hides tools by it, and Countersign would offer all. Remove it, and let policies permit only the tools to use',
  ),
  ...each(
    ['sandbox', 'sandboxEnabled'],
    'the host confines the program by it, and Countersign would not. Remove it, and confine the program by its command',
  ),
  ...each(
    ['oauth', 'headersHelper', 'authProviderType', 'authorization_token'],
    'the host signs in by it. Remove it, and use auth or headers',
  ),
  ...each(['envFile'], 'the host reads variables from it. Remove it, and name each variable in env, as NAME: ${NAME}'),
]);

/** Whether a setting of `REFUSED` has no effect with this value. */
function isInert(name: string, value: unknown): boolean {
  if (value === null || value === false) return true;
  if (!Array.isArray(value)) return false;
  return SHOWN_TOOLS.includes(name) ? value.includes('*') : value.length === 0;
}

type Members = Readonly<Record<string, unknown>>;

interface Findings {
  /** Settings that Countersign cannot honor. */
  readonly problems: SettingProblem[];
  /** Settings that are ignored, and servers that are switched off. */
  readonly notes: SettingProblem[];
}

/** The position in the configuration, and the findings so far. */
interface Reading extends Findings {
  readonly path: readonly PropertyKey[];
}

/**
 * Reads upstreams as MCP hosts write them: `mcpServers` of Claude Desktop, Claude Code, Cursor, Cline, Roo Code, Windsurf and Gemini
 * CLI, and `servers` of VS Code. It only renames and removes members; the result is validated like any other configuration. Variables
 * are not expanded yet, so those of an upstream that is switched off can be missing.
 */
export function fromHost(raw: unknown): Findings & { readonly value: unknown } {
  const found: Findings = { problems: [], notes: [] };
  if (!isMembers(raw)) return { value: raw, ...found };
  const { servers, inputs, ...own } = raw;
  const isOfVsCode = isMembers(servers) && !('mcpServers' in raw);
  const written = isOfVsCode ? servers : raw['mcpServers'];
  if (!isMembers(written)) return { value: raw, ...found };
  const read = Object.entries(written).flatMap(([name, server]) => {
    if (!isMembers(server)) return [[name, server] as const];
    const upstream = readServer(server, { path: [isOfVsCode ? 'servers' : 'mcpServers', name], ...found });
    return upstream === undefined ? [] : [[name, upstream] as const];
  });
  // VS Code asks its user for `inputs`. A reference to an input is a problem, the list itself is not.
  const rest = isOfVsCode ? own : { ...own, ...('servers' in raw && { servers }), ...('inputs' in raw && { inputs }) };
  return { value: { ...rest, mcpServers: Object.fromEntries(read) }, ...found };
}

/** Returns `undefined` for a server that the host has switched off. */
function readServer(server: Members, reading: Reading): Members | undefined {
  const { path, notes } = reading;
  const switches = { disabled: true, enabled: false, isActive: false };
  if (Object.entries(switches).some(([name, off]) => server[name] === off)) {
    notes.push({ path, message: 'it is switched off, so it is not started and its tools are not offered' });
    return undefined;
  }
  const known = Object.entries(server).flatMap(([name, value]) => {
    // The switch has its default value. Any other value fails the validation as an unknown setting.
    if (Object.hasOwn(switches, name) && typeof value === 'boolean') return [];
    const [ignored, refused] = [IGNORED.get(name), REFUSED.get(name)];
    if (ignored !== undefined) notes.push({ path: [...path, name], message: ignored });
    else if (refused === undefined) return [[name, name === 'env' ? withoutNulls(value) : value] as const];
    else if (!isInert(name, value)) refuse(name, refused, reading);
    return [];
  });
  const upstream = withOneUrl(withoutTransport(Object.fromEntries(known), reading), reading);
  refuseHostVariables(upstream, reading);
  return upstream;
}

const refuse = (name: string, message: string, { path, problems }: Reading) =>
  problems.push({ path: [...path, name], message });

/** Removes the name of the transport, which `command` or `url` determines. The name must agree with them. */
function withoutTransport(server: Members, reading: Reading): Members {
  const isTransport = (name: string) => TRANSPORT_NAMES.includes(name) && server[name] !== undefined;
  for (const name of Object.keys(server).filter(isTransport)) {
    const message = transportProblem(server[name], server);
    if (message !== undefined) refuse(name, message, reading);
  }
  return Object.fromEntries(Object.entries(server).filter(([name]) => !isTransport(name)));
}

function transportProblem(named: unknown, server: Members): string | undefined {
  const means = (names: readonly string[]) => names.some((name) => name === named);
  if (means(TRANSPORTS.stdio)) return 'command' in server ? undefined : 'a program needs command';
  if (!means(TRANSPORTS.http))
    return 'Countersign supports only stdio and streamable-http; give the streamable HTTP endpoint, if there is one';
  const hasUrl = ['url', 'serverUrl', 'httpUrl'].some((name) => name in server);
  return hasUrl ? undefined : 'a server that is reached over HTTP needs url';
}

function withOneUrl({ url, serverUrl, httpUrl, ...rest }: Members, reading: Reading): Members {
  const given = [...new Set([url, serverUrl, httpUrl].filter((one) => one !== undefined))];
  if (given.length > 1)
    refuse('url', 'it has several addresses; keep the one of the streamable HTTP endpoint', reading);
  return given.length === 0 ? rest : { ...rest, url: given[0] };
}

/** A variable that is null is absent, as in hosts. Other values that are no texts became texts when the file was read. */
const withoutNulls = (env: unknown): unknown =>
  isMembers(env) ? Object.fromEntries(Object.entries(env).filter(([, value]) => value !== null)) : env;

/** Hosts expand `${input:token}`, `${command:name}` and the like. Countersign expands `${env:NAME}` and `${NAME:-default}` itself. */
const HOST_VARIABLE = /\$\{(?!env:)([a-zA-Z]+):(?!-)[^}]*\}/;

function refuseHostVariables(node: unknown, { path, ...found }: Reading): void {
  if (typeof node === 'string') {
    const [, kind] = HOST_VARIABLE.exec(node) ?? [];
    if (kind === undefined) return;
    const message = `only the host can expand \${${kind}:…}. Use \${NAME}, which is a variable of the environment`;
    found.problems.push({ path, message });
  } else if (typeof node === 'object' && node !== null)
    for (const [name, value] of Object.entries(node))
      refuseHostVariables(value, { ...found, path: [...path, Array.isArray(node) ? Number(name) : name] });
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
