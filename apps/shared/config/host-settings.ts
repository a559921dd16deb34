/** Members by which hosts name the transport of a server, and the values that mean one that is spoken here. */
export const TRANSPORT_NAMES = ['type', 'transport', 'transportType'] as const;
export const TRANSPORTS: ReadonlyMap<string, 'stdio' | 'http'> = new Map([
  ['stdio', 'stdio'],
  ['local', 'stdio'],
  ['http', 'http'],
  ['remote', 'http'],
  ['streamable-http', 'http'],
  ['streamable_http', 'http'],
  ['streamableHttp', 'http'],
]);

/** Members by which hosts name the address of a server. */
export const URL_NAMES = ['url', 'serverUrl', 'httpUrl'] as const;

/** Each of these names with this value. */
const each = <T>(names: readonly string[], value: T): [string, T][] => names.map((name) => [name, value]);

/** Settings of hosts that are left aside, with the reason. No such setting restricts access. */
export const LEFT_ASIDE: ReadonlyMap<string, string> = new Map([
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
export const refusalOf = (name: string): string | undefined => REFUSED.get(name);

/** Whether a setting that cannot be left aside asks for nothing with this value. */
export function isInert(name: string, value: unknown): boolean {
  if (value === null || value === false) return true;
  if (!Array.isArray(value)) return false;
  return SHOWN_TOOLS.includes(name) ? value.includes('*') : value.length === 0;
}
