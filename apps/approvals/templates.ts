import type { ConfirmerNames, Stage } from '../../workflows/domain/access-request/stages.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { ownProperty } from '../../workflows/domain/canonical-json.ts';
import { DEFAULT_STAGE, stageFor, templateProblems } from '../shared/approvers/stages.ts';
import { isTold } from '../shared/config/channel-settings.ts';
import type { Config } from '../shared/config/config.ts';
import { templatesIn } from '../shared/rules/rules.ts';
import { formatPath } from '../shared/config/problems.ts';
import type { Directory } from '../shared/directory/directory.ts';
import { ApiProblem } from './access-requests/problem.ts';

/** The terms of a request: its stages and time limits. */
export interface Terms {
  readonly stages: readonly Stage[];
  readonly separateStages: boolean;
  readonly requestTtlMs: number;
  readonly approvalTtlMs: number;
  /** Whether people or programs are told about the request. */
  readonly isNotified: boolean;
}

/** What the signed denial says about templates. */
export interface DeniedTemplate {
  /** Undefined: it names none. */
  readonly template?: string | undefined;
  /** Those that the configuration of the decision point listed. */
  readonly listedTemplates?: readonly string[] | undefined;
}

/**
 * The current terms for a denial, a resource and the person whose agent asks. Undefined if a template that the decision point found in its
 * configuration is not listed here: it was removed since, or has not arrived yet. One approver would then stand in for those that the
 * denial demands. Throws an `ApiProblem` (400) if only the requester may decide, and no person asks.
 */
export type TermsOf = (denial: DeniedTemplate, resource: string, requester?: ConfirmerNames) => Terms | undefined;

/** No approval can cure the denial, so the call ends. */
const NO_PERSON =
  'only the requester may confirm this, and no person asks: sign in as a person, or name other approvers in the template too';

/** Throws `ERR_CONFIG_INVALID` when a template names approvers that the directory rules out. */
export function refuseUnfitTemplates({ approvals }: Pick<Config, 'approvals'>, directory: Directory): void {
  const problems = templateProblems(approvals, directory);
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  throw new CountersignError('ERR_CONFIG_INVALID', lines.join('\n'));
}

/** Reads the templates for each request. Throws as `refuseUnfitTemplates` does. */
export function configuredTerms(config: Pick<Config, 'mode' | 'approvals'>, directory: Directory): TermsOf {
  const { approvals } = config;
  const { owners } = approvals;
  refuseUnfitTemplates({ approvals }, directory);
  const termsOf = (name: string | undefined, resource: string, requester: ConfirmerNames | undefined): Terms => {
    const template = name === undefined ? undefined : ownProperty(approvals.templates, name);
    const stages = template?.stages.map((settings) => {
      const passkey = template.passkey || settings.passkey;
      const { chatDecisions, grantsEndAtSignOut, maxExtensionSeconds } = template;
      const whole = { ...settings, passkey, chatDecisions, grantsEndAtSignOut, maxExtensionSeconds };
      const stage = stageFor(whole, owners, { resource, requester });
      if (stage === undefined) throw new ApiProblem('not_requestable', NO_PERSON);
      return stage;
    });
    return {
      stages: stages ?? [DEFAULT_STAGE],
      separateStages: template?.separateStages ?? true,
      requestTtlMs: (template?.requestTtlSeconds ?? approvals.requestTtlSeconds) * 1_000,
      approvalTtlMs: (template?.approvalTtlSeconds ?? approvals.approvalTtlSeconds) * 1_000,
      isNotified: isTold(config),
    };
  };
  return ({ template: name, listedTemplates = [] }, resource, requester) => {
    if (!listedTemplates.every((one) => Object.hasOwn(approvals.templates, one))) return undefined;
    const names = name === undefined ? [] : templatesIn(name);
    if (names.length < 2) return termsOf(name, resource, requester);
    return together(names.map((one) => ({ name: one, terms: termsOf(one, resource, requester) })));
  };
}

/** The reasons that the configuration has now for these templates. They are choices only, so a request does not keep them. */
export type PresetReasonsOf = (template: string | undefined) => readonly string[];

export function configuredReasons({ approvals }: Pick<Config, 'approvals'>): PresetReasonsOf {
  return (template) => {
    const names = template === undefined ? [] : templatesIn(template);
    const reasons = [template ?? '', ...names].flatMap(
      (name) => ownProperty(approvals.templates, name)?.presetReasons ?? [],
    );
    return [...new Set(reasons)];
  };
}

/**
 * The terms of a request that must meet several templates: the stages of each in order, and the shortest of their times. Templates with
 * equal stages count once. A person may decide in the stages of two templates, unless one of them counts a person in one stage only.
 */
function together(all: readonly { readonly name: string; readonly terms: Terms }[]): Terms {
  const stagesOf = ({ terms }: (typeof all)[number]) => JSON.stringify(terms.stages);
  const kept = all.filter((one, index) => all.findIndex((other) => stagesOf(other) === stagesOf(one)) === index);
  const terms = kept.map((one) => one.terms);
  return {
    stages: kept.flatMap(({ name, terms: { stages } }) =>
      stages.map((stage) => ({ ...stage, name: `${name}: ${stage.name}` })),
    ),
    separateStages: terms.some(({ separateStages, stages }) => separateStages && stages.length > 1),
    requestTtlMs: Math.min(...terms.map(({ requestTtlMs }) => requestTtlMs)),
    approvalTtlMs: Math.min(...terms.map(({ approvalTtlMs }) => approvalTtlMs)),
    isNotified: terms.some(({ isNotified }) => isNotified),
  };
}
