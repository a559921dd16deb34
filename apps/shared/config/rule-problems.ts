import { isObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { type Match, type Rule, USUAL_TEMPLATE } from '../rules/rules.ts';
import type { SettingProblem } from './problems.ts';
import { ruleSettings } from './rule-settings.ts';

/** The parts of the configuration that rules have to fit. */
interface Surroundings {
  /** A rule that cannot be read is undefined. */
  readonly rules?: readonly (Rule | undefined)[] | undefined;
  readonly mcpServers: object;
  readonly approvals: { readonly templates: object };
  readonly directory: { readonly file?: unknown };
}

/** Problems between rules, and between a rule and the rest of the configuration. */
export function ruleProblems(file: Surroundings): SettingProblem[] {
  const { rules = [] } = file;
  return rules.flatMap((rule, index) => {
    // A rule with other problems arrives here as it was written.
    if (!isObject(rule?.match)) return [];
    const isTwice = rules.findIndex((other) => other?.name === rule.name) !== index;
    const twice = { path: [], message: `another rule is named ${quote(rule.name)} too: give this one another name` };
    const found = [
      ...(isTwice ? [twice] : []),
      ...matchProblems(rule, file),
      ...approverProblems(rule, file),
      ...exceptionProblems(rule, rules),
    ];
    return found.map(({ path, message }) => ({ path: ['rules', index, ...path], message }));
  });
}

const quote = (name: string) => JSON.stringify(name);

function matchProblems({ verb, match }: Rule, surroundings: Surroundings): SettingProblem[] {
  const { not = [] } = match;
  return [
    ...callProblems(match, [verb], surroundings),
    // One exclusion may stand without a list.
    ...not.flatMap((one, index) => callProblems(one, [verb, 'not', ...(not.length > 1 ? [index] : [])], surroundings)),
  ];
}

function callProblems(
  { server = [], caller }: Match,
  at: readonly (string | number)[],
  { mcpServers, directory }: Surroundings,
): SettingProblem[] {
  const servers = Object.keys(mcpServers).join(', ');
  const known = servers === '' ? 'which is empty' : `which has ${servers}`;
  const unknown = server.filter((one) => !Object.hasOwn(mcpServers, one));
  const problems: SettingProblem[] = unknown.map((one) => ({
    path: [...at, 'server'],
    message: `there is no ${quote(one)} in mcpServers, ${known}`,
  }));
  if (caller?.group !== undefined && directory.file === undefined) {
    const message = 'groups are known from a directory: set directory.file';
    problems.push({ path: [...at, 'caller', 'group'], message });
  }
  return problems;
}

/** An exception to a rule that is not there would have no effect, or another one after a rule is renamed. */
function exceptionProblems({ insteadOf = [] }: Rule, rules: readonly (Rule | undefined)[]): SettingProblem[] {
  const asking = rules.flatMap((rule) => (rule?.verb === 'approve' ? [rule.name] : []));
  const unknown = insteadOf.filter((name) => !asking.includes(name));
  const known = asking.length === 0 ? 'there is none' : `the names are ${asking.map(quote).join(', ')}`;
  return unknown.map((name) => ({ path: ['insteadOf'], message: `no approve rule is named ${quote(name)}: ${known}` }));
}

function approverProblems({ name, by }: Rule, { approvals: { templates } }: Surroundings): SettingProblem[] {
  const has = (template: string) => Object.hasOwn(templates, template);
  if (typeof by === 'string' && !has(by)) {
    const message = `approvals.templates has no ${quote(by)}: add it, or name people, groups or roles, as in { people: ${by} }`;
    return [{ path: ['by'], message }];
  }
  if (typeof by === 'object' && name === USUAL_TEMPLATE) {
    const message = `the approvers of this rule would become those of every rule without by: give the rule another name than ${quote(name)}`;
    return [{ path: ['by'], message }];
  }
  if (typeof by === 'object' && has(name)) {
    const message = `approvals.templates has ${quote(name)} too: give the rule another name, or use by: ${name}`;
    return [{ path: ['by'], message }];
  }
  return [];
}

/** The same for a file that has other problems as well, so that its author reads all of them at once. */
export function ruleProblemsOf(raw: unknown): SettingProblem[] {
  if (!isObject(raw) || !Array.isArray(raw['rules'])) return [];
  const { mcpServers, approvals, directory } = raw;
  return ruleProblems({
    rules: raw['rules'].map((rule) => ruleSettings.safeParse(rule).data),
    mcpServers: objectOf(mcpServers),
    approvals: { templates: objectOf(objectOf(approvals)['templates']) },
    directory: objectOf(directory),
  });
}
