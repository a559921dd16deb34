import type { Stage } from '../../workflows/domain/access-request/stages.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { ownProperty } from '../../workflows/domain/canonical-json.ts';
import { DEFAULT_STAGE, stageFor, templateProblems } from '../shared/approvers/stages.ts';
import type { Config } from '../shared/config/config.ts';
import { formatPath } from '../shared/config/problems.ts';
import type { Directory } from '../shared/directory/directory.ts';

/** What a request is captured with: who has to agree, and for how long what holds. */
export interface Terms {
  readonly stages: readonly Stage[];
  readonly separateStages: boolean;
  readonly requestTtlMs: number;
  readonly approvalTtlMs: number;
  /** Whether somebody is told what becomes of the request. */
  readonly isNotified: boolean;
}

/** The terms in force for a template that a PDP has signed, if it named one, and a resource. */
export type TermsOf = (template: string | undefined, resource: string) => Terms;

/** Terms as the configuration has them. Throws `ERR_CONFIG_INVALID` where the directory makes nonsense of them. */
export function configuredTerms({ approvals }: Pick<Config, 'approvals'>, directory: Directory): TermsOf {
  const problems = templateProblems(approvals, directory);
  if (problems.length > 0) {
    const lines = problems.map(({ path, message }) => `${formatPath(path)}: ${message}`);
    throw new CountersignError('ERR_CONFIG_INVALID', lines.join('\n'));
  }
  return (name, resource) => {
    const template = name === undefined ? undefined : ownProperty(approvals.templates, name);
    return {
      stages: template?.stages.map((stage) => stageFor(stage, approvals.owners, resource)) ?? [DEFAULT_STAGE],
      separateStages: template?.separateStages ?? true,
      requestTtlMs: (template?.requestTtlSeconds ?? approvals.requestTtlSeconds) * 1_000,
      approvalTtlMs: (template?.approvalTtlSeconds ?? approvals.approvalTtlSeconds) * 1_000,
      isNotified: approvals.notifications !== undefined,
    };
  };
}
