import fc from 'fast-check';
import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';

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
    } else if (name === 'like') {
      const isTestable = typeof value === 'string' && !/(^|[/\\])\.\.($|[/\\])/.test(value);
      yield isTestable ? isLike(value, operand as string) : 'unknown';
    } else if (typeof value !== 'number') yield 'unknown';
    else yield name === 'over' ? value > Number(operand) : value < Number(operand);
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

const TEXTS = ['a', 'a/b', '/srv/x', '/srv/../x', '..', 'x..', 'main', '*', 'A"\\\n', ''];
const NUMBERS = [0, 1, -1, 0.1, 0.0001, 0.00001, -0.00001, 2.5, 1e-7, 100, 899_999_999_999_999, 1e18, -1e18];
const NAMED_NUMBERS = NUMBERS.filter((one) => Math.abs(one) <= 9e14 && Number(one.toFixed(4)) === one);
const PATHS = ['path', 'n', 'target.path', 'a"b', 'ü'];
const TOOLS = ['files__read', 'files__write', 'mail__send', 'bare', 'files__*'];
const SERVERS = ['files', 'mail', 'plain'];

const scalar = fc.oneof(fc.constantFrom(...TEXTS), fc.constantFrom(...NAMED_NUMBERS), fc.boolean());
const pattern = fc.constantFrom('*', 'files__*', '*read', 'send', 'w*e', 'bare', '*a*', 'read');
const oneOrMore = <T>(item: fc.Arbitrary<T>) => fc.oneof(item, fc.array(item, { minLength: 1, maxLength: 3 }));
const textPattern = fc.constantFrom('*', '/srv/*', 'a*', '*b', '*/x', 'main', '*"*');

/** A condition on one argument, as an author writes it. */
export const condition = fc.oneof(
  scalar,
  fc.array(scalar, { minLength: 1, maxLength: 3 }),
  fc
    .record(
      {
        equal: scalar,
        oneOf: fc.array(scalar, { minLength: 1, maxLength: 3 }),
        like: textPattern,
        over: fc.constantFrom(...NAMED_NUMBERS),
        under: fc.constantFrom(...NAMED_NUMBERS),
        present: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    .filter((tests) => Object.keys(tests).length > 0),
);

const caller = fc
  .record(
    {
      subject: oneOrMore(fc.constantFrom('alice', 'bob', 'a*', '*')),
      role: oneOrMore(fc.constantFrom('developer', 'admin')),
      group: oneOrMore(fc.constantFrom('finance', 'ops')),
      client: oneOrMore(fc.constantFrom('cli', 'host-*')),
    },
    { requiredKeys: [] },
  )
  .filter((members) => Object.keys(members).length > 0);

const match = fc.oneof(
  oneOrMore(pattern),
  fc
    .record(
      {
        server: oneOrMore(fc.constantFrom(...SERVERS)),
        tool: oneOrMore(pattern),
        effect: oneOrMore(fc.constantFrom(...EFFECTS)),
        caller,
        where: fc.dictionary(fc.constantFrom(...PATHS), condition, { minKeys: 1, maxKeys: 2 }),
      },
      { requiredKeys: [] },
    )
    .filter(({ server, tool, effect }) => [server, tool, effect].some((one) => one !== undefined)),
);

/** Other rules than `approve` rules may bear these names, and then they mean nothing. */
const insteadOf = fc.option(oneOrMore(fc.constantFrom('rule 0', 'rule 1', 'rule 2')), { freq: 2, nil: undefined });

const by = fc.option(fc.oneof(fc.constant('board'), fc.constant({ people: 'carol' })), { nil: undefined });

/** Rules as an author writes them, each with a name. */
export const ruleSets: fc.Arbitrary<readonly WrittenRule[]> = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.tuple(match, insteadOf).map(([allow, one]) => ({ allow, ...(one && { insteadOf: one }) })),
      },
      { weight: 3, arbitrary: fc.tuple(match, by).map(([approve, who]) => ({ approve, ...(who && { by: who }) })) },
      { weight: 1, arbitrary: match.map((deny) => ({ deny })) },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((rules) => rules.map((rule, index) => ({ ...rule, name: `rule ${index}` })));

/** The value of an argument. */
export const value = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.constantFrom(...NUMBERS),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom<Json>([], ['a'], { path: 'a' }, { path: '/srv/x' }, { path: 1 }),
);

/** Requests as the gateway makes them. */
export const requests: fc.Arbitrary<EvaluationRequest> = fc
  .record({
    subject: fc.constantFrom('alice', 'bob', 'zoe'),
    tool: fc.constantFrom(...TOOLS),
    server: fc.constantFrom(...SERVERS),
    effect: fc.option(fc.constantFrom(...EFFECTS), { nil: undefined }),
    roles: fc.subarray(['developer', 'admin']),
    agent: fc.option(fc.constantFrom('cli', 'host-1'), { nil: undefined }),
    arguments: fc.dictionary(fc.constantFrom('path', 'n', 'target', 'a"b', 'ü'), value, { maxKeys: 4 }),
  })
  .map(({ subject, tool, server, effect, roles, agent, arguments: given }) => ({
    subject: { type: 'identity', id: subject },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool },
    context: {
      ...(agent !== undefined && { agent }),
      call: { tool, server, ...(effect !== undefined && { effect }), roles },
      arguments: given,
    },
  }));

export const WORLD: World = {
  prefixes: { files: 'files', mail: 'mail', plain: '' },
  groups: { alice: ['finance'], bob: ['finance', 'ops'] },
};
