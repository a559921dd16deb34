import type {
  AccessRequest,
  AccessRequestStatus,
  Verdict,
  Vote,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import type { ResolverAnswer } from '../../../workflows/domain/access-request/automatic.ts';
import type { Stage } from '../../../workflows/domain/access-request/stages.ts';
import type { EndNote } from './ending.ts';
import type { Action, Resource, Subject } from '../../../workflows/domain/authzen/evaluation.ts';

export interface AccessRequestRow {
  readonly id: string;
  readonly client_id: string;
  readonly bundle_id: string | null;
  readonly position: number;
  readonly bundle_size: number;
  readonly status: AccessRequestStatus;
  readonly evaluation_id: string;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly context: string;
  readonly tool: string;
  readonly template: string | null;
  readonly policies: string[];
  readonly reason: string | null;
  readonly title: string | null;
  readonly description: string | null;
  readonly requester_issuer: string | null;
  readonly requester_subject: string;
  readonly requester_client: string | null;
  readonly generation: number;
  readonly call_digest: string;
  readonly binding_hash: string;
  readonly binding_context_members: string[];
  readonly parties: string[];
  readonly delegates: string[];
  readonly stages: readonly Stage[];
  readonly stage: number;
  readonly stage_ends_at: Date | null;
  readonly reminded_at: Date | null;
  readonly separate_stages: boolean;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly ended_at: Date | null;
  readonly end_note: Partial<EndNote> | null;
  readonly approval_id: string | null;
  readonly approved_at: Date | null;
  readonly approved_until: Date | null;
  readonly approval_state: string | null;
  readonly revoked_at: Date | null;
  readonly revoked_by: string | null;
  readonly revoked_because: string | null;
  /** The retention period is over: clients can no longer read the task. */
  readonly past_retention: boolean;
  /** Pending although its deadline, or its stage's, has passed by the database's clock. */
  readonly overdue: boolean;
  readonly votes: readonly {
    readonly issuer: string;
    readonly subject: string;
    readonly roles: string[];
    readonly cast_by: string;
    readonly actors: string[];
    readonly stage: number;
    readonly verdict: Verdict;
    readonly reason: string | null;
    readonly via: VoteChannel;
    readonly at: string;
  }[];
  readonly answers: readonly (Omit<ResolverAnswer, 'reason'> & { readonly reason: string | null })[];
}

/** `context` is the expression for the context. Lists leave it out: it can have megabytes. */
const columns = (context: string) => `r.id, r.client_id, r.bundle_id, r.position,
    (SELECT count(*)::int FROM approvals.access_request i WHERE i.bundle_id = r.bundle_id) AS bundle_size, r.status, r.evaluation_id, r.subject, r.action, r.resource, ${context} AS context, r.tool,
    r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer, r.requester_subject, r.requester_client, r.generation,
    r.call_digest, r.binding_hash, r.binding_context_members, r.parties, approvals.delegates_of(r.parties, r.created_at) AS delegates, r.stages, r.stage, r.stage_ends_at,
    (SELECT max(n.at) FROM approvals.notice n WHERE n.access_request_id = r.id AND n.stage = r.stage AND n.event = 'reminder')
      AS reminded_at,
    r.separate_stages, r.created_at, r.expires_at, r.ended_at, r.end_note, r.approval_id, r.approved_at, r.approved_until, r.approval_state,
    o.at AS revoked_at, o.by_subject AS revoked_by, o.reason AS revoked_because,
    r.ended_at IS NOT NULL AND approvals.readable_until(r) <= clock_timestamp() AS past_retention,
    r.status = 'pending' AND least(r.expires_at, r.stage_ends_at) <= clock_timestamp() AS overdue, coalesce((
      SELECT json_agg(json_build_object('issuer', v.approver_issuer, 'subject', v.approver_subject, 'roles', v.approver_roles, 'cast_by', v.cast_by, 'actors', v.actors,
        'stage', v.stage,
        'verdict', v.verdict, 'reason', v.reason, 'via', v.via, 'at', v.at) ORDER BY v.at)
      FROM approvals.vote v WHERE v.access_request_id = r.id), '[]') AS votes, coalesce((
      SELECT json_agg(json_build_object('stage', a.stage, 'resolver', a.resolver, 'verdict', a.verdict, 'reason', a.reason, 'at', a.at)
        ORDER BY a.stage)
      FROM approvals.resolver_answer a WHERE a.access_request_id = r.id), '[]') AS answers`;

export const FROM_ACCESS_REQUESTS =
  'FROM approvals.access_request r LEFT JOIN approvals.revocation o ON o.access_request_id = r.id';
export const SUMMARY_COLUMNS = columns("''");
export const SELECT_WHOLE = `SELECT ${columns('r.context')} ${FROM_ACCESS_REQUESTS}`;

/** An access request without its context. */
export type AccessRequestSummary = Omit<AccessRequest, 'context'>;

export function summaryFrom(row: AccessRequestRow): AccessRequestSummary {
  const { context: _context, ...summary } = accessRequestFrom(row);
  return summary;
}

export function accessRequestFrom(row: AccessRequestRow): AccessRequest {
  return {
    id: row.id,
    clientId: row.client_id,
    ...(row.bundle_id !== null && { bundle: { id: row.bundle_id, position: row.position, size: row.bundle_size } }),
    status: row.status,
    evaluationId: row.evaluation_id,
    subject: JSON.parse(row.subject) as Subject,
    action: JSON.parse(row.action) as Action,
    resource: JSON.parse(row.resource) as Resource,
    context: row.context,
    tool: row.tool,
    ...(row.template !== null && { template: row.template }),
    policies: row.policies,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.title !== null && { title: row.title }),
    ...(row.description !== null && { description: row.description }),
    requester: {
      subject: row.requester_subject,
      ...(row.requester_issuer !== null && { issuer: row.requester_issuer }),
      ...(row.requester_client !== null && { clientId: row.requester_client }),
    },
    generation: row.generation,
    callDigest: row.call_digest,
    bindingHash: row.binding_hash,
    bindingContextMembers: row.binding_context_members,
    parties: row.parties,
    delegates: row.delegates,
    stages: row.stages,
    stage: row.stage,
    ...(row.stage_ends_at !== null && { stageEndsAt: row.stage_ends_at.toISOString() }),
    ...(row.reminded_at !== null && { remindedAt: row.reminded_at.toISOString() }),
    separateStages: row.separate_stages,
    votes: row.votes.map(voteFrom),
    answers: row.answers.map(({ reason, at, ...answer }) => ({
      ...answer,
      ...(reason !== null && { reason }),
      at: new Date(at).toISOString(),
    })),
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    ...(row.ended_at !== null && { endedAt: row.ended_at.toISOString() }),
    ...cancelledFrom(row.end_note),
    ...(row.past_retention && { pastRetention: true }),
    ...approvalFrom(row),
  };
}

function voteFrom({ at, reason, ...vote }: AccessRequestRow['votes'][number]): Vote {
  const { issuer, subject, roles, cast_by, actors, stage, verdict, via } = vote;
  const approver = { issuer, subject, roles };
  return {
    approver,
    ...(cast_by !== subject && { castBy: cast_by }),
    ...(actors.length > 0 && { actors }),
    stage,
    verdict,
    ...(reason !== null && { reason }),
    via,
    at: new Date(at).toISOString(),
  };
}

function cancelledFrom(note: Partial<EndNote> | null): Pick<AccessRequest, 'cancelled'> {
  if (note?.by === undefined) return {};
  const { by, reason } = note;
  const who = 'client' in by ? { client: by.client } : { subject: by.subject };
  return { cancelled: { ...who, ...(reason !== undefined && { reason }) } };
}

function approvalFrom(row: AccessRequestRow): Pick<AccessRequest, 'approval'> {
  const { approval_id, approved_at, approved_until, approval_state } = row;
  if (approval_id === null || approved_at === null || approved_until === null) return {};
  return {
    approval: {
      id: approval_id,
      approvedAt: approved_at.toISOString(),
      approvedUntil: approved_until.toISOString(),
      ...(approval_state !== null && { state: approval_state }),
      ...revocationFrom(row),
    },
  };
}

function revocationFrom({ revoked_at, revoked_by, revoked_because }: AccessRequestRow) {
  if (revoked_at === null || revoked_by === null) return {};
  const reason = revoked_because ?? undefined;
  return { revoked: { at: revoked_at.toISOString(), by: revoked_by, ...(reason !== undefined && { reason }) } };
}
