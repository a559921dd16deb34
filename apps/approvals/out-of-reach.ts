import type { Logger } from 'pino';
import type { AccessRequest } from '../../workflows/domain/access-request/access-request.ts';
import {
  type KnownPeople,
  openStageOutOfReach,
  outOfReach,
  type OutOfReach,
} from '../../workflows/domain/access-request/reach.ts';
import { approverWarnings } from '../shared/approvers/known-people.ts';
import type { Config } from '../shared/config/config.ts';
import { formatPath } from '../shared/config/problems.ts';
import type { DirectorySource } from '../shared/directory/directory.ts';
import { ApiProblem } from './access-requests/problem.ts';

const ALARM = 'approvers_missing';

export interface ReachOptions {
  readonly known: () => KnownPeople;
  /** Whether a person may grant alone, past the stages. */
  readonly hasBreakGlass: boolean;
  readonly log: Logger;
}

type NewRequest = Parameters<typeof outOfReach>[0] & { readonly template: string | undefined };

const NO_APPROVERS =
  'no one who is known here could approve this, so it is not asked for; the operators of the service read why in its log';

/**
 * Refuses a request that no known people could ever approve: it would wait until its deadline. Where a person may grant alone, it opens all
 * the same, with the alarm. Throws an `ApiProblem` (400).
 */
export function createRefuseOutOfReach({ known, hasBreakGlass, log }: ReachOptions) {
  return ({ template, ...asked }: NewRequest): void => {
    const found = outOfReach(asked, known());
    if (found === undefined) return;
    log.error(
      { alarm: ALARM, template, ...found },
      `${inWords(found)} ${hasBreakGlass ? '' : 'The request was not opened. '}${HOW}`,
    );
    if (!hasBreakGlass) throw new ApiProblem('not_requestable', NO_APPROVERS);
  };
}

/** What keeps the open stage of a request from being approved, in words. Undefined if it can be, or if that cannot be known. */
export function whyOutOfReach(request: AccessRequest, people: KnownPeople): string | undefined {
  const found = openStageOutOfReach(request, people);
  return found && inWords(found);
}

const inWords = ({ stage, needed, there }: OutOfReach): string =>
  `The stage “${stage}” needs ${needed} more ${needed === 1 ? 'approval' : 'approvals'}, and ${there} known ${there === 1 ? 'person' : 'people'} can give one.`;

const HOW = 'Correct the approvers of the template, or add people to the directory.';

/** Says which approvers of the configuration nothing knows: their requests would wait in vain. */
export function reportUnknownApprovers(
  config: Config,
  { people, log }: { readonly people: DirectorySource; readonly log: Logger },
): void {
  for (const { path, message } of approverWarnings(config, people())) log.warn(`${formatPath(path)}: ${message}`);
}

/** Raises the alarm for stages that opened without enough people, or whose people have left. */
export const reportOutOfReach = (log: Logger, accessRequests: readonly string[], what: string): void =>
  log.error({ alarm: ALARM, accessRequests }, `${what} ${HOW}`);
