import type { PathKind } from '../../../workflows/domain/spellings/path.ts';
import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import type { TemplateSettings } from '../config/approver-settings.ts';

/** What a rule does with the calls that it matches, from the strictest to the most lenient. */
export const VERBS = ['deny', 'approve', 'allow'] as const;
export type Verb = (typeof VERBS)[number];

/**
 * Whether texts that differ only in the case of their letters are the same. Undefined: that depends on the server, so a text that is the
 * same but for case cannot be tested.
 */
export interface Lettered {
  readonly ignoreCase?: boolean | undefined;
}

/** A folder in the form of paths: what it begins with, and its parts, each with a slash behind it. */
export interface Folder {
  readonly kind: PathKind;
  readonly text: string;
}

/** A condition on an argument of any type. */
export type ValueCondition =
  | { readonly kind: 'oneOf'; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: 'over' | 'under'; readonly bound: number }
  | { readonly kind: 'present'; readonly is: boolean };

/** A condition on a text. */
export type TextCondition =
  | ({ readonly kind: 'like'; readonly pattern: string } & Lettered)
  /** A path to one of these folders, or to something in it. */
  | ({ readonly kind: 'path.under'; readonly folders: readonly Folder[] } & Lettered)
  /** A path whose last part fits one of these patterns. */
  | ({ readonly kind: 'path.name'; readonly patterns: readonly string[] } & Lettered)
  /** A path that has one of these names as a part. */
  | ({ readonly kind: 'path.part'; readonly names: readonly string[] } & Lettered);

/** A condition on an absolute address. */
export type AddressCondition =
  | { readonly kind: 'url.scheme'; readonly schemes: readonly string[] }
  /** Hosts in lower case, and `*.` with a host for all hosts below it. */
  | { readonly kind: 'url.host'; readonly patterns: readonly string[] }
  | { readonly kind: 'url.port'; readonly ports: readonly number[] }
  /** An address whose path is one of these, or below it. Each ends with a slash. */
  | ({ readonly kind: 'url.under'; readonly paths: readonly string[] } & Lettered);

/**
 * A condition on one argument. It cannot be tested on an argument that is missing or has another type, or on a text that servers could read
 * in different ways. Of a list, one entry is enough.
 */
export type Condition = ValueCondition | TextCondition | AddressCondition | CombinedCondition;

/** Conditions on the same argument, joined. What cannot be tested stays so: it is neither met nor not met. */
export type CombinedCondition =
  /** Not all of these are met. */
  | { readonly kind: 'not'; readonly of: readonly Condition[] }
  /** All of one of these lists are met. */
  | { readonly kind: 'anyOf'; readonly of: readonly (readonly Condition[])[] };

const VALUE_KINDS: readonly string[] = ['oneOf', 'over', 'under', 'present'] satisfies ValueCondition['kind'][];
export const isOfValue = (condition: Condition): condition is ValueCondition => VALUE_KINDS.includes(condition.kind);
export const isCombined = (condition: Condition): condition is CombinedCondition =>
  condition.kind === 'not' || condition.kind === 'anyOf';
export const isOfAddress = (condition: Condition): condition is AddressCondition => condition.kind.startsWith('url.');

/** The conditions on the argument at `path`, from the outermost member to the innermost. */
export interface ArgumentConditions {
  readonly path: readonly string[];
  readonly conditions: readonly Condition[];
}

/** Which callers a rule is about. Members that are there must all match; one entry of a list is enough. */
export interface CallerMatch {
  readonly subject?: readonly string[] | undefined;
  readonly role?: readonly string[] | undefined;
  readonly group?: readonly string[] | undefined;
  readonly client?: readonly string[] | undefined;
}

/** Which requests a rule is about. Members that are there must all match; one entry of a list is enough. */
export interface Match {
  /** Names of `mcpServers`. */
  readonly server?: readonly string[] | undefined;
  /** Patterns of tool names: as the server has them if `server` is there, otherwise as agents call them. */
  readonly tool?: readonly string[] | undefined;
  /** Patterns of prompt names, as agents see them. */
  readonly prompt?: readonly string[] | undefined;
  /** Patterns of resource addresses. */
  readonly resource?: readonly string[] | undefined;
  readonly effect?: readonly Effect[] | undefined;
  readonly caller?: CallerMatch | undefined;
  readonly where?: readonly ArgumentConditions[] | undefined;
  readonly when?: Hours | undefined;
  /** Requests that the rule is not about, although everything else matches. */
  readonly not?: readonly Match[] | undefined;
}

/** Names of days as rules and policies have them, in the order of `Date.getUTCDay`. */
export const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Day = (typeof DAYS)[number];

/**
 * A time of the week, as clocks of a time zone show it. If it ends before it begins, it goes on until the next day, and the days are those
 * on which it begins.
 */
export interface Hours {
  readonly days: readonly Day[];
  /** Minutes since midnight, from 0. */
  readonly from: number;
  /** Minutes since midnight, to 1440. The minute itself is not in it. */
  readonly until: number;
  /** An IANA name. */
  readonly timeZone: string;
}

/** A match and all that it excludes. */
export const matchesIn = (match: Match): readonly Match[] => [match, ...(match.not ?? []).flatMap(matchesIn)];

/** Conditions, and those that they are made of. */
export const conditionsIn = (conditions: readonly Condition[]): readonly Condition[] =>
  conditions.flatMap((one) => (isCombined(one) ? conditionsIn(one.of.flat()) : [one]));

/** One entry of `rules`. */
export interface Rule {
  readonly verb: Verb;
  readonly match: Match;
  /** Of an `allow` rule: names of `approve` rules, which do not ask about the calls that it matches. */
  readonly insteadOf?: readonly string[] | undefined;
  /** Unique. It names the rule in policies, logs and records, and the template of an `approve` rule. */
  readonly name: string;
  /** What approvers read about the request of an `approve` rule. */
  readonly description?: string | undefined;
  /** The greatest grant that an approver may give on a request of an `approve` rule. Undefined: none. */
  readonly grantable?: { readonly minutes: number; readonly uses: number } | undefined;
  /** Who approves: a template, or the name of one of `approvals.templates`. Undefined: the template `approver`. */
  readonly by?: TemplateSettings | string | undefined;
}

/**
 * Joins the templates of all `approve` rules that match one call. The approvers of each must agree, in the order of the names. No name of
 * a rule contains it.
 */
export const TEMPLATE_JOINT = ' + ';

/** The templates that one name of a denial stands for: one, or those that are joined in it. */
export const templatesIn = (name: string): readonly string[] => name.split(TEMPLATE_JOINT);

/** The template of rules that do not say who approves. If no template has this name, one person with the role `approver` decides. */
export const USUAL_TEMPLATE = 'approver';

/** The template of the access request by which an `approve` rule can be met. */
export function templateOf({ name, by }: Pick<Rule, 'name' | 'by'>): string {
  if (by === undefined) return USUAL_TEMPLATE;
  return typeof by === 'string' ? by : name;
}

/** What the `allow` rules match that stand in place of this rule. */
export const exceptionsTo = ({ verb, name }: Pick<Rule, 'verb' | 'name'>, rules: readonly Rule[]): readonly Match[] =>
  verb === 'approve'
    ? rules.flatMap(({ match, insteadOf }) => (insteadOf?.includes(name) === true ? [match] : []))
    : [];

/** The name under which a rule stands among the files of policies: its path in the configuration. */
export const ruleFile = (index: number): string => `rules[${index}]`;

/** The index of the rule that stands under this name. Undefined for a file of a policy folder. */
export function ruleIndex(file: string): number | undefined {
  const [, index] = /^rules\[(\d+)\]$/.exec(file) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** The templates that the rules define themselves. */
export function templatesOf(rules: readonly Rule[]): Record<string, TemplateSettings> {
  return Object.fromEntries(rules.flatMap(({ name, by }) => (typeof by === 'object' ? [[name, by] as const] : [])));
}
