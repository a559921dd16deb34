import type { Pool, QueryResultRow } from 'pg';
import type {
  AccessRequest,
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import { accessRequestFrom, SELECT_ACCESS_REQUEST, type AccessRequestRow } from './access-request.row.ts';

/** A verified submission: everything that is fixed when an access request is opened. Texts are RFC 8785 where JSON. */
export interface NewAccessRequest {
  readonly id: string;
  readonly clientId: string;
  readonly idempotencyKey: string;
  readonly bodyDigest: string;
  readonly evaluationId: string;
  readonly tokenId: string;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly context: string;
  readonly tool: string;
  readonly template: string | undefined;
  readonly policies: readonly string[];
  readonly reason: string | undefined;
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

export type VoteOutcome = 'counted' | 'repeated' | 'already_voted' | 'final' | 'mismatch' | 'own_request' | 'not_found';

/** What the callback of an ended request says, and where it goes. */
export interface PendingCallback {
  readonly endpoint: string;
  readonly state: string | undefined;
  readonly status: AccessRequestStatus;
  readonly endedAt: string;
}

export type AccessRequestStore = ReturnType<typeof createAccessRequestStore>;

/** Access requests and votes. The database decides every change, under the lock of the request's row. */
export function createAccessRequestStore(pool: Pool) {
  const query = async <Row extends QueryResultRow>(name: string, text: string, values: unknown[] = []) =>
    (await pool.query<Row>({ name: `approvals-${name}`, text, values })).rows;
  const outcomeOf = async <Outcome extends string>(name: string, call: string, values: unknown[]) => {
    const [row] = await query<{ outcome: Outcome }>(name, `SELECT ${call} AS outcome`, values);
    if (row === undefined) throw new Error(`statement ${name} gave no row`);
    return row.outcome;
  };
  const select = (name: string, rest: string, values: unknown[]) =>
    query<AccessRequestRow>(name, `${SELECT_ACCESS_REQUEST} ${rest}`, values);

  /** The request, never pending past its deadline: it is expired before it is shown. */
  const find = async (id: string): Promise<AccessRequest | undefined> => {
    const [row] = await select('find', 'WHERE r.id = $1', [id]);
    if (row === undefined || !row.overdue) return row && accessRequestFrom(row);
    await query('expire', 'SELECT approvals.expire_access_request($1)', [id]);
    return find(id);
  };

  return {
    find,

    async findByKey(clientId: string, idempotencyKey: string) {
      const [row] = await query<{ id: string; body_digest: string }>(
        'find-by-key',
        'SELECT id, body_digest FROM approvals.access_request WHERE client_id = $1 AND idempotency_key = $2',
        [clientId, idempotencyKey],
      );
      return row && { id: row.id, bodyDigest: row.body_digest };
    },

    async create(request: NewAccessRequest) {
      const [row] = await query<{ outcome: 'created' | 'repeated' | 'conflict' | 'replayed'; id: string }>(
        'create',
        'SELECT * FROM approvals.create_access_request($1)',
        [JSON.stringify(newRow(request))],
      );
      if (row === undefined) throw new Error('create_access_request gave no row');
      return row;
    },

    /** Open ones oldest first, ended ones newest first. */
    async list(which: 'open' | 'ended', limit: number): Promise<AccessRequest[]> {
      await query('expire-due', 'SELECT approvals.expire_due(1000)');
      const rest =
        which === 'open'
          ? "WHERE r.status = 'pending' ORDER BY r.created_at LIMIT $1"
          : "WHERE r.status <> 'pending' ORDER BY r.ended_at DESC LIMIT $1";
      return (await select(`list-${which}`, rest, [limit])).map(accessRequestFrom);
    },

    castVote: (vote: NewVote) =>
      outcomeOf<VoteOutcome>('cast-vote', 'approvals.cast_vote($1)', [JSON.stringify(voteRow(vote))]),

    /** Counts the vote in a signed message, once for each message. `conflict`: the id was used for another message. */
    acceptDecision: (message: { source: string; webhookId: string; bodyDigest: string }, vote: NewVote) =>
      outcomeOf<VoteOutcome | 'conflict'>('accept-decision', 'approvals.accept_decision($1, $2, $3, $4)', [
        message.source,
        message.webhookId,
        message.bodyDigest,
        JSON.stringify(voteRow(vote)),
      ]),

    cancel: (id: string, clientId: string) =>
      outcomeOf<'cancelled' | 'final' | 'not_found'>('cancel', 'approvals.cancel_access_request($1, $2)', [
        id,
        clientId,
      ]),

    /** Ends requests past their deadline; answers how many. */
    async expireDue(limit: number): Promise<number> {
      const [row] = await query<{ ended: number }>('sweep', 'SELECT approvals.expire_due($1) AS ended', [limit]);
      return row?.ended ?? 0;
    },

    /** Keeps the first signed proof of an approval and answers the one that is kept. */
    async keepApprovalState(id: string, state: string): Promise<string> {
      await query(
        'keep-state',
        'UPDATE approvals.access_request SET approval_state = $2 WHERE id = $1 AND approval_state IS NULL',
        [id, state],
      );
      const kept = await this.approvalState(id);
      if (kept === undefined) throw new Error(`access request ${id} keeps no approval state`);
      return kept;
    },

    async approvalState(id: string): Promise<string | undefined> {
      const [row] = await query<{ approval_state: string | null }>(
        'approval-state',
        'SELECT approval_state FROM approvals.access_request WHERE id = $1',
        [id],
      );
      return row?.approval_state ?? undefined;
    },

    /** Undefined when there is no such request, nobody to tell, or nothing to tell yet. */
    async callbackOf(id: string): Promise<PendingCallback | undefined> {
      const [row] = await query<{
        endpoint: string;
        state: string | null;
        status: AccessRequestStatus;
        ended_at: Date;
      }>(
        'callback',
        `SELECT callback_endpoint AS endpoint, callback_state AS state, status, ended_at FROM approvals.access_request
         WHERE id = $1 AND callback_endpoint IS NOT NULL AND ended_at IS NOT NULL`,
        [id],
      );
      if (row === undefined) return undefined;
      const { endpoint, state, status, ended_at } = row;
      return { endpoint, state: state ?? undefined, status, endedAt: ended_at.toISOString() };
    },
  };
}

function newRow(request: NewAccessRequest) {
  return {
    id: request.id,
    client_id: request.clientId,
    idempotency_key: request.idempotencyKey,
    body_digest: request.bodyDigest,
    evaluation_id: request.evaluationId,
    token_jti: request.tokenId,
    subject: request.subject,
    action: request.action,
    resource: request.resource,
    context: request.context,
    tool: request.tool,
    template: request.template,
    policies: request.policies,
    reason: request.reason,
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
  };
}

function voteRow(vote: NewVote) {
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
