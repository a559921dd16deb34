import type { Approver, Requester } from './access-request.ts';

/** The role without which nobody votes. */
export const APPROVER_ROLE = 'approver';

export type Ineligibility = 'role_missing' | 'own_request';

/**
 * Why somebody may not vote on what this requester asked for; undefined when they may. Nobody decides what they asked
 * for themselves, nor does the agent that asked. The issuer plays no part: it is not bound to the denial, so a false
 * one must not be able to open the way.
 * @see ARAP, Approver Eligibility
 */
export function ineligibilityOf(approver: Approver, requester: Requester): Ineligibility | undefined {
  if (approver.subject === requester.subject || approver.subject === requester.clientId) return 'own_request';
  return approver.roles.includes(APPROVER_ROLE) ? undefined : 'role_missing';
}
