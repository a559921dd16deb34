import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Config } from '../../shared/config/config.ts';

/** Who a signed message may speak for. Undefined for somebody nobody knows: a signature does not make an approver. */
export type FindApprover = (named: { issuer: string | undefined; subject: string }) => Approver | undefined;

/**
 * Approvers as the configuration names them, all of them at the configured issuer. The people of the embedded identity
 * provider count in development only: in production that provider does not exist, and its example people must not.
 */
export function configuredApprovers({ mode, urls, identity, approvals }: Config): FindApprover {
  const people = mode === 'development' ? identity.people : [];
  const subjects = new Set([
    ...people.filter(({ roles }) => roles.includes(APPROVER_ROLE)).map(({ name }) => name),
    ...approvals.webhookApprovers,
  ]);
  return ({ issuer = urls.issuer, subject }) =>
    issuer === urls.issuer && subjects.has(subject) ? { issuer, subject, roles: [APPROVER_ROLE] } : undefined;
}
