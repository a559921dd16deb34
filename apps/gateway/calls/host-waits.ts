import type { Config } from '../../shared/config/config.ts';

/**
 * How long a call waits for each host, in seconds: a little less than the host waits for an answer. Claude Code gives up after five
 * minutes without a word, Claude Desktop after four, Codex after one (`tool_timeout_sec`), and the official Java SDK after 20 seconds
 * (`requestTimeout`). The names are those of their clients: `claude-code`, `claude-ai` for Claude Desktop, `codex-mcp-client`, and the name
 * that the Java SDK sends if its program sets none.
 */
const HOST_WAITS: Readonly<Record<string, number>> = {
  'claude-code': 240,
  'claude-ai': 200,
  'claude-desktop': 200,
  codex: 50,
  'java-sdk-mcp-client': 15,
};
/** For all others: clients of the official TypeScript SDK give up after 60 seconds. */
const OTHER_HOSTS = 45;

/** Names of any length come from outside. */
const MAX_NAME_LENGTH = 100;

/** The operator's waits: one for all clients, or one for each name. */
type WaitSettings = Config['gateway']['waitSeconds'];

/**
 * How long a call of this client waits for its end, in seconds. The setting for a name counts before the table above, and the setting
 * for all other clients (`default`) after it.
 *
 * @param client The name by which the client calls itself. It is not proved, so nothing else may depend on it.
 */
export function waitSecondsFor(client: string | undefined, settings: WaitSettings): number {
  if (typeof settings === 'number') return settings;
  const { default: others = OTHER_HOSTS, ...named } = settings;
  return longestMatch(client, named) ?? longestMatch(client, HOST_WAITS) ?? others;
}

/** The value of the longest name with which the client's name begins. */
function longestMatch(client: string | undefined, waits: Readonly<Record<string, number>>): number | undefined {
  const name = comparable(client ?? '');
  const matching = Object.entries(waits)
    .map(([of, seconds]) => ({ of: comparable(of), seconds }))
    .filter(({ of }) => name === of || name.startsWith(`${of}-`));
  return matching.sort((a, b) => b.of.length - a.of.length)[0]?.seconds;
}

/** `Claude Code (via mcp-remote 0.1.37)` begins with `claude-code`. */
const comparable = (name: string): string =>
  name
    .slice(0, MAX_NAME_LENGTH)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
