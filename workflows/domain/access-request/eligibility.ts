import type { AccessRequest, Approver, Vote } from './access-request.ts';
import { automaticVoter, isAutomatic } from './automatic.ts';
import { type Part, partIn } from './parties.ts';
import { isOnePerson } from './same-person.ts';
import { type Electorate, openStage } from './stages.ts';

/** The role that opens the inbox, and that decides where no template says otherwise. */
export const APPROVER_ROLE = 'approver';

/**
 * The role of a supervising agent, which decides through the API alone and where a stage names it: by itself, by a group, or by a
 * role. It is no approver, so a stage for those is for people.
 */
export const AGENT_ROLE = 'approver-agent';

export type Ineligibility = 'not_eligible' | Part;

/** The deployment's directory of people. Nothing in it comes from a request. */
export interface People {
  find(subject: string):
    | {
        readonly displayName?: string;
        readonly isActive: boolean;
        readonly manager?: string;
        readonly groups: ReadonlySet<string>;
      }
    | undefined;
  membersOf(group: string): ReadonlySet<string>;
}

/** A voter with all names and persons behind the vote. */
export interface VoterNames extends Approver {
  /** Who speaks in the approver's place. */
  readonly castBy?: string | undefined;
  /** Names behind the voter beside their subject (`behind`). */
  readonly chain?: readonly string[] | undefined;
  /** The session of the inbox, for a person who decides in the browser. */
  readonly session?: BrowserSession | undefined;
}

export interface BrowserSession {
  readonly id: string;
  /** When the person last proved to the issuer who they are, in seconds since the epoch. Absent if the issuer does not say. */
  readonly signedInAt?: number | undefined;
}

type Asked = Pick<AccessRequest, 'requester' | 'parties' | 'delegates' | 'stages' | 'stage'>;

/**
 * Why a person may not vote in the open stage, in their own name or with another voice (`castBy`); undefined when they may. An
 * approver decides no request in which they have a part, or the person in whose place they decide, or any name behind their vote
 * (`chain`). No role changes that. The one exception is a stage that lets the requester confirm (`ownNamesIn`). Groups and managers are
 * looked up at the vote: a person who has left decides nothing.
 * @see ARAP, Approver Eligibility (ARAP-APV-01)
 */
export function ineligibilityOf(approver: VoterNames, asked: Asked, people: People): Ineligibility | undefined {
  const { subject, aliases = [], castBy = subject, chain = [] } = approver;
  const persons = [subject, ...aliases, castBy, ...chain];
  const own = ownNamesIn(approver, openStage(asked).approvers);
  const others = persons.filter((one) => !isOnePerson([one], own));
  const part = partIn(asked, others);
  if (part !== undefined) return part;
  if (persons.some((one) => people.find(one)?.isActive === false)) return 'not_eligible';
  const { approvers, automatic } = openStage(asked);
  const isResolver = isAutomatic(approver);
  const isEligible = isResolver
    ? automatic !== undefined && approver.subject === automaticVoter(automatic).subject
    : isResolver === false && (own.length > 0 || belongsTo(approvers, approver, { asked, people }));
  return isEligible ? undefined : 'not_eligible';
}

/**
 * The names of a voter by which they are the requester who may confirm a stage; empty for any other voter. A person can confirm only in
 * the browser, where no agent has a credential, and in their own name. How recently they signed in is checked when the vote is cast,
 * under the lock of the request (`approvals.own_names_in`).
 */
export function ownNamesIn(
  { issuer, subject, castBy = subject, chain = [], session }: VoterNames,
  { requester }: Pick<Electorate, 'requester'>,
): readonly string[] {
  if (session === undefined || castBy !== subject || requester?.issuer !== issuer) return [];
  return [subject, ...chain].filter((one) => requester.subjects.includes(one));
}

/**
 * Whether a visitor is the person for whom an agent asks: signed in with a browser at the issuer of the request, with its subject among the
 * names that this issuer gives them. A program is not, whichever token it holds.
 */
export const isRequester = (visitor: VoterNames, requester: AccessRequest['requester']): boolean =>
  visitor.session !== undefined && requester.issuer !== undefined && isOwnRequest(visitor, requester);

/** Whether an agent asks for a visitor, who comes by a browser or by a program. Where the request says no issuer, its subject is enough. */
export function isOwnRequest(visitor: VoterNames, { issuer = visitor.issuer, subject }: AccessRequest['requester']) {
  return issuer === visitor.issuer && namesAtIssuer(visitor).includes(subject);
}

/** The names by which their issuer knows a visitor. No program is behind a session, so there they are all names of the person. */
export const namesAtIssuer = ({ subject, chain = [], session }: Pick<VoterNames, 'subject' | 'chain' | 'session'>) =>
  session === undefined ? [subject] : [subject, ...chain];

/** Whether a person belongs to an electorate, and has not left. */
export function belongsTo(
  electorate: Electorate,
  approver: Approver,
  { asked, people }: { asked: Pick<Asked, 'requester'>; people: People },
): boolean {
  const { subject, roles } = approver;
  const known = people.find(subject);
  if (known?.isActive === false) return false;
  const groups = [...electorate.groups, ...(electorate.owners?.groups ?? [])];
  return (
    electorate.people.includes(subject) ||
    electorate.owners?.people.includes(subject) === true ||
    electorate.roles.some((role) => roles.includes(role)) ||
    groups.some((group) => known?.groups.has(group) === true) ||
    (electorate.requesterManager && people.find(asked.requester.subject)?.manager === subject)
  );
}

/**
 * Subjects that can decide the open stage at present; undefined where a role lets people in, who cannot be listed. A resolver is
 * one of them until it has answered.
 */
export function electorateOf(
  asked: Asked & Pick<AccessRequest, 'answers'>,
  people: People,
): ReadonlySet<string> | undefined {
  const { approvers, automatic } = openStage(asked);
  if (approvers.roles.length > 0) return undefined;
  const named = subjectsOf(approvers, people);
  const hasAnswered = asked.answers.some(({ stage }) => stage === asked.stage);
  if (automatic !== undefined && !hasAnswered) named.add(automaticVoter(automatic).subject);
  const manager = approvers.requesterManager ? people.find(asked.requester.subject)?.manager : undefined;
  if (manager !== undefined) named.add(manager);
  const others = [...named].filter((subject) => partIn(asked, [subject]) === undefined);
  const [requester] = approvers.requester?.subjects ?? [];
  const all = requester === undefined ? others : [...others, requester];
  return new Set(all.filter((subject) => people.find(subject)?.isActive !== false));
}

/** Whether an electorate has people at all: a stage may be for a resolver alone. */
export const hasPeople = ({ people, groups, roles, owners, requesterManager, requester }: Electorate): boolean =>
  people.length + groups.length + roles.length > 0 || (owners ?? requester) !== undefined || requesterManager;

/** All subjects that an electorate names, itself or through a group. */
export function subjectsOf(
  { people: named, groups, owners }: Pick<Electorate, 'people' | 'groups' | 'owners'>,
  people: People,
): Set<string> {
  const members = [...groups, ...(owners?.groups ?? [])].flatMap((group) => [...people.membersOf(group)]);
  return new Set([...named, ...(owners?.people ?? []), ...members]);
}

/** Subjects whose approval in the open stage no longer counts, since they have left or no longer belong to the electorate. */
export function lapsedApprovers(asked: Asked & Pick<AccessRequest, 'votes'>, people: People): string[] {
  const isLapsed = ({ approver, castBy, asRequester }: Vote) =>
    asRequester ? hasLeft(approver, people) : ineligibilityOf({ ...approver, castBy }, asked, people) !== undefined;
  return asked.votes
    .filter((vote) => vote.stage === asked.stage && vote.verdict === 'approve' && isLapsed(vote))
    .map(({ approver }) => approver.subject);
}

/** The role, beside `approver`, with which a person reads every request. It decides nothing. */
export const OVERSEER_ROLE = 'approver-overseer';

/** A reader of access requests, with the voices in which they may decide and their other rights. */
export interface Reader {
  readonly self: VoterNames;
  /** Those in whose place the reader may decide now. */
  readonly standsInFor: readonly Approver[];
  /** False for a supervising agent, which reads what it decides and nothing more. */
  readonly isPerson: boolean;
  /** Whether the reader may grant requests alone, in an emergency. */
  readonly mayBreakGlass: boolean;
}

interface Readable extends Pick<AccessRequest, 'requester' | 'stages' | 'status' | 'cancelled'> {
  readonly votes: readonly { readonly approver: { readonly subject: string }; readonly castBy?: string }[];
  readonly approval?: { readonly revoked?: { readonly by: string } };
  /** How it was granted, when that was in an emergency. */
  readonly emergency?: { readonly grantedBy: string; readonly review?: { readonly by: string } } | undefined;
}

/**
 * Whether a reader may read a request, arguments included. They may when it is their business (`isTheirBusiness`). A person may also read
 * the open requests that they may grant alone, and an overseer reads everything. A person who has left, as the directory says, reads
 * nothing. The store filters lists by the same rule, in SQL.
 * @see ARAP, Approver Eligibility (ARAP-APV-06)
 */
export function mayRead(reader: Reader, request: Readable, people: People): boolean {
  if (isTheirBusiness(reader, request, people)) return true;
  const { self, isPerson, mayBreakGlass } = reader;
  if (!isPerson || hasLeft(self, people)) return false;
  return self.roles.includes(OVERSEER_ROLE) || (mayBreakGlass && request.status === 'pending');
}

/**
 * Whether a request is more to a reader than something to read. It is when they decide a stage of it, be it over, open or still to come, by
 * themselves or in the place of another. It is when they voted in it, took it or its approval back, or asked for it. To a person it also is
 * when they granted it in an emergency, or may review that. A part in a request excludes from voting and from nothing else. Such a person
 * may take an approval back, which lets nothing run.
 */
export function isTheirBusiness(reader: Reader, request: Readable, people: People): boolean {
  const { self, isPerson } = reader;
  if (hasLeft(self, people)) return false;
  if (deciders(request).includes(self.subject)) return true;
  if (isPerson && isThePersons(reader, request)) return true;
  return voicesOf(reader, people).some((voice) =>
    request.stages.some(({ approvers }) => belongsTo(approvers, voice, { asked: request, people })),
  );
}

/** Subjects that took part in its outcome. */
function deciders({ votes, cancelled, approval }: Readable): (string | undefined)[] {
  const voters = votes.flatMap(({ approver, castBy }) => [approver.subject, castBy]);
  return [...voters, cancelled?.subject, approval?.revoked?.by];
}

function isThePersons({ self }: Reader, request: Readable): boolean {
  const { requester, stages, emergency } = request;
  if (requester.subject === self.subject || isRequester(self, requester)) return true;
  if (stages.some(({ approvers }) => ownNamesIn(self, approvers).length > 0)) return true;
  if (emergency === undefined) return false;
  // Every approver sees an emergency grant until another has reviewed it.
  return emergency.review === undefined || [emergency.grantedBy, emergency.review.by].includes(self.subject);
}

/** The names in which the reader could decide requests now: their own first. */
export function voicesOf({ self, standsInFor }: Pick<Reader, 'self' | 'standsInFor'>, people: People): Approver[] {
  return [self, ...standsInFor].filter((voice) => isAutomatic(voice) === false && !hasLeft(voice, people));
}

const hasLeft = ({ subject }: Approver, people: People) => people.find(subject)?.isActive === false;
