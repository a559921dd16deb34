import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { EndNote } from './new-rows.ts';
import { camelCased, atInUtc } from './query.ts';

export interface AccessRequestRow {
  readonly id: string;
  /** Pending although its deadline, or its stage's, has passed by the database's clock. */
  readonly overdue: boolean;
}

type Approval = NonNullable<AccessRequest['approval']>;

/** The columns in camel case: the members of the domain's type, with the nested ones still flat. */
interface FlatRequest extends Omit<AccessRequest, 'bundle' | 'requester' | 'cancelled' | 'approval'>, AccessRequestRow {
  readonly bundleId?: string;
  readonly position: number;
  readonly bundleSize: number;
  readonly requesterIssuer?: string;
  readonly requesterSubject: string;
  readonly requesterClient?: string;
  readonly endNote?: Partial<EndNote>;
  readonly approvalId?: string;
  readonly approvedAt?: string;
  readonly approvedUntil?: string;
  readonly approvalState?: string;
  readonly revoked?: NonNullable<Approval['revoked']>;
}

/** `context` is the expression for the context. Lists leave it out: it can have megabytes. */
const columns = (context: string) => `r.id, r.client_id, r.bundle_id, r.position,
    (SELECT count(*)::int FROM approvals.access_request i WHERE i.bundle_id = r.bundle_id) AS bundle_size, r.status, r.evaluation_id,
    r.subject::json AS subject, r.action::json AS action, r.resource::json AS resource, ${context} AS context, r.tool,
    r.template, r.policies, r.reason, r.title, r.description, r.requester_issuer, r.requester_subject, r.requester_client, r.generation,
    r.call_digest, r.binding_hash, r.binding_context_members, r.parties, approvals.delegates_of(r.parties, r.created_at) AS delegates, r.stages, r.stage, r.stage_ends_at,
    (SELECT max(n.at) FROM approvals.notice n WHERE n.access_request_id = r.id AND n.stage = r.stage AND n.event = 'reminder')
      AS reminded_at,
    r.separate_stages, r.created_at, r.expires_at, r.ended_at, r.end_note, r.approval_id, r.approved_at, r.approved_until, r.approval_state,
    CASE WHEN o.at IS NOT NULL THEN json_strip_nulls(json_build_object('at', o.at, 'by', o.by_subject, 'reason', o.reason)) END AS revoked,
    CASE WHEN r.ended_at IS NOT NULL AND approvals.readable_until(r) <= clock_timestamp() THEN true END AS past_retention,
    r.status = 'pending' AND least(r.expires_at, r.stage_ends_at) <= clock_timestamp() AS overdue, coalesce((
      SELECT json_agg(json_strip_nulls(json_build_object(
        'approver', json_build_object('issuer', v.approver_issuer, 'subject', v.approver_subject, 'roles', v.approver_roles),
        'castBy', CASE WHEN v.cast_by <> v.approver_subject THEN v.cast_by END, 'actors', CASE WHEN v.actors <> '{}' THEN v.actors END,
        'stage', v.stage, 'verdict', v.verdict, 'reason', v.reason, 'via', v.via, 'at', v.at)) ORDER BY v.at)
      FROM approvals.vote v WHERE v.access_request_id = r.id), '[]') AS votes, coalesce((
      SELECT json_agg(json_strip_nulls(json_build_object('stage', a.stage, 'resolver', a.resolver, 'verdict', a.verdict, 'reason', a.reason,
        'at', a.at)) ORDER BY a.stage)
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
  const { bundleId, position, bundleSize, requesterIssuer, requesterSubject, requesterClient, ...more } = camelCased(
    row,
  ) as FlatRequest;
  const { endNote, approvalId, approvedAt, approvedUntil, approvalState, revoked, overdue: _overdue, ...rest } = more;
  return {
    ...rest,
    ...(bundleId !== undefined && { bundle: { id: bundleId, position, size: bundleSize } }),
    requester: {
      subject: requesterSubject,
      ...(requesterIssuer !== undefined && { issuer: requesterIssuer }),
      ...(requesterClient !== undefined && { clientId: requesterClient }),
    },
    votes: rest.votes.map(atInUtc),
    answers: rest.answers.map(atInUtc),
    ...cancelledFrom(endNote),
    ...(approvalId !== undefined &&
      approvedAt !== undefined &&
      approvedUntil !== undefined && {
        approval: {
          ...{ id: approvalId, approvedAt, approvedUntil },
          ...(approvalState !== undefined && { state: approvalState }),
          ...(revoked && { revoked: atInUtc(revoked) }),
        },
      }),
  };
}

function cancelledFrom({ by, reason }: Partial<EndNote> = {}): Pick<AccessRequest, 'cancelled'> {
  if (by === undefined) return {};
  const who = 'client' in by ? { client: by.client } : { subject: by.subject };
  return { cancelled: { ...who, ...(reason !== undefined && { reason }) } };
}
