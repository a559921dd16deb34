import type {
  AccessRequest,
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import { decideBefore } from '../../../workflows/domain/access-request/deadline.ts';
import { tally } from '../../../workflows/domain/access-request/quorum.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { ShownPreviews } from '../access-requests/preview.ts';
import {
  canBreakGlass,
  capacitiesOf,
  extensionBy,
  handOverBy,
  isAskedIn,
  obstacleTo,
  questionBy,
  type Reading,
  type Seat,
} from './seat.ts';
import { mayWithdraw } from './withdrawals.ts';

/** The page openings by others than the subject `visitor`. */
export const openingsByOthers = ({ pageOpenings = [] }: Pick<AccessRequest, 'pageOpenings'>, visitor: string) =>
  pageOpenings.filter(({ by }) => by !== visitor);

/** The open or last stage: its progress, and the groups and roles that may decide it. People are only counted. */
export function stageView(request: AccessRequestSummary) {
  const { name, quorum, veto, approvers, automatic } = openStage(request);
  const { people, groups, roles, owners, requesterManager, requester } = approvers;
  return {
    name,
    position: request.stage,
    of: request.stages.length,
    quorum,
    approvals: tally(request).approvals,
    veto,
    endsAt: request.stageEndsAt,
    approvers: {
      people: people.length,
      groups,
      roles,
      resourceOwner: owners !== undefined,
      requesterManager,
      requester: requester !== undefined,
      automatic,
    },
  };
}

const isToolCall = ({ context }: Pick<AccessRequest, 'context'>): boolean =>
  Object.hasOwn(JSON.parse(context) as JsonObject, 'arguments');

/** The contents of a request, as RFC 8785 texts. */
export function callOf(request: Pick<AccessRequest, 'context' | 'bindingContextMembers'>) {
  const { arguments: args, call_digest: _digest, agent: _agent, ...rest } = JSON.parse(request.context) as JsonObject;
  const members = (areBound: boolean) => {
    const chosen = Object.entries(rest).filter(([name]) => request.bindingContextMembers.includes(name) === areBound);
    return chosen.length === 0 ? undefined : canonicalJson(Object.fromEntries(chosen));
  };
  return {
    /** The arguments of the call; undefined if the request is not for a tool call. */
    arguments: args === undefined ? undefined : canonicalJson(args),
    /** The rest of the evaluated context, which the denial binds. */
    bound: members(true),
    /** Context that the requester added and the denial does not bind. */
    said: members(false),
  };
}

/** A request in API lists. */
export function summaryView(request: AccessRequestSummary) {
  const { id, status, tool, title, subject, requester, template, policies, reason } = request;
  const { generation, callDigest } = request;
  const stage = stageView(request);
  return {
    id,
    bundle: request.bundle,
    status,
    tool,
    effect: request.effect,
    title,
    subject: { type: subject.type, id: subject.id },
    requester,
    template,
    policies,
    reason,
    generation,
    callDigest,
    quorum: stage.quorum,
    approvals: stage.approvals,
    stage,
    remindedAt: request.remindedAt,
    createdAt: request.createdAt,
    expiresAt: request.expiresAt,
    /** The end of the open stage, or that of the request if it is earlier. */
    decideBefore: request.endedAt === undefined ? decideBefore(request) : undefined,
    endedAt: request.endedAt,
    approvedUntil: request.approval?.approvedUntil,
    approvalFetchedAt: request.approval?.fetchedAt,
    revoked: request.approval?.revoked,
  };
}

/** Everything that an approver sees of the call. */
export function callView(request: AccessRequest) {
  const { arguments: args = 'null', said } = callOf(request);
  return {
    description: request.description,
    action: request.action,
    resource: request.resource,
    arguments: JSON.parse(args) as unknown,
    /** RFC 8785 text, which the digest covers. */
    argumentsText: args,
    context: JSON.parse(request.context) as unknown,
    /** The requester's own input, which the denial does not bind. */
    requesterInput: said === undefined ? undefined : (JSON.parse(said) as unknown),
  };
}

/** A request with the complete call, the votes, and what the visitor may do. */
export function detailView(
  request: AccessRequest,
  seat: Seat,
  { broken, previews }: Partial<Pick<Reading, 'broken'> & { readonly previews: ShownPreviews | undefined }> = {},
) {
  return {
    ...summaryView(request),
    ...callView(request),
    /** Why it was denied without a vote. */
    whyDenied: request.whyDenied,
    votes: request.votes.map(({ approver: { issuer, subject }, names: _names, ...vote }) => ({
      approver: { issuer, subject },
      ...vote,
    })),
    /** All answers of automatic resolvers, including those that are not votes. */
    answers: request.answers,
    extensions: request.extensions,
    /** The number of the next extension of the open stage that the visitor may make, and its most minutes. */
    extendable: extensionBy(seat, request),
    handOvers: request.handOvers?.map(({ names: _names, ...handOver }) => handOver),
    /** The number of the next hand-over of this request that the visitor may make. */
    handOver: handOverBy(seat, request),
    questions: request.questions,
    /** The number of the next question that the visitor may ask the requester. */
    question: questionBy(seat, request),
    /** Whether questions wait for the visitor. */
    mayAnswer: isAskedIn(request, seat),
    breakGlass: broken,
    /** The word of the server, taken last. It is not bound to the decision. */
    preview: previews?.latest,
    /** The previews before it, without their content. */
    earlierPreviews: previews?.earlier.map(({ parts: _parts, ...earlier }) => earlier),
    mayTakePreview: previews?.canBeTaken ?? false,
    mayBreakGlass: canBreakGlass(seat, request),
    mayCancel: request.status === 'pending' && mayWithdraw('cancel', { seat, request, broken }),
    /** While the approval is valid. */
    mayRevoke:
      request.approval !== undefined && !request.approval.revoked && mayWithdraw('revoke', { seat, request, broken }),
    /** The greatest grant that policy allows an approver to give with an approval. */
    grantable: request.grantable,
    obstacle: obstacleTo(seat, request),
    /** Subjects for whom the visitor may vote. */
    onBehalfOf: capacitiesOf(seat, request).flatMap(({ approver, standIn }) => (standIn ? [approver.subject] : [])),
  };
}

const STATUS = {
  pending: ['Open', 'info'],
  approved: ['Approved', 'good'],
  denied: ['Denied', 'bad'],
  expired: ['Expired', 'warn'],
  cancelled: ['Cancelled', ''],
  failed: ['Failed', 'bad'],
} as const satisfies Record<AccessRequestStatus, readonly [string, string]>;

export function StatusBadge({ status }: { status: AccessRequestStatus }) {
  const [word, tone] = STATUS[status];
  return <span class={`badge ${tone}`.trim()}>{word}</span>;
}

export const DECIDED = { approve: 'approved', deny: 'denied' } as const satisfies Record<Verdict, string>;

/** Marks a name that did not speak as a person at that moment. */
export const NoPerson = ({ via }: { via: VoteChannel }) =>
  via === 'agent' || via === 'automatic' || via === 'grant' ? <span class="badge info">{via}</span> : null;

const ENDED = {
  approved: 'It was approved.',
  denied: 'It was denied.',
  expired: 'It expired before it was decided, and the agent can ask again.',
  cancelled: 'It was cancelled.',
  failed: 'It could not be decided, and the agent can ask again.',
} as const satisfies Record<Exclude<AccessRequestStatus, 'pending'>, string>;

/** Words for a tool call, which runs once. */
const CALL = {
  heading: { open: 'What will run', ended: 'The call' },
  label: 'Arguments of the call',
  asked: 'asked to run this',
  onceGranted: 'exactly this call runs, once, as soon as policy confirms it.',
  confirm: 'Confirm and run',
  granted: 'The call runs if policy still allows it.',
  notUsed: 'The call does not run on it.',
  notGranted: 'The call does not run.',
  cancelled: 'Approvers can no longer decide it, and the call does not run.',
  revoked: 'A call that has not started does not run on this approval. A call that has started goes on.',
} as const;

/** Words for any other access: the requester may use it for as long as the approval is valid. */
const ACCESS = {
  heading: { open: 'The requested access', ended: 'The requested access' },
  label: 'Action and resource',
  asked: 'asked for this',
  onceGranted: 'exactly this is allowed for as long as the approval is valid, unless policy denies it.',
  confirm: 'Confirm',
  granted: 'It is allowed for as long as the approval is valid, unless policy denies it.',
  notUsed: 'It was not used.',
  notGranted: 'It is not allowed.',
  cancelled: 'Approvers can no longer decide it, and it is not allowed.',
  revoked: 'It is no longer allowed. Work that has started goes on.',
} as const;

export const wordsOf = (request: Pick<AccessRequest, 'context'>) => (isToolCall(request) ? CALL : ACCESS);

/** How a request ended, and what follows. */
export function endOf(request: AccessRequest & { readonly status: keyof typeof ENDED }): string {
  const { granted, notGranted } = wordsOf(request);
  const why = request.whyDenied === undefined ? '' : ` ${request.whyDenied}`;
  return `${ENDED[request.status]}${why} ${request.status === 'approved' ? granted : notGranted}`;
}
