import type { AccessRequest, Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import { AGENT_ROLE, ineligibilityOf, subjectsOf } from '../../../workflows/domain/access-request/eligibility.ts';
import { earlierVote } from '../../../workflows/domain/access-request/quorum.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';

interface RecipientOptions {
  readonly config: Pick<Config, 'mode' | 'identity' | 'urls'>;
  readonly people: DirectorySource;
  readonly delegations: {
    activeFrom(subjects: readonly string[]): Promise<{ readonly delegator: string; readonly delegate: string }[]>;
  };
}

export type RecipientsOf = (request: AccessRequest) => Promise<string[]>;

/**
 * Subjects of the people who may decide a request now and have not voted, and of those who stand in for them. There is no sign-in here, so
 * roles come from the directory. In development, the people of the embedded issuer count as well. Agents are never told.
 */
export function createRecipients({ config, people: directory, delegations }: RecipientOptions): RecipientsOf {
  const { mode, identity, urls } = config;
  const examples = () => (mode === 'development' && identity.issuer === undefined ? identity.people : []);
  return async (request) => {
    if (isEnded(request.status)) return [];
    const people = directory();
    const { approvers } = openStage(request);
    const rolesOf = (subject: string): readonly string[] => [
      ...(people.find(subject)?.roles ?? []),
      ...(examples().find(({ name }) => name === subject)?.roles ?? []),
    ];
    const hasRole = ({ roles }: { readonly roles: readonly string[] }) =>
      roles.some((role) => approvers.roles.includes(role));
    const named = new Set([
      ...subjectsOf(approvers, people),
      ...people.people.filter(hasRole).map(({ subject }) => subject),
      ...examples()
        .filter(hasRole)
        .map(({ name }) => name),
      ...(approvers.requesterManager ? [people.find(request.requester.subject)?.manager ?? ''] : []),
    ]);
    const mayVote = (subject: string, castBy?: string) => {
      const approver: Approver = { issuer: urls.issuer, subject, roles: rolesOf(subject) };
      if ([subject, castBy ?? subject].some((one) => rolesOf(one).includes(AGENT_ROLE))) return false;
      if (earlierVote(request, { subject, castBy }, request.stage) !== undefined) return false;
      return ineligibilityOf({ ...approver, castBy }, request, people) === undefined;
    };
    const asked = [...named].filter((subject) => mayVote(subject));
    const given = asked.length === 0 ? [] : await delegations.activeFrom(asked);
    const standIns = given.filter(({ delegator, delegate }) => mayVote(delegator, delegate));
    return [...new Set([...asked, ...standIns.map(({ delegate }) => delegate)])].sort();
  };
}
