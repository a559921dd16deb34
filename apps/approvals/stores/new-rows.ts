import type { Verdict, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';

/** A verified submission: everything that is fixed when an access request is opened. Texts are RFC 8785 where JSON. */
export interface NewAccessRequest {
  readonly id: string;
  readonly clientId: string;
  /** Name of the credential that it came with. */
  readonly submittedBy: string;
  readonly idempotencyKey: string;
  readonly bodyDigest: string;
  readonly evaluationId: string;
  readonly tokenId: string;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly context: string;
  /** The rest of the submission. */
  readonly claimed: string;
  readonly tool: string;
  readonly template: string | undefined;
  readonly policies: readonly string[];
  readonly reason: string | undefined;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly requester: {
    readonly issuer: string | undefined;
    readonly subject: string;
    readonly clientId: string | undefined;
  };
  readonly generation: number;
  readonly callDigest: string;
  readonly bindingHash: string;
  readonly bindingContextMembers: readonly string[];
  readonly quorum: number;
  readonly ttlMs: number;
  readonly keepMs: number;
  readonly requestedUntil: string | undefined;
  readonly callback:
    | { readonly endpoint: string; readonly state: string | undefined; readonly events: readonly string[] | undefined }
    | undefined;
}

/** One approver's verdict with what they saw. */
export interface NewVote {
  readonly requestId: string;
  /** Absent: the generation the request has, whichever that is. */
  readonly generation: number | undefined;
  readonly callDigest: string;
  readonly approver: { readonly issuer: string; readonly subject: string };
  readonly verdict: Verdict;
  readonly reason: string | undefined;
  readonly via: VoteChannel;
  /** Spent only when this vote settles the request. */
  readonly approvalId: string;
  readonly approvalTtlMs: number;
}

/** Names of columns and values, as the SQL functions take them. */
export function newRow(request: NewAccessRequest) {
  return {
    id: request.id,
    client_id: request.clientId,
    submitted_by: request.submittedBy,
    idempotency_key: request.idempotencyKey,
    body_digest: request.bodyDigest,
    evaluation_id: request.evaluationId,
    token_jti: request.tokenId,
    subject: request.subject,
    action: request.action,
    resource: request.resource,
    context: request.context,
    claimed: request.claimed,
    tool: request.tool,
    template: request.template,
    policies: request.policies,
    reason: request.reason,
    title: request.title,
    description: request.description,
    requester_issuer: request.requester.issuer,
    requester_subject: request.requester.subject,
    requester_client: request.requester.clientId,
    generation: request.generation,
    call_digest: request.callDigest,
    binding_hash: request.bindingHash,
    binding_context_members: request.bindingContextMembers,
    quorum: request.quorum,
    requested_until: request.requestedUntil,
    callback_endpoint: request.callback?.endpoint,
    callback_state: request.callback?.state,
    callback_events: request.callback?.events,
    ttl_ms: request.ttlMs,
    keep_ms: request.keepMs,
  };
}

export function voteRow(vote: NewVote) {
  return {
    request_id: vote.requestId,
    generation: vote.generation,
    call_digest: vote.callDigest,
    approver_issuer: vote.approver.issuer,
    approver_subject: vote.approver.subject,
    verdict: vote.verdict,
    reason: vote.reason,
    via: vote.via,
    approval_id: vote.approvalId,
    approval_ms: vote.approvalTtlMs,
  };
}
