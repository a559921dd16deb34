import type { AccessRequest, Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import {
  AGENT_ROLE,
  ineligibilityOf,
  subjectsOf,
  type VoterNames,
} from '../../../workflows/domain/access-request/eligibility.ts';
import { earlierVote } from '../../../workflows/domain/access-request/quorum.ts';
import { requesterPerson, unanswered } from '../../../workflows/domain/access-request/requester-question.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { Config } from '../../shared/config/config.ts';
import type { Directory, DirectorySource } from '../../shared/directory/directory.ts';

interface RecipientOptions {
  readonly config: Pick<Config, 'mode' | 'identity' | 'urls'>;
  readonly people: DirectorySource;
  readonly delegations: {
    activeFrom(
      subjects: readonly string[],
      requestId: string,
    ): Promise<{ readonly delegator: string; readonly delegate: string }[]>;
  };
}

export type Recipients = ReturnType<typeof createRecipients>;

type InWhosePlace = Pick<VoterNames, 'castBy' | 'session'>;

/** Stands for the session in which people decide who come to the page from a message. It exists only here, so it casts no vote. */
const IN_BROWSER = { id: '' };

/**
 * Who is told about a request. There is no sign-in here, so roles come from the directory. In development, the people of the embedded
 * issuer count as well. Agents are never told.
 */
export function createRecipients({ config, people: directory, delegations }: RecipientOptions) {
  const { mode, identity, urls } = config;
  const examples = () => (mode === 'development' && identity.issuer === undefined ? identity.people : []);
  const approverOf = (subject: string): Approver => ({
    issuer: urls.issuer,
    subject,
    aliases: directory().otherNamesOf([subject]),
    roles: [
      ...(directory().find(subject)?.roles ?? []),
      ...(examples().find(({ name }) => name === subject)?.roles ?? []),
    ],
  });
  const isAgent = (subject: string) => approverOf(subject).roles.includes(AGENT_ROLE);
  /** Whether a person may vote now, by themselves or by the person who stands in for them. */
  const mayVote = (request: AccessRequest, subject: string, { castBy, session }: InWhosePlace = {}): boolean => {
    if (isEnded(request.status) || isAgent(subject) || isAgent(castBy ?? subject)) return false;
    const aliases = directory().otherNamesOf([subject, castBy ?? subject]);
    const voter = { ...approverOf(subject), aliases, castBy, session };
    return !earlierVote(request, voter, request.stage) && !ineligibilityOf(voter, request, directory());
  };
  return {
    /** Subjects of the people who may decide a request now and have not voted, and of those who stand in for them. */
    async of(request: AccessRequest): Promise<string[]> {
      if (isEnded(request.status)) return [];
      const asked = [...namedIn(request, directory(), examples())].filter((subject) =>
        mayVote(request, subject, { session: IN_BROWSER }),
      );
      const given = asked.length === 0 ? [] : await delegations.activeFrom(asked, request.id);
      const standIns = given.filter(({ delegator, delegate }) => mayVote(request, delegator, { castBy: delegate }));
      return [...new Set([...asked, ...standIns.map(({ delegate }) => delegate)])].sort();
    },

    /** The requester to whom questions wait: a person of this issuer who has not left. */
    asked(request: AccessRequest): string[] {
      const requester = requesterPerson(request);
      if (requester === undefined || isEnded(request.status) || unanswered(request).length === 0) return [];
      const { issuer, subject } = requester;
      const isHere = issuer === urls.issuer && !isAgent(subject) && directory().find(subject)?.isActive !== false;
      return isHere ? [subject] : [];
    },

    /** Whether this person has a vote of their own in a request now, wherever they decide. The requester has one in the browser only. */
    hasVote: (request: AccessRequest, subject: string) => mayVote(request, subject),

    /** A person with the roles that are known without a sign-in. */
    approverOf,
  };
}

type Example = Config['identity']['people'][number];

/** Subjects that the open stage names, itself or by what is known of people. */
function namedIn(
  { requester, ...request }: AccessRequest,
  people: Directory,
  examples: readonly Example[],
): ReadonlySet<string> {
  const { approvers } = openStage(request);
  const hasRole = ({ roles }: { readonly roles: readonly string[] }) =>
    roles.some((role) => approvers.roles.includes(role));
  const manager = approvers.requesterManager ? people.find(requester.subject)?.manager : undefined;
  return new Set([
    ...subjectsOf(approvers, people),
    ...people.people.filter(hasRole).map(({ subject }) => subject),
    ...examples.filter(hasRole).map(({ name }) => name),
    ...(manager === undefined ? [] : [manager]),
    ...(approvers.requester?.subjects.slice(0, 1) ?? []),
  ]);
}
