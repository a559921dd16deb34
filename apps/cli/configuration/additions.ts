import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { isObject, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import { exactly } from '../../shared/rules/literal.ts';
import { CliError } from '../context.ts';
import { inserted, type Insertion } from './insertion.ts';

/** What one server adds to the configuration. */
export interface Addition {
  readonly name: string;
  readonly server: Readonly<Record<string, unknown>>;
  /** Effects by the public names of tools, as the operator's word. */
  readonly effects: readonly (readonly [tool: string, effect: Effect])[];
  /**
   * Names of tools, as the server has them and as a rule can name them, by what happens to their calls. Undefined where no rules are used.
   *
   * @see isWritable
   */
  readonly rules: { readonly allow: readonly string[]; readonly approve: readonly string[] } | undefined;
}

/**
 * Adds servers with their tools and rules to the text of a configuration. All other text stays exactly as it is. `policies` is set if the
 * rules would otherwise take the place of a policy folder. Throws a `CliError` if the text has a form in which that cannot be done.
 */
export function withAdditions(text: string, additions: readonly Addition[], policies?: string): string {
  const before = objectOf(parse(text));
  const wanted = [
    ...additions.flatMap((addition) => insertionsOf(addition, before)),
    ...(policies === undefined ? [] : [{ section: 'pdp', entries: { policies } }]),
  ];
  const after = wanted.reduce(inserted, text);
  const expected = wanted.reduce(merged, before);
  if (means(after, expected)) return after;
  const sections = [...new Set(wanted.map(({ section }) => section))].join(', ');
  throw new CliError(
    `the configuration has a form that cannot be edited here; write ${sections} as blocks, one entry a line`,
  );
}

/** Whether a configuration, as text, says exactly this. */
export function means(text: string, content: unknown): boolean {
  try {
    return isDeepStrictEqual(parse(text), content);
  } catch {
    return false;
  }
}

/** What the operator said before of a tool stays. */
function insertionsOf({ name, server, effects, rules }: Addition, before: JsonObject): Insertion[] {
  const isOfVsCode = 'servers' in before && !('mcpServers' in before);
  const known = objectOf(before['tools']);
  const facts = effects.flatMap(([tool, effect]) =>
    Object.hasOwn(known, tool) ? [] : [[tool, factsOf(effect)] as const],
  );
  return [
    { section: isOfVsCode ? 'servers' : 'mcpServers', entries: { [name]: server } },
    ...(facts.length === 0 ? [] : [{ section: 'tools', entries: Object.fromEntries(facts), isShort: true }]),
    ...rulesOf(name, rules, before),
  ];
}

/** Hosts learn that a person has to confirm what cannot be undone. */
const factsOf = (effect: Effect) => (effect === 'delete' ? { effect, requiresConfirmation: true } : { effect });

function rulesOf(server: string, rules: Addition['rules'], before: JsonObject): Insertion[] {
  if (rules === undefined) return [];
  const list = before['rules'];
  const taken = Array.isArray(list) ? list.map((rule) => objectOf(rule)['name']) : [];
  const named = (name: string) => (taken.includes(name) ? {} : { name });
  // A name is a stranger's text, and the tool of a rule is a pattern.
  const [allow, approve] = [rules.allow.map(exactly), rules.approve.map(exactly)];
  const entries = [
    ...(allow.length === 0 ? [] : [{ ...named(`${server} reads`), allow: { server, tool: allow } }]),
    ...(approve.length === 0 ? [] : [{ ...named(`${server} changes`), approve: { server, tool: approve } }]),
  ];
  if (entries.length === 0) return [];
  return [{ section: 'rules', entries, comment: commentOn(server) }];
}

/** What stands above the rules of a server. */
export const commentOn = (server: string): string =>
  `${server}: tools in allow pass, and calls of those in approve wait for an approval. Move a name to change that.`;

/** The content of a configuration after an insertion. */
function merged(content: object, { section, entries }: Insertion): object {
  const found = new Map<string, unknown>(Object.entries(content)).get(section);
  const before: readonly unknown[] = Array.isArray(found) ? found : [];
  if (isList(entries)) return { ...content, [section]: [...before, ...entries] };
  return { ...content, [section]: { ...(isObject(found) ? found : {}), ...entries } };
}

const isList = (entries: Insertion['entries']): entries is readonly unknown[] => Array.isArray(entries);
