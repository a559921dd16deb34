import type { Config } from '../../shared/config/config.ts';

/**
 * How long a call waits for each host, in seconds: a little less than the host waits for an answer. Claude Code gives up after five
 * minutes without a word, Claude Desktop after four, Copilot CLI after three, Codex after one (`tool_timeout_sec`), and the official Java
 * SDK after 20 seconds (`requestTimeout`). Gemini CLI and Qwen Code wait for ten minutes. Those with 45 wait for a minute or longer. The
 * names are those of their clients: `claude-code`, `claude-ai` for Claude Desktop, `codex-mcp-client`, and the name that an SDK sends if
 * its program sets none.
 */
const HOST_WAITS: Readonly<Record<string, number>> = {
  'claude-code': 240,
  'gemini-cli': 240,
  'qwen-cli': 240,
  'claude-ai': 200,
  'claude-desktop': 200,
  'copilot-cli': 170,
  codex: 50,
  'ai-sdk-mcp-client': 45,
  fastmcp: 45,
  'inspector-cli': 45,
  'langchain-mcp-adapters': 45,
  'mcp-use': 45,
  rmcp: 45,
  'java-sdk-mcp-client': 15,
};
/**
 * For all others. Agents on the official Python SDK name themselves `mcp`, and some give up after five seconds. They would never read where
 * the call can be approved, so the call itself waits for less. By then their model has read it, and `get_request_status` can wait longer.
 */
const OTHER_HOSTS: Waits = { call: 4, status: 45 };

/** How long a call waits for its end, and how long `get_request_status` does, in seconds. */
export interface Waits {
  readonly call: number;
  readonly status: number;
}

/** Names of any length come from outside. */
const MAX_NAME_LENGTH = 100;

/** The operator's waits: one for all clients, or one for each name. */
type WaitSettings = Config['gateway']['waitSeconds'];

/**
 * How long this client waits. The setting for a name counts before the table above, and the setting for all other clients (`default`)
 * after it.
 *
 * @param client The name by which the client calls itself. It is not proved, so nothing else may depend on it.
 */
export function waitsFor(client: string | undefined, settings: WaitSettings): Waits {
  if (typeof settings === 'number') return both(settings);
  const { default: others, ...named } = settings;
  const known = longestMatch(client, named) ?? longestMatch(client, HOST_WAITS) ?? others;
  return known === undefined ? OTHER_HOSTS : both(known);
}

const both = (seconds: number): Waits => ({ call: seconds, status: seconds });

/**
 * The name of agents on the official Python SDK. Haystack and LangChain raise an exception for an error, so their models would never read
 * where the call can be approved. Not of every name that begins with it.
 */
const RAISES_ERRORS = 'mcp';

/** Whether this client gets a call that is still held as an error. Settings count as for the waits. @see SEP-2848 (APPR-012) */
export function isHeldAnErrorFor(client: string | undefined, settings: Config['gateway']['heldIsError']): boolean {
  if (typeof settings === 'boolean') return settings;
  const { default: others = true, ...named } = settings;
  return longestMatch(client, named) ?? (comparable(client ?? '') === RAISES_ERRORS ? false : others);
}

/** The value of the longest name with which the client's name begins. */
function longestMatch<T>(client: string | undefined, values: Readonly<Record<string, T>>): T | undefined {
  const name = comparable(client ?? '');
  const matching = Object.entries(values)
    .map(([of, value]) => ({ of: comparable(of), value }))
    .filter(({ of }) => name === of || name.startsWith(`${of}-`));
  return matching.sort((a, b) => b.of.length - a.of.length)[0]?.value;
}

/** `Claude Code (via mcp-remote 0.1.37)` begins with `claude-code`. */
const comparable = (name: string): string =>
  name
    .slice(0, MAX_NAME_LENGTH)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
