import type { Stage } from '../../workflows/domain/access-request/stages.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { ownProperty } from '../../workflows/domain/canonical-json.ts';
import { DEFAULT_STAGE, stageFor, templateProblems } from '../shared/approvers/stages.ts';
import type { Config } from '../shared/config/config.ts';
import { formatPath } from '../shared/config/problems.ts';
import type { Directory } from '../shared/directory/directory.ts';

/** The terms of a request: its stages and time limits. */
export interface Terms {
  readonly stages: readonly Stage[];
  readonly separateStages: boolean;
  readonly requestTtlMs: number;
  readonly approvalTtlMs: number;
  /** Whether notifications about the request are sent. */
  readonly isNotified: boolean;
}

/** The current terms for a resource and the template in the signed denial, if it names one. */
export type TermsOf = (template: string | undefined, resource: string) => Terms;

/** Throws `ERR_CONFIG_INVALID` when a template names approvers that the directory rules out. */
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
