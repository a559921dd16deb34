import type { Invariant } from './invariant.ts';

/** Approvals in advance: scope, time and number of uses. */
export const GRANTS: readonly Invariant[] = [
  {
    name: 'a grant approves no more requests than it has uses, and counts each',
    sql: `SELECT g.id FROM approvals."grant" g LEFT JOIN approvals.vote v ON v.grant_id = g.id
      LEFT JOIN approvals.grant_use u ON u.grant_id = v.grant_id AND u.access_request_id = v.access_request_id
      GROUP BY g.id, g.max_uses HAVING count(v.grant_id) > g.max_uses OR count(v.grant_id) <> count(u.grant_id)
      UNION ALL SELECT u.grant_id FROM approvals.grant_use u JOIN approvals.access_request r ON r.id = u.access_request_id
      LEFT JOIN approvals.vote v ON v.grant_id = u.grant_id AND v.access_request_id = u.access_request_id WHERE v.grant_id IS NULL`,
  },
  {
    name: 'a grant approves nothing after its end or its revocation',
    sql: `SELECT g.id FROM approvals."grant" g JOIN approvals.grant_use u ON u.grant_id = g.id
      LEFT JOIN approvals.vote v ON v.grant_id = g.id AND v.access_request_id = u.access_request_id
      WHERE u.at >= g.expires_at OR v.at > g.revoked_at`,
  },
  {
    name: 'a grant approves only requests of the same tool, agent and caller',
    sql: `SELECT g.id FROM approvals."grant" g JOIN approvals.vote v ON v.grant_id = g.id
      JOIN approvals.access_request r ON r.id = v.access_request_id
      WHERE (r.client_id, r.template, r.tool, r.tool_digest, r.requester_issuer, r.requester_subject, r.requester_client)
        IS DISTINCT FROM (g.client_id, g.template, g.tool, g.tool_digest, g.requester_issuer, g.requester_subject, g.requester_client)
        OR NOT (r.parties <@ g.parties AND g.parties <@ r.parties) OR v.approver_subject <> g.giver_subject`,
  },
  {
    name: 'a grant approves a request for as long and as often as policy allows for that request',
    sql: `SELECT g.id FROM approvals."grant" g JOIN approvals.grant_use u ON u.grant_id = g.id
      JOIN approvals.access_request r ON r.id = u.access_request_id
      WHERE (u.number <= r.grant_uses AND u.at < g.created_at + r.grant_seconds * interval '1 s') IS NOT TRUE`,
  },
  {
    name: 'no more calls arrive by a grant than it has uses',
    needs: 'keyed',
    sql: `SELECT g.id FROM arrived_call a JOIN gateway.submission s USING (gated_call_id)
      JOIN service_request r ON r.key = s.access_request_key JOIN approvals."grant" g ON g.id = r.grant_id
      GROUP BY g.id, g.max_uses HAVING count(*) > g.max_uses`,
  },
];
