import type { Approver, Verdict, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import type { ResolverAnswer } from '../../../workflows/domain/access-request/automatic.ts';
import type { DirectoryFacts } from '../../../workflows/domain/access-request/quorum.ts';
import type { Stage } from '../../../workflows/domain/access-request/stages.ts';

/** A verified submission: everything that is fixed when a request is opened. JSON is RFC 8785 text. */
export interface NewAccessRequest {
  readonly id: string;
  readonly clientId: string;
  /** Name of the submitting credential. */
  readonly submittedBy: string;
  /** In a bundle, only the first item has it. */
  readonly idempotencyKey: string | undefined;
  readonly bodyDigest: string;
  readonly evaluationId: string;
  /** W3C trace id of the submission, if any. */
  readonly trace: string | undefined;
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
  /** Subjects that may not decide. */
  readonly parties: readonly string[];
  readonly stages: readonly Stage[];
  readonly separateStages: boolean;
  readonly requestTtlMs: number;
  readonly approvalTtlMs: number;
  readonly keepMs: number;
  /** Whether notifications about it are sent. */
  readonly isNotified: boolean;
  readonly requestedUntil: string | undefined;
  readonly callback:
    | { readonly endpoint: string; readonly state: string | undefined; readonly events: readonly string[] | undefined }
    | undefined;
}

/** One approver's verdict on the call that they saw. */
export interface NewVote {
  readonly requestId: string;
  /** Absent: the generation of the request. */
  readonly generation: number | undefined;
  readonly callDigest: string;
  readonly approver: Approver;
  /** The person who votes for the approver, and their delegation. */
  readonly standIn?: { readonly subject: string; readonly name?: string; readonly delegationId: string } | undefined;
  /** Names behind the voter beside these. */
  readonly chain?: readonly string[] | undefined;
  /** Subjects that act for the voter. */
  readonly actors?: readonly string[] | undefined;
  /** The stage that the voter looked at, from 1. Absent: the open one. */
  readonly stage?: number | undefined;
  /** The stage for which the approver was checked as eligible. */
  readonly judgedStage: number;
  readonly facts?: DirectoryFacts;
  readonly verdict: Verdict;
  readonly reason: string | undefined;
  readonly via: VoteChannel;
  /** Used only when this vote approves the request. */
  readonly approvalId: string;
}

/** A resolver's answer for the stage that it was asked about. */
export interface NewAnswer extends Omit<NewVote, 'verdict'> {
  readonly resolver: string;
  readonly stage: number;
  readonly verdict: ResolverAnswer['verdict'];
}

/** Columns that requests and bundles share. */
export function submissionColumns(request: NewAccessRequest) {
  return {
    client_id: request.clientId,
    submitted_by: request.submittedBy,
    idempotency_key: request.idempotencyKey,
    body_digest: request.bodyDigest,
    callback_endpoint: request.callback?.endpoint,
    callback_state: request.callback?.state,
    callback_events: request.callback?.events,
  };
}

export function newRow(request: NewAccessRequest) {
  return {
    ...submissionColumns(request),
    id: request.id,
    evaluation_id: request.evaluationId,
    trace_id: request.trace,
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
    parties: request.parties,
    stages: request.stages,
    separate_stages: request.separateStages,
    approval_ms: request.approvalTtlMs,
    requested_until: request.requestedUntil,
    ttl_ms: request.requestTtlMs,
    keep_ms: request.keepMs,
    notified: request.isNotified,
  };
}

export function voteRow(vote: Omit<NewVote, 'verdict'> & { readonly verdict: ResolverAnswer['verdict'] }) {
  return {
    request_id: vote.requestId,
    generation: vote.generation,
    call_digest: vote.callDigest,
    approver_issuer: vote.approver.issuer,
    approver_subject: vote.approver.subject,
    approver_name: vote.approver.name,
    approver_roles: vote.approver.roles,
    cast_by: vote.standIn?.subject,
    cast_by_name: vote.standIn?.name,
    chain: vote.chain,
    actors: vote.actors,
    delegation_id: vote.standIn?.delegationId,
    stage: vote.stage,
    judged_stage: vote.judgedStage,
    lapsed: vote.facts?.lapsed,
    electorate: vote.facts?.electorate && [...vote.facts.electorate],
    verdict: vote.verdict,
    reason: vote.reason,
    via: vote.via,
    approval_id: vote.approvalId,
  };
}
