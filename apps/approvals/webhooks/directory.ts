import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { APPROVER_ROLE, belongsTo } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DirectorySource } from '../../shared/directory/source.ts';

/** Who a signed message may speak for. Undefined for somebody nobody knows: a signature does not make an approver. */
export type FindApprover = (named: { issuer: string | undefined; subject: string }) => Approver | undefined;

/**
 * Approvers as the configuration names them, themselves or by groups and roles of the directory as it is now, all of them at the
 * configured issuer. Nobody signs in here, so their roles are those that the directory has, and whoever is named has the one that
 * opens the inbox. Which requests they may decide is judged as for everybody else. The people of the embedded identity
 * provider count in development only: in production that provider does not exist, and its example people must not.
 */
export function configuredApprovers(
  { mode, urls, identity, approvals }: Config,
  directory: DirectorySource,
): FindApprover {
  const examples = mode === 'development' ? identity.people : [];
  const electorate = { ...approvals.webhookApprovers, requesterManager: false };
  return ({ issuer = urls.issuer, subject }) => {
    if (issuer !== urls.issuer) return undefined;
    const people = directory();
    const known = people.find(subject);
    const example = examples.find(({ name }) => name === subject)?.roles ?? [];
    // Who was named and is not in the directory any more has left.
    if (people.people.length > 0 && known === undefined && example.length === 0) return undefined;
    const approver = { issuer, subject, roles: [...example, ...(known?.roles ?? [])] };
    const isNamed = belongsTo(electorate, approver, { asked: { requester: { subject: '' } }, people });
    if (!isNamed && !example.includes(APPROVER_ROLE)) return undefined;
    return { ...approver, roles: [...new Set([APPROVER_ROLE, ...approver.roles])] };
  };
}
