import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import type { TemplateSettings } from '../config/approver-settings.ts';

/** What a rule does with the calls that it matches, from the strictest to the most lenient. */
export const VERBS = ['deny', 'approve', 'allow'] as const;
export type Verb = (typeof VERBS)[number];

/** A condition on one argument. An argument of another type than the condition cannot be tested, just as a missing one. */
export type Condition =
  | { readonly kind: 'oneOf'; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: 'like'; readonly pattern: string }
  | { readonly kind: 'over' | 'under'; readonly bound: number }
  | { readonly kind: 'present'; readonly is: boolean };

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
}

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
