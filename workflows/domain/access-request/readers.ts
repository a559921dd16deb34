import type { AccessRequest, Approver } from './access-request.ts';
import { isAutomatic } from './automatic.ts';
import { belongsTo, type People } from './eligibility.ts';

/** The role, beside `approver`, with which a person reads every request. It decides nothing. */
export const OVERSEER_ROLE = 'approver-overseer';

/** Who wants to read access requests, in which voices they may decide, and what else they may do. */
export interface Reader {
  readonly self: Approver;
  /** Those in whose place the reader may decide now. */
  readonly standsInFor: readonly Approver[];
  /** False for a supervising agent, which reads what it decides and nothing more. */
  readonly isPerson: boolean;
  /** Whether the reader may grant requests alone, in an emergency. */
  readonly mayBreakGlass: boolean;
}

/** What of a request says who may read it. */
export interface Readable extends Pick<AccessRequest, 'requester' | 'stages' | 'status' | 'cancelled'> {
  readonly votes: readonly { readonly approver: { readonly subject: string }; readonly castBy?: string }[];
  readonly approval?: { readonly revoked?: { readonly by: string } };
  /** How it was granted, when that was in an emergency. */
  readonly emergency?: { readonly grantedBy: string; readonly review?: { readonly by: string } } | undefined;
}

/**
 * Whether a reader may read a request, arguments included. They may when they decide a stage of it, be it over, open or still to
 * come, by themselves or in the place of another. They may when they voted in it, or took it or its approval back. A person may
 * also read what they asked for, what they may grant alone or did, and what they may review or did; an overseer reads everything.
 * A part in a request takes the vote and not the sight of it. Who has left, as the directory says, reads nothing. The store
 * filters lists by the same rule, in SQL.
 * @see ARAP, Approver Eligibility (ARAP-APV-06)
 */
export function mayRead(reader: Reader, request: Readable, people: People): boolean {
  const { self, isPerson } = reader;
  if (hasLeft(self, people)) return false;
  if (deciders(request).includes(self.subject)) return true;
  if (isPerson && isThePersons(reader, request)) return true;
  return voicesOf(reader, people).some((voice) =>
    request.stages.some(({ approvers }) => belongsTo(approvers, voice, { asked: request, people })),
  );
}

/** Subjects that had a hand in what became of it. */
function deciders({ votes, cancelled, approval }: Readable): (string | undefined)[] {
  const voters = votes.flatMap(({ approver, castBy }) => [approver.subject, castBy]);
  return [...voters, cancelled?.subject, approval?.revoked?.by];
}

function isThePersons({ self, mayBreakGlass }: Reader, { requester, status, emergency }: Readable): boolean {
  if (self.roles.includes(OVERSEER_ROLE) || requester.subject === self.subject) return true;
  if (mayBreakGlass && status === 'pending') return true;
  if (emergency === undefined) return false;
  // Every approver sees an emergency grant until another has reviewed it.
  return emergency.review === undefined || [emergency.grantedBy, emergency.review.by].includes(self.subject);
}

/** In whose name the reader could decide anything at all now: their own first. */
export function voicesOf({ self, standsInFor }: Pick<Reader, 'self' | 'standsInFor'>, people: People): Approver[] {
  return [self, ...standsInFor].filter((voice) => isAutomatic(voice) === false && !hasLeft(voice, people));
}

const hasLeft = ({ subject }: Approver, people: People) => people.find(subject)?.isActive === false;
