import type {
  AccessRequest,
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import { tally } from '../../../workflows/domain/access-request/quorum.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import { canBreakGlass, capacitiesOf, obstacleTo, type Seat } from './seat.ts';

/** The stage that is open, or was at the end: how far it is, and who may decide it, by the names of what they belong to. */
export function stageView(request: AccessRequestSummary) {
  const { name, quorum, veto, approvers, automatic } = openStage(request);
  const { people, groups, roles, owners, requesterManager } = approvers;
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
      automatic,
    },
  };
}

/** RFC 8785 texts of what a request is about. */
interface ShownCall {
  /** What will run; undefined where no call of a tool is asked for. */
  readonly arguments: string | undefined;
  /** Whatever else policy was asked about, and the denial binds. */
  readonly bound: string | undefined;
  /** What was added to the request and is bound to nothing: the requester's own words. */
  readonly said: string | undefined;
}

/** Whether a call of a tool is asked for. */
const isToolCall = ({ context }: Pick<AccessRequest, 'context'>): boolean =>
  Object.hasOwn(JSON.parse(context) as JsonObject, 'arguments');

/** The call in a request, and what stands beside it. */
export function callOf(request: Pick<AccessRequest, 'context' | 'bindingContextMembers'>): ShownCall {
  const { arguments: args, call_digest: _digest, agent: _agent, ...rest } = JSON.parse(request.context) as JsonObject;
  const members = (areBound: boolean) => {
    const chosen = Object.entries(rest).filter(([name]) => request.bindingContextMembers.includes(name) === areBound);
    return chosen.length === 0 ? undefined : canonicalJson(Object.fromEntries(chosen));
  };
  return {
    arguments: args === undefined ? undefined : canonicalJson(args),
    bound: members(true),
    said: members(false),
  };
}

/** A request as the API lists it. */
export function summaryView(request: AccessRequestSummary) {
  const { id, status, tool, title, subject, requester, template, policies, reason } = request;
  const { generation, callDigest } = request;
  const stage = stageView(request);
  return {
    id,
    bundle: request.bundle,
    status,
    tool,
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
    endedAt: request.endedAt,
    approvedUntil: request.approval?.approvedUntil,
    revoked: request.approval?.revoked,
  };
}

/** Everything that an approver sees of the call in a request. */
export function callView(request: AccessRequest) {
  const { arguments: args = 'null', said } = callOf(request);
  return {
    description: request.description,
    action: request.action,
    resource: request.resource,
    arguments: JSON.parse(args) as unknown,
    /** RFC 8785 text: the digest is made of this. */
    argumentsText: args,
    context: JSON.parse(request.context) as unknown,
    /** Bound to nothing: what the requester was asked for, or said. */
    requesterInput: said === undefined ? undefined : (JSON.parse(said) as unknown),
  };
}

/** A request in full: the complete call, the votes, and whether the visitor may vote. */
export function detailView(request: AccessRequest, seat: Seat, broken?: BrokenGlass) {
  return {
    ...summaryView(request),
    ...callView(request),
    votes: request.votes.map(({ approver: { issuer, subject }, ...vote }) => ({
      approver: { issuer, subject },
      ...vote,
    })),
    /** What automatic resolvers answered, also where it is no vote. */
    answers: request.answers,
    breakGlass: broken,
    mayBreakGlass: canBreakGlass(seat, request),
    obstacle: obstacleTo(seat, request),
    /** Subjects in whose place the visitor may vote. */
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

/** What decided, where it was no person. */
const NO_PERSON: Partial<Record<VoteChannel, string>> = { agent: 'agent', automatic: 'automatic' };

/** Says beside a name that it is no person's; nothing beside the name of one. */
export function NoPerson({ via }: { via: VoteChannel }) {
  const word = NO_PERSON[via];
  return word === undefined ? null : <span class="badge info">{word}</span>;
}

/** How an ended request came to its end, in one sentence. */
const ENDED = {
  approved: 'It was approved.',
  denied: 'It was denied.',
  expired: 'Nobody decided in time.',
  cancelled: 'It was cancelled.',
  failed: 'It could not be decided.',
} as const satisfies Record<Exclude<AccessRequestStatus, 'pending'>, string>;

/** What to say of a call of a tool, which runs once. */
const CALL = {
  heading: { open: 'What will run', ended: 'The call' },
  label: 'Arguments of the call',
  asked: 'asked to run this',
  onceGranted: 'If you approve, exactly this call runs, once, as soon as policy confirms it.',
  granted: 'The call runs if policy still allows it.',
  notGranted: 'The call does not run.',
  cancelled: 'Nobody decides it then, and the call does not run.',
  revoked: 'A call that has not begun does not run on it. What has begun goes on.',
} as const;

/** The same of anything else that policy was asked about: whoever asked may do it for as long as the approval holds. */
const ACCESS = {
  heading: { open: 'What is asked for', ended: 'What was asked for' },
  label: 'Action and resource',
  asked: 'asked for this',
  onceGranted:
    'If you approve, exactly this is allowed for as long as the approval holds, unless policy says otherwise.',
  granted: 'It is allowed for as long as the approval holds, unless policy says otherwise.',
  notGranted: 'It is not allowed.',
  cancelled: 'Nobody decides it then, and it is not allowed.',
  revoked: 'It is not allowed any more. What has begun goes on.',
} as const;

/** The words for what is asked for. */
export const wordsOf = (request: Pick<AccessRequest, 'context'>) => (isToolCall(request) ? CALL : ACCESS);

/** What became of an ended request, and what follows from it. */
export function endOf(request: AccessRequest & { readonly status: keyof typeof ENDED }): string {
  const { granted, notGranted } = wordsOf(request);
  return `${ENDED[request.status]} ${request.status === 'approved' ? granted : notGranted}`;
}
