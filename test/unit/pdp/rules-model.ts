import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { FOLDERS, type Known, TEXTS } from './known-texts.ts';

/**
 * A plain interpreter of rules, written from their documentation alone. It reads rules as an author writes them, and shares no code with
 * their compiler.
 */

export interface WrittenRule {
  readonly [verb: string]: unknown;
  readonly name: string;
}

/** Facts that are unknown make a test neither true nor false. */
type Truth = boolean | 'unknown';

const listOf = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as unknown[]) : [value];

function isLike(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return text === pattern;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length >= at + last.length && text.endsWith(last);
}

const anyLike = (text: string, patterns: unknown) => listOf(patterns).some((pattern) => isLike(text, String(pattern)));

export interface World {
  /** Prefixes of tool names by server. */
  readonly prefixes: Readonly<Record<string, string>>;
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

function* truths(match: JsonObject, request: EvaluationRequest, world: World): Generator<Truth> {
  const call = request.context['call'] as { tool: string; server?: string; effect?: string; roles: string[] };
  if (match['server'] !== undefined) {
    const tools = match['tool'] ?? '*';
    yield listOf(match['server']).some((server) => {
      const prefix = world.prefixes[String(server)];
      const own =
        prefix === ''
          ? call.tool
          : call.tool.startsWith(`${prefix}__`)
            ? call.tool.slice(`${prefix}__`.length)
            : undefined;
      return call.server === server && own !== undefined && anyLike(own, tools);
    });
  } else if (match['tool'] !== undefined) yield anyLike(call.tool, match['tool']);
  if (match['effect'] !== undefined)
    yield call.effect === undefined ? 'unknown' : listOf(match['effect']).includes(call.effect);
  const { subject, role, group, client } = (match['caller'] ?? {}) as JsonObject;
  if (subject !== undefined) yield anyLike(request.subject.id, subject);
  if (role !== undefined) yield listOf(role).some((one) => call.roles.includes(String(one)));
  if (group !== undefined)
    yield listOf(group).some((one) => (world.groups[request.subject.id] ?? []).includes(String(one)));
  if (client !== undefined) {
    const agent = request.context['agent'];
    yield typeof agent === 'string' ? anyLike(agent, client) : 'unknown';
  }
  for (const one of listOf(match['not'])) {
    const excluded = typeof one === 'string' ? { tool: one } : (one as JsonObject);
    yield negated(both([...truths(excluded, request, world)]));
  }
  for (const [path, condition] of Object.entries((match['where'] ?? {}) as JsonObject)) {
    let value: Json | undefined = request.context['arguments'];
    for (const name of path.split('.'))
      value =
        typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
          ? (value as JsonObject)[name]
          : undefined;
    yield* meets(value ?? undefined, condition);
  }
}

function* meets(value: Json | undefined, condition: Json): Generator<Truth> {
  const isPlain = typeof condition !== 'object' || condition === null;
  const tests: JsonObject = isPlain
    ? { oneOf: [condition] }
    : Array.isArray(condition)
      ? { oneOf: condition as Json[] }
      : (condition as JsonObject);
  for (const [name, operand] of Object.entries(tests)) {
    if (name === 'present') yield operand === (value !== undefined);
    else if (name === 'oneOf' || name === 'equal') {
      const values = listOf(operand);
      const isTyped = values.some((one) => typeof one === typeof value);
      yield isTyped ? values.includes(value) : 'unknown';
    } else if (name === 'like')
      yield typeof value === 'string' && TEXTS[value]?.isPlain === true
        ? alike(value, [operand as string], tests['ignoreCase'] ?? false)
        : 'unknown';
    else if (name === 'path' || name === 'url')
      yield* (name === 'path' ? meetsPath : meetsUrl)(
        (typeof value === 'string' ? TEXTS[value] : undefined) ?? {},
        operand as JsonObject,
      );
    else if (name === 'ignoreCase') yield true;
    else if (name === 'not') yield negated(both([...meets(value, operand ?? null)]));
    else if (name === 'anyOf') yield either(listOf(operand).map((one) => both([...meets(value, one as Json)])));
    else if (typeof value !== 'number') yield 'unknown';
    else yield name === 'over' ? value > Number(operand) : value < Number(operand);
  }
}

const negated = (truth: Truth): Truth => (truth === 'unknown' ? truth : !truth);
const both = (all: readonly Truth[]): Truth => !all.includes(false) && (all.includes('unknown') ? 'unknown' : true);
const either = (all: readonly Truth[]): Truth => all.includes(true) || (all.includes('unknown') ? 'unknown' : false);

/** Whether a text fits, where case may matter, not matter, or no one says. */
function alike(text: string, patterns: readonly string[], ignoreCase: unknown): Truth {
  const isSame = patterns.some((pattern) => isLike(text, pattern));
  const isSameButForCase = patterns.some((pattern) => isLike(text.toLowerCase(), pattern.toLowerCase()));
  if (ignoreCase === undefined) return isSame || (isSameButForCase ? 'unknown' : false);
  return ignoreCase === true ? isSameButForCase : isSame;
}

function* meetsPath(known: Known, { under, name: names, part, ignoreCase }: JsonObject): Generator<Truth> {
  const { path, name } = known;
  if (under !== undefined) {
    const each = listOf(under).map((folder): Truth => {
      const { kind, text } = FOLDERS[String(folder)] ?? { kind: '', text: '' };
      return path?.kind === kind ? alike(path.text, [`${text}*`], ignoreCase) : 'unknown';
    });
    yield either(each);
  }
  if (names !== undefined) yield name === undefined ? 'unknown' : alike(name, listOf(names).map(String), ignoreCase);
  if (part !== undefined)
    yield path === undefined
      ? 'unknown'
      : alike(
          `/${path.text}`,
          listOf(part).map((one) => `*/${String(one)}/*`),
          ignoreCase,
        );
}

function* meetsUrl({ url }: Known, { scheme, host, port, path }: JsonObject): Generator<Truth> {
  const is = (wanted: Json | undefined, known: unknown) =>
    url === undefined ? 'unknown' : listOf(wanted).includes(known);
  if (scheme !== undefined) yield is(scheme, url?.scheme);
  if (host !== undefined)
    yield url === undefined ? 'unknown' : listOf(host).some((one) => isLike(url.host, String(one)));
  if (port !== undefined) yield is(port, url?.port);
  if (path !== undefined) {
    const { under, ignoreCase } = path as JsonObject;
    const below = listOf(under).map((one) => `${String(one)}/*`);
    yield url === undefined ? 'unknown' : alike(url.path, below, ignoreCase);
  }
}

const holds = (match: unknown, isCautious: boolean, request: EvaluationRequest, world: World): boolean => {
  const written = typeof match === 'string' || Array.isArray(match) ? { tool: match as Json } : (match as JsonObject);
  return [...truths(written, request, world)].every((truth) => (truth === 'unknown' ? isCautious : truth));
};

/** The decision, and the templates that one approval has to cover. */
export type Verdict = 'permit' | 'deny' | { readonly needs: readonly string[] };

/** What the rules say, with an approval of these templates. */
export function decide(
  rules: readonly WrittenRule[],
  request: EvaluationRequest,
  { world, approved }: { world: World; approved: readonly string[] },
): Verdict {
  const matching = (verb: string) =>
    rules.filter((rule) => rule[verb] !== undefined && holds(rule[verb], verb !== 'allow', request, world));
  if (matching('deny').length > 0) return 'deny';
  const isExcepted = (name: string) =>
    rules.some(
      ({ insteadOf, ...rule }) => listOf(insteadOf).includes(name) && holds(rule['allow'], false, request, world),
    );
  const asking = matching('approve').filter(({ name }) => !isExcepted(name));
  const needed = asking.map(({ by, name }) => (by === undefined ? 'approver' : typeof by === 'string' ? by : name));
  const missing = needed.filter((template) => !approved.includes(template));
  // The next approval has to cover all of them, since only one is presented at a time.
  if (missing.length > 0) return { needs: [...new Set(needed)].sort() };
  return needed.length > 0 || matching('allow').length > 0 ? 'permit' : 'deny';
}

export const WORLD: World = {
  prefixes: { files: 'files', mail: 'mail', plain: '' },
  groups: { alice: ['finance'], bob: ['finance', 'ops'] },
};
