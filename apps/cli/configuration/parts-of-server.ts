import { isObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { namePrefixOf, OWN_TOOLS } from '../../../workflows/domain/tools/wire-names.ts';
import { VERBS } from '../../shared/rules/rules.ts';
import type { EntryPath } from './removal.ts';

/** The parts of a configuration that are about one server alone. */
export interface PartsOfServer {
  /** In the order of the file within each section. */
  readonly paths: readonly EntryPath[];
  /** Names of its tools with settings of their own. */
  readonly tools: readonly string[];
  /** Positions of the rules that are about this server alone. */
  readonly rules: readonly number[];
}

/** The section of servers of a configuration, as written. */
export const serverSection = (content: object): 'servers' | 'mcpServers' =>
  'servers' in content && !('mcpServers' in content) ? 'servers' : 'mcpServers';

/**
 * Finds the server, the settings of its tools, and its rules in a configuration as it is written. Of a rule that is about other servers too,
 * only the mention of this server is a part. Exclusions (`not`) stay: without one, a rule would match more than its author meant.
 */
export function partsOfServer(content: Readonly<Record<string, unknown>>, server: string): PartsOfServer {
  const section = serverSection(content);
  const isOwn = ownNames(objectOf(content[section]), server);
  const tools = Object.keys(objectOf(content['tools'])).filter((name) => isOwn(name));
  const written = Array.isArray(content['rules']) ? (content['rules'] as readonly unknown[]) : [];
  const found = written.map((rule, index) => partsOfRule(rule, ['rules', index], { server, isOwn }));
  const rules = found.flatMap((parts, index) => (parts === 'all' ? [index] : []));
  const gone = new Set(rules.map((index) => objectOf(written[index])['name']).filter((name) => name !== undefined));
  const paths = found.flatMap((parts, index): readonly EntryPath[] =>
    parts === 'all' ? [['rules', index]] : [...parts, ...exceptionsTo(gone, written[index], ['rules', index])],
  );
  return { paths: [[section, server], ...tools.map((tool) => ['tools', tool]), ...paths], tools, rules };
}

/** Tells the names of a server's tools and prompts. A name that begins as those of two servers belongs to the longer prefix. */
function ownNames(servers: Readonly<Record<string, unknown>>, server: string): (name: string) => boolean {
  const prefixOf = (name: string) => {
    const { prefix } = objectOf(servers[name]);
    return namePrefixOf(typeof prefix === 'string' ? prefix : name);
  };
  const own = prefixOf(server);
  const longer = Object.keys(servers)
    .filter((name) => name !== server)
    .map(prefixOf)
    .filter((prefix) => prefix.length > own.length);
  const others: readonly string[] = Object.values(OWN_TOOLS);
  return (name) => name.startsWith(own) && !others.includes(name) && !longer.some((prefix) => name.startsWith(prefix));
}

interface Server {
  readonly server: string;
  readonly isOwn: (name: string) => boolean;
}
type Parts = 'all' | readonly EntryPath[];

function partsOfRule(rule: unknown, at: EntryPath, of: Server): Parts {
  const verb = VERBS.find((one) => objectOf(rule)[one] !== undefined);
  if (verb === undefined) return [];
  const match = objectOf(rule)[verb];
  if (!isObject(match)) return partsOfList(match, [...at, verb], isPatternOf(of));
  const { server, tool, prompt } = match;
  if (server !== undefined) return partsOfList(server, [...at, verb, 'server'], (one) => one === of.server);
  if (prompt !== undefined) return partsOfList(prompt, [...at, verb, 'prompt'], isPatternOf(of));
  return partsOfList(tool, [...at, verb, 'tool'], isPatternOf(of));
}

/** One or a list: all of it, or the entries of the list. */
function partsOfList(written: unknown, at: EntryPath, isOwn: (text: string) => boolean): Parts {
  const list = Array.isArray(written) ? (written as readonly unknown[]) : [written];
  const own = list.flatMap((one, index) => (typeof one === 'string' && isOwn(one) ? [index] : []));
  return own.length > 0 && own.length === list.length ? 'all' : own.map((index) => [...at, index]);
}

/** Whether a pattern can match names of this server only. Without a prefix, a pattern with `*` could match any other name. */
const isPatternOf =
  ({ isOwn }: Server) =>
  (pattern: string): boolean => {
    const [start = '', ...more] = pattern.split(/(?<!\\)\*/);
    return start !== '' && isOwn(start) && (more.length === 0 || !isOwn('*'));
  };

/** Names of rules that are gone, in the `insteadOf` of a rule that stays. */
function exceptionsTo(gone: ReadonlySet<unknown>, rule: unknown, at: EntryPath): readonly EntryPath[] {
  const { insteadOf } = objectOf(rule);
  if (insteadOf === undefined || gone.size === 0) return [];
  const parts = partsOfList(insteadOf, [...at, 'insteadOf'], (name) => gone.has(name));
  return parts === 'all' ? [[...at, 'insteadOf']] : parts;
}
