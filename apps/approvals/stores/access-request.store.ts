import type { Pool } from 'pg';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { type Bundle, BUNDLE_PREFIX } from '../../../workflows/domain/access-request/statement.ts';
import type { Ineligibility } from '../../../workflows/domain/access-request/eligibility.ts';
import { functionCall } from '../../shared/database/function-call.ts';
import { accessRequestFrom, SELECT_WHOLE, type AccessRequestRow } from './access-request.row.ts';
import { bundles } from './bundles.ts';
import { callbacks, notices } from './callbacks.ts';
import { ending } from './ending.ts';
import { lists } from './lists.ts';
import { newRow, voteRow, type NewAccessRequest, type NewAnswer, type NewVote } from './new-rows.ts';
import { one, outcomeOf, queryOf, type Query } from './query.ts';
import { statements } from './statements.ts';

export type VoteOutcome =
  | 'counted'
  | 'repeated'
  | 'already_voted'
  | 'final'
  | 'mismatch'
  | 'stage_over'
  | 'delegation_over'
  | Ineligibility
  | 'not_found';

type Created =
  | { readonly outcome: 'created'; readonly expires_at: Date }
  | { readonly outcome: 'repeated' | 'conflict'; readonly id: string }
  | { readonly outcome: 'replayed' };

export type AccessRequestStore = ReturnType<typeof createAccessRequestStore>;

/** Access requests and votes. The database decides every change, holding the lock of the request's row. */
export function createAccessRequestStore(pool: Pool) {
  const query = queryOf(pool);
  const { findBundle, ...bundling } = bundles(query);
  const { find, ...read } = reading(query);
  return {
    ...{
      ...read,
      ...lists(query),
      ...changing(query),
      ...ending(query),
      ...proving(query),
      ...notices(query),
      ...bundling,
    },
    ...callbacks(query, findBundle),
    ...statements(query),
    find,

    /** The task with this id: a bundle, or a request outside a bundle. */
    async findTask(id: string): Promise<AccessRequest | Bundle | undefined> {
      if (!ID.test(id)) return undefined;
      if (id.startsWith(BUNDLE_PREFIX)) return findBundle(id);
      const request = await find(id);
      return request?.bundle === undefined ? request : undefined;
    },
  };
}

/** An id from a URL may contain anything, even characters that a text column rejects. */
const ID = new RegExp(`^(arq_|${BUNDLE_PREFIX})[A-Za-z0-9_-]{1,64}$`);

function reading(query: Query) {
  /** Expires the request or its stage first if a deadline has passed: a reader never sees it pending past its deadline. */
  const find = async (id: string): Promise<AccessRequest | undefined> => {
    if (!ID.test(id)) return undefined;
    const [row] = await query<AccessRequestRow>('find', `${SELECT_WHOLE} WHERE r.id = $1`, [id]);
    if (row === undefined || !row.overdue) return row && accessRequestFrom(row);
    await query('expire', 'SELECT approvals.expire_access_request($1)', [id]);
    return find(id);
  };
  return {
    find,

    /** The task that a client opened with this idempotency key. */
    async findByKey(clientId: string, idempotencyKey: string) {
      const [row] = await query<{ id: string; body_digest: string }>(
        'find-by-key',
        `SELECT coalesce(bundle_id, id) AS id, body_digest FROM approvals.access_request WHERE client_id = $1 AND idempotency_key = $2`,
        [clientId, idempotencyKey],
      );
      return row && { id: row.id, bodyDigest: row.body_digest };
    },

    /** Whether this denial has already opened a request. */
    async isUsed({ tokenId, evaluationId }: Pick<NewAccessRequest, 'tokenId' | 'evaluationId'>): Promise<boolean> {
      const text = 'SELECT FROM approvals.access_request WHERE token_jti = $1 OR evaluation_id = $2 LIMIT 1';
      return (await query('used', text, [tokenId, evaluationId])).length > 0;
    },
  };
}

function changing(query: Query) {
  return {
    create: (request: NewAccessRequest) => {
      const row = newRow(request);
      const parameters = { ...row, stages: JSON.stringify(row.stages) };
      const { text, values } = functionCall('approvals.create_access_request', parameters);
      return one(query<Created>('create', `SELECT * FROM ${text}`, values));
    },

    castVote: (vote: NewVote) =>
      outcomeOf<VoteOutcome>(query, {
        name: 'cast-vote',
        ...functionCall('approvals.cast_vote', voteRow(vote)),
      }),

    /** Counts the vote in a signed message once. `conflict`: the message id was used for another message. */
    acceptDecision: (message: { source: string; webhookId: string; bodyDigest: string }, vote: NewVote) => {
      const { source, webhookId: webhook_id, bodyDigest: body_digest } = message;
      const parameters = { source, webhook_id, body_digest, ...voteRow(vote) };
      return outcomeOf<VoteOutcome | 'conflict'>(query, {
        name: 'accept-decision',
        ...functionCall('approvals.accept_decision', parameters),
      });
    },

    /** Records a resolver's answer, once for each stage. `noted`: the answer was not a vote. */
    answerResolver: (answer: NewAnswer) =>
      outcomeOf<VoteOutcome | 'noted'>(query, {
        name: 'answer-resolver',
        ...functionCall('approvals.answer_resolver', { ...voteRow(answer), resolver: answer.resolver }),
      }),

    /**
     * Ends requests and stages past their deadlines and records due reminders, for at most `limit` requests. Skips requests that
     * another process has locked. A request that fails stays unchanged and does not block the others.
     */
    carryOutDue: (limit: number) =>
      query<{ readonly id: string; readonly failure: string | null }>(
        'sweep',
        'SELECT request_id AS id, failure FROM approvals.carry_out_due($1)',
        [limit],
      ),
  };
}

function proving(query: Query) {
  return {
    /** Keeps the first signed proof of an approval and returns the kept one. */
    async keepApprovalState(id: string, state: string): Promise<string> {
      const [first] = await query<{ kept: string }>(
        'keep-state',
        `UPDATE approvals.access_request SET approval_state = $2 WHERE id = $1 AND approval_state IS NULL
         RETURNING approval_state AS kept`,
        [id, state],
      );
      if (first !== undefined) return first.kept;
      // Another process signed at the same time and was first.
      const kept = 'SELECT approval_state AS kept FROM approvals.access_request WHERE id = $1';
      return (await one(query<{ kept: string }>('kept-state', kept, [id]))).kept;
    },
  };
}
