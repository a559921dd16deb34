import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { camelCased, instant } from './query.ts';

export interface AccessRequestRow {
  readonly id: string;
  /** Pending although its deadline, or its stage's, has passed by the database's clock. */
  readonly overdue: boolean;
}

/** The members of the domain's type. `context` is the expression for the context, which lists leave out: it can have megabytes. */
const columns = (context: string) => `
    r.id, r.client_id, CASE WHEN r.bundle_id IS NOT NULL THEN json_build_object('id', r.bundle_id,
      'position', r.position, 'size', (SELECT count(*) FROM approvals.access_request i WHERE i.bundle_id = r.bundle_id)) END AS bundle,
    r.status, r.evaluation_id,
    r.subject::json AS subject, r.action::json AS action, r.resource::json AS resource, ${context} AS context, r.effect, r.outline::json AS outline, r.tool,
    r.template, r.policies, r.reason, r.title, r.description, json_strip_nulls(json_build_object(
      'issuer', r.requester_issuer, 'subject', r.requester_subject, 'clientId', r.requester_client)) AS requester, r.generation, r.call_digest,
    r.binding_hash, r.binding_context_members, CASE WHEN approvals.is_grantable(r) THEN
      json_build_object('seconds', r.grant_seconds, 'uses', r.grant_uses) END AS grantable, r.parties, approvals.delegates_of(r.parties, r.created_at) AS delegates, r.stages, r.stage, r.stage_ends_at,
    (SELECT json_agg(json_strip_nulls(json_build_object('stage', e.stage, 'number', e.number,
        'by', json_build_object('issuer', e.by_issuer, 'subject', e.by_subject), 'from', ${instant('e.ends_before')},
        'to', ${instant('e.ends_after')}, 'reason', e.reason, 'at', ${instant('e.at')})) ORDER BY e.stage, e.number)
      FROM approvals.extension e WHERE e.access_request_id = r.id) AS extensions,
    (SELECT json_agg(json_strip_nulls(json_build_object('from', d.delegator_subject, 'to', d.delegate_subject,
        'names', d.delegator_names, 'at', ${instant('d.created_at')},
        'revokedAt', ${instant('d.revoked_at')})) ORDER BY d.created_at)
      FROM approvals.delegation d WHERE d.access_request_id = r.id) AS hand_overs,
    (SELECT json_agg(json_strip_nulls(json_build_object('number', q.number, 'stage', q.stage, 'by', json_build_object('issuer', q.by_issuer,
        'subject', q.by_subject), 'onBehalfOf', q.on_behalf_of, 'question', q.question, 'at', ${instant('q.at')},
        'answer', CASE WHEN w.number IS NOT NULL THEN json_build_object('text', w.answer, 'at', ${instant('w.at')}) END)) ORDER BY q.number)
      FROM approvals.requester_question q LEFT JOIN approvals.requester_answer w USING (access_request_id, number)
      WHERE access_request_id = r.id) AS questions,
    (SELECT max(n.at) FROM approvals.notice n WHERE n.access_request_id = r.id AND n.stage = r.stage AND n.event = 'reminder')
      AS reminded_at,
    (SELECT json_agg(json_build_object('by', p.subject, 'at', ${instant('p.last_at')}) ORDER BY p.last_at)
      FROM approvals.page_opening p WHERE p.access_request_id = r.id AND r.status = 'pending'
        AND p.last_at > clock_timestamp() - interval '10 min' AND NOT EXISTS (SELECT FROM approvals.vote v
          WHERE v.access_request_id = r.id AND v.stage = r.stage AND p.subject = ANY (v.names))) AS page_openings,
    r.separate_stages, r.created_at, r.expires_at, r.ended_at, CASE WHEN r.end_note -> 'by' IS NOT NULL THEN
      json_strip_nulls(json_build_object('client', r.end_note #>> '{by,client}', 'subject', r.end_note #>> '{by,subject}',
        'reason', r.end_note ->> 'reason')) END AS cancelled, r.end_note ->> 'why' AS why_denied,
    CASE WHEN r.approval_id IS NOT NULL THEN json_strip_nulls(json_build_object('id', r.approval_id,
      'approvedAt', ${instant('r.approved_at')}, 'approvedUntil', ${instant('r.approved_until')}, 'state', r.approval_state,
      'fetchedAt', ${instant('r.approval_fetched_at')},
      'revoked', CASE WHEN o.at IS NOT NULL THEN
        json_build_object('at', ${instant('o.at')}, 'by', o.by_subject, 'reason', o.reason) END)) END AS approval,
    CASE WHEN r.ended_at IS NOT NULL AND approvals.readable_until(r) <= clock_timestamp() THEN true END AS past_retention,
    r.status = 'pending' AND least(r.expires_at, r.stage_ends_at) <= clock_timestamp() AS overdue, coalesce((
      SELECT json_agg(json_strip_nulls(json_build_object(
        'approver', json_build_object('issuer', v.approver_issuer, 'subject', v.approver_subject, 'roles', v.approver_roles),
        'names', v.names, 'castBy', CASE WHEN v.cast_by <> v.approver_subject THEN v.cast_by END, 'actors', CASE WHEN v.actors <> '{}' THEN v.actors END,
        'asRequester', CASE WHEN v.as_requester THEN true END, 'stage', v.stage, 'verdict', v.verdict, 'reason', v.reason,
        'agentMessage', v.agent_message, 'via', v.via, 'grant', v.grant_id,
        'passkey', CASE WHEN v.passkey_assertion IS NOT NULL THEN true END, 'at', ${instant('v.at')})) ORDER BY v.at)
      FROM approvals.vote v WHERE v.access_request_id = r.id), '[]') AS votes, coalesce((
      SELECT json_agg(json_strip_nulls(json_build_object('stage', a.stage, 'resolver', a.resolver, 'verdict', a.verdict, 'reason', a.reason,
        'at', ${instant('a.at')})) ORDER BY a.stage)
      FROM approvals.resolver_answer a WHERE a.access_request_id = r.id), '[]') AS answers`;

export const FROM_ACCESS_REQUESTS =
  'FROM approvals.access_request r LEFT JOIN approvals.revocation o ON o.access_request_id = r.id';
export const SUMMARY_COLUMNS = columns('NULL');
export const SELECT_WHOLE = `SELECT ${columns('r.context')} ${FROM_ACCESS_REQUESTS}`;

/** An access request without its context. */
export type AccessRequestSummary = Omit<AccessRequest, 'context'>;

/** The request in a row with its context, or with the columns of a summary. */
export function accessRequestFrom({ overdue: _overdue, ...row }: AccessRequestRow): AccessRequest {
  return camelCased(row) as AccessRequest;
}
