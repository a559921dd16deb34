import { ineligibilityOf, type People } from '../../../workflows/domain/access-request/eligibility.ts';
import type { StillApprover } from '../stand-ins.ts';
import type { GrantStore } from '../stores/grant.store.ts';
import type { NewAccessRequest } from '../stores/new-rows.ts';
import { argumentsIn, covers } from './scope.ts';

/** Ids of the grants that cover a request which is about to be opened. The database decides under the lock of each. */
export type CoveringGrants = (request: NewAccessRequest) => Promise<readonly string[]>;

interface CoveringGrantsOptions {
  readonly store: Pick<GrantStore, 'fitting'>;
  readonly people: () => People;
  readonly still: StillApprover;
}

/**
 * A grant is a resolver whose answer is known before a request is opened. It covers a request if policy allows a grant, the arguments meet
 * its conditions, and its giver could still approve this request.
 */
export function createCoveringGrants({ store, people, still }: CoveringGrantsOptions): CoveringGrants {
  return async (request) => {
    const args = request.grantSeconds === undefined ? undefined : argumentsIn(request.context);
    if (args === undefined) return [];
    const { requester, parties, stages } = request;
    // Delegates are looked up under the lock.
    const asked = { requester: { subject: requester.subject }, parties, stages, stage: 1, delegates: [] };
    const fitting = await store.fitting(request);
    return fitting.flatMap(({ id, giver, giverChain, ...scope }) => {
      const approver = covers(scope, args) ? still(giver) : undefined;
      if (approver === undefined) return [];
      return ineligibilityOf({ ...approver, chain: giverChain }, asked, people()) === undefined ? [id] : [];
    });
  };
}
