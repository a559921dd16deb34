import { namePrefixOf } from '../../../workflows/domain/tools/wire-names.ts';
import {
  type CallerMatch,
  type Day,
  DAYS,
  type Hours,
  type Match,
  matchesIn,
  type Rule,
  templateOf,
} from '../../shared/rules/rules.ts';
import { grantableText } from '../../shared/rules/grantable.ts';
import { and, anyLike, isOneOf, not, or, quoted, tested } from './cedar-text.ts';
import { argumentMeets } from './compile-conditions.ts';

/** Prefixes of tool names by the name of their server. Empty where the names have no prefix. */
export type Prefixes = Readonly<Record<string, string>>;

/**
 * A rule as Cedar policies:
 *
 * - `allow` becomes a permit.
 * - `deny` becomes a forbid.
 * - `approve` becomes a forbid that an approval lifts, and a permit that needs one. An approval lifts the forbid of one rule only if it is
 *   of that rule's template, so a call that several rules match needs the approval of each.
 *
 * Every condition has a value for every request, so no evaluation fails.
 *
 * @param exceptions Calls that an `approve` rule does not ask about. A fact that is not known makes no exception.
 */
export function compileRule(rule: Rule, prefixes: Prefixes, exceptions: readonly Match[] = []): string {
  const { verb, match, name, description, grantable } = rule;
  const scope = scopeOf(match);
  const matches = and(matched(match, { prefixes, isCautious: verb !== 'allow' }));
  const id = annotation('id', name);
  if (verb === 'allow') return `${id}\npermit (${scope})\nwhen { ${matches} };\n`;
  if (verb === 'deny')
    return `${id}\n${annotation('reason', 'denied_by_rule')}\nforbid (${scope})\nwhen { ${matches} };\n`;
  const asks = [matches, ...exceptions.map((one) => not(and(matched(one, { prefixes, isCautious: false }))))];
  const isApproved = `context.approved.contains(${quoted(templateOf(rule))})`;
  return [
    id,
    annotation('requestable', templateOf(rule)),
    ...(description === undefined ? [] : [annotation('description', description)]),
    ...(matchesIn(match).some(({ effect }) => effect !== undefined)
      ? [annotation('effect_unknown', UNKNOWN_EFFECT)]
      : []),
    ...(grantable === undefined ? [] : [annotation('grantable', grantableText(grantable))]),
    `forbid (${scope})\nwhen { ${and(asks)} }\nunless { ${isApproved} };\n`,
    annotation('id', `${name} (approved)`),
    `permit (${scope})\nwhen { ${and([matches, isApproved])} };\n`,
  ].join('\n');
}

/** What approvers read in place of a description, which would say what the tool does. */
const UNKNOWN_EFFECT = 'It is not known what this tool does. The operator can state its effect.';

const annotation = (name: string, value: string) => `@${name}(${quoted(value)})`;

function scopeOf({ prompt, resource }: Match): string {
  const asked = prompt !== undefined ? 'prompts/get' : resource !== undefined ? 'resources/read' : undefined;
  // Completions are for the arguments of prompts and of templates of resources.
  const actions = asked === undefined ? ['tools/call'] : [asked, 'completion/complete'];
  return `principal, action in [${actions.map((action) => `Action::${quoted(action)}`).join(', ')}], resource`;
}

interface Compiling {
  readonly prefixes: Prefixes;
  /**
   * Whether the rule also matches where a fact is not known: an argument that is missing, a tool without a known effect, a token without
   * a client. So a caller cannot evade `deny` and `approve` by leaving something out.
   */
  readonly isCautious: boolean;
}

/** A part of a match that sometimes cannot be tested, in words, and a Cedar expression for whether that is so. */
interface Untested {
  readonly part: string;
  readonly isUntested: string;
}

/** The parts of a match that sometimes cannot be tested. */
export function untestedParts(
  { effect, caller, where = [], not: excluded = [] }: Match,
  prefixes: Prefixes,
): Untested[] {
  const parts: readonly (readonly [string, Match])[] = [
    ...(effect === undefined ? [] : [['the effect of the tool', { effect }] as const]),
    ...(caller?.client === undefined
      ? []
      : [['the client of the caller', { caller: { client: caller.client } }] as const]),
    ...where.map((one) => [`the argument ${one.path.join('.')}`, { where: [one] }] as const),
    ...excluded.map((one) => ['what the rule excludes', { not: [one] }] as const),
  ];
  return parts.map(([part, match]) => ({ part, isUntested: isPossibleOnly(match, prefixes) }));
}

/** Whether a rule possibly matches, and not certainly. */
export const isPossibleOnly = (match: Match, prefixes: Prefixes): string =>
  and([and(matched(match, { prefixes, isCautious: true })), not(and(matched(match, { prefixes, isCautious: false })))]);

/** What has to hold for the rule to match. */
function matched(match: Match, compiling: Compiling): string[] {
  const { server, tool, prompt, resource, effect, caller, where = [], when, not: excluded = [] } = match;
  const { isCautious } = compiling;
  return [
    ...(server === undefined ? [] : [or(server.map((one) => isOfServer(one, tool, compiling)))]),
    ...(server === undefined && tool !== undefined ? [anyLike('context.call.tool', tool)] : []),
    ...(prompt === undefined ? [] : [and(['resource.type == "prompt"', anyLike('resource.id', prompt)])]),
    ...(resource === undefined ? [] : [and(['resource.type == "resource"', anyLike('resource.id', resource)])]),
    ...(effect === undefined
      ? []
      : [tested('context.call has effect', isOneOf('context.call.effect', effect), isCautious)]),
    ...(caller === undefined ? [] : calledBy(caller, isCautious)),
    ...where.flatMap(({ path, conditions }) =>
      conditions.map((condition) => argumentMeets(path.join('.'), condition, isCautious)),
    ),
    ...(when === undefined ? [] : [isIn(when)]),
    // What is not certainly excluded is possibly meant, and the other way round.
    ...excluded.map((one) => not(and(matched(one, { ...compiling, isCautious: !isCautious })))),
  ];
}

/** The time is always known. */
function isIn({ days, from, until, timeZone }: Hours): string {
  const time = `context.time[${quoted(timeZone)}]`;
  const isOn = (some: readonly Day[]) => (some.length === DAYS.length ? [] : [isOneOf(`${time}.day`, some)]);
  const isAfter = from === 0 ? [] : [`${time}.minute >= ${from}`];
  const isBefore = until === MINUTES_OF_DAY ? [] : [`${time}.minute < ${until}`];
  if (from < until) return and([...isOn(days), ...isAfter, ...isBefore]);
  const dayAfter = (day: Day) => DAYS[(DAYS.indexOf(day) + 1) % DAYS.length] ?? day;
  return or([and([...isOn(days), ...isAfter]), and([...isOn(days.map(dayAfter)), ...isBefore])]);
}

const MINUTES_OF_DAY = 1_440;

/** The gateway says of which server a tool is. Of another enforcement point's tool, only the prefix tells. */
function isOfServer(server: string, tool: readonly string[] | undefined, { prefixes, isCautious }: Compiling): string {
  const before = namePrefixOf(prefixes[server] ?? server);
  const isFrom = tested(
    'context.call has server',
    `context.call.server == ${quoted(server)}`,
    isCautious || before !== '',
  );
  return and([
    isFrom,
    anyLike(
      'context.call.tool',
      (tool ?? ['*']).map((one) => `${starsEscaped(before)}${one}`),
    ),
  ]);
}

const starsEscaped = (text: string) => text.replaceAll('*', '\\*');

function calledBy({ subject, role, group, client }: CallerMatch, isCautious: boolean): string[] {
  return [
    ...(subject === undefined ? [] : [anyLike('principal.id', subject)]),
    ...(role === undefined ? [] : [`context.call.roles.containsAny([${role.map(quoted).join(', ')}])`]),
    ...(group === undefined ? [] : [or(group.map((one) => `principal in Group::${quoted(one)}`))]),
    ...(client === undefined ? [] : [tested('context has agent', anyLike('context.agent', client), isCautious)]),
  ];
}
