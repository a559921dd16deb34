import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import { ineligibilityOf, type Ineligibility } from '../../../workflows/domain/access-request/eligibility.ts';
import { tally } from '../../../workflows/domain/access-request/quorum.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { Visitor } from './authenticate.ts';

/** Why this visitor cannot decide this request. */
export type Obstacle = Ineligibility | 'final' | 'already_voted';

/** What is in the way of this visitor's vote; undefined when nothing is. */
export function obstacleTo(visitor: Visitor, request: AccessRequestSummary): Obstacle | undefined {
  const ineligible = ineligibilityOf(visitor, request.requester);
  if (ineligible !== undefined) return ineligible;
  if (isEnded(request.status)) return 'final';
  return ownVote(visitor, request) === undefined ? undefined : 'already_voted';
}

export function ownVote({ issuer, subject }: Visitor, { votes }: AccessRequestSummary) {
  return votes.find(({ approver }) => approver.issuer === issuer && approver.subject === subject);
}

/** The call in a request: the arguments that will run, and whatever else was bound beside them. Both RFC 8785 text. */
export function callOf({ context }: Pick<AccessRequest, 'context'>): { arguments: string; rest: string | undefined } {
  const { arguments: args, call_digest: _digest, agent: _agent, ...rest } = JSON.parse(context) as JsonObject;
  return {
    arguments: canonicalJson(args ?? null),
    rest: Object.keys(rest).length === 0 ? undefined : canonicalJson(rest),
  };
}

/** A request as the API lists it. */
export function summaryView(request: AccessRequestSummary) {
  const { id, status, tool, title, subject, requester, template, policies, reason } = request;
  const { generation, callDigest, quorum } = request;
  return {
    id,
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
    quorum,
    approvals: tally(request.votes, quorum).approvals,
    createdAt: request.createdAt,
    expiresAt: request.expiresAt,
    endedAt: request.endedAt,
    approvedUntil: request.approval?.approvedUntil,
  };
}

/** A request in full: the complete call, the votes, and whether the visitor may vote. */
export function detailView(request: AccessRequest, visitor: Visitor) {
  const call = callOf(request);
  return {
    ...summaryView(request),
    description: request.description,
    action: request.action,
    resource: request.resource,
    arguments: JSON.parse(call.arguments) as unknown,
    /** RFC 8785 text: the digest is made of this. */
    argumentsText: call.arguments,
    context: JSON.parse(request.context) as unknown,
    votes: request.votes,
    obstacle: obstacleTo(visitor, request),
  };
}
