import { basename } from 'node:path';
import { isObject, objectOf, valueAt } from '../../../../workflows/domain/canonical-json.ts';
import { fromHost } from '../../../shared/config/host-servers.ts';
import { formatProblem } from '../../../shared/config/problems.ts';
import { errorCode } from '../../../shared/lifecycle.ts';
import { CliError, EXIT } from '../../context.ts';
import { hostContent } from './host-content.ts';
import { type ServerEntry, variableName } from './secrets.ts';
import { readTextSync } from '../../../shared/text-file.ts';

/** The servers of a host's file, as the configuration writes them, and what the reader has to know about them. */
interface HostServers {
  readonly servers: readonly { readonly name: string; readonly server: ServerEntry }[];
  readonly notes: readonly string[];
}

/** Where hosts keep their servers, by the path to the object that has them. */
const PLACES = [
  // Claude Desktop, Claude Code, Cursor, Windsurf, Gemini CLI and others.
  ['mcpServers'],
  // VS Code, in mcp.json and in its settings.
  ['servers'],
  ['mcp', 'servers'],
  // Zed, and Codex.
  ['context_servers'],
  ['mcp_servers'],
] as const;

/**
 * Reads the servers of a host: all of them, or the one called `wanted`. Leaves out servers that are switched off, and a Countersign that
 * the host is connected to already. Throws a `CliError` if the file cannot be read, or a server has a setting that cannot be honored.
 */
export function serversOfHost(
  file: string,
  { wanted, ownUrl }: { wanted?: string | undefined; ownUrl: string },
): HostServers {
  const written = serversIn(contentOf(file), file);
  if (wanted !== undefined && !Object.hasOwn(written, wanted)) {
    throw new CliError(`${file} has no server ${JSON.stringify(wanted)}; it has ${namesOf(written)}`, {
      exitCode: EXIT.usage,
    });
  }
  const chosen = Object.entries(written).filter(([name]) => wanted === undefined || name === wanted);
  const [own, others] = [
    chosen.filter((one) => isCountersign(one[1], ownUrl)),
    chosen.filter((one) => !isCountersign(one[1], ownUrl)),
  ];
  const prepared = Object.fromEntries(others.map(([name, server]) => [name, withoutInputs(server)]));
  const { value, problems, notes } = fromHost({ mcpServers: prepared });
  const refused = new Set(problems.map(({ path }) => path[1]));
  const read = Object.entries(objectOf(objectOf(value)['mcpServers'])).filter(([name]) => !refused.has(name));
  const said = problems.map((problem) => `${basename(file)}: ${formatProblem(problem)}`);
  if (problems.length > 0 && (wanted !== undefined || read.length === 0)) throw new CliError(said.join('\n'));
  return {
    servers: read.map(([name, server]) => ({ name: plainName(name), server: objectOf(server) })),
    notes: [
      ...own.map(([name]) => `${name}: it is Countersign itself, and was left out`),
      ...said.map((problem) => `left out ${problem}`),
      ...notes.map(formatProblem),
    ],
  };
}

const namesOf = (servers: object) => Object.keys(servers).join(', ') || 'none';

function contentOf(file: string): unknown {
  let text: string;
  try {
    text = readTextSync(file);
  } catch (cause) {
    const why = errorCode(cause) === 'ENOENT' ? 'there is no such file' : 'it cannot be read';
    throw new CliError(`${file}: ${why}; name the file in which your MCP host keeps its servers`, { cause });
  }
  const { content, problem } = hostContent(file, text);
  if (problem === undefined) return content;
  throw new CliError(`${file}${problem.line === undefined ? '' : `:${problem.line}`}: ${problem.message}`);
}

function serversIn(content: unknown, file: string): Readonly<Record<string, unknown>> {
  for (const place of PLACES) {
    const found = valueAt(objectOf(content), place);
    if (isObject(found)) return found;
  }
  throw new CliError(`${file} has no MCP servers; they stand in mcpServers or servers. Name another file`);
}

function isCountersign(server: unknown, ownUrl: string): boolean {
  if (!isObject(server)) return false;
  const { url, serverUrl, httpUrl, args } = server;
  if ([url, serverUrl, httpUrl].includes(ownUrl)) return true;
  return Array.isArray(args) && args.includes('countersign') && args.includes('stdio');
}

/** Only VS Code can ask for `${input:token}`. A variable with that name takes its place. */
function withoutInputs(node: unknown): unknown {
  if (typeof node === 'string') {
    return node.replaceAll(/\$\{input:([^}]+)\}/g, (_, id: string) => `\${${variableName(id)}}`);
  }
  if (Array.isArray(node)) return node.map(withoutInputs);
  if (!isObject(node)) return node;
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, withoutInputs(value)]));
}

/** Names of servers become prefixes of tools, which have few characters. */
const plainName = (name: string): string =>
  name
    .replaceAll(/[^A-Za-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);
