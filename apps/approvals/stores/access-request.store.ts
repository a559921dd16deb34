import type { Pool } from 'pg';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { Ineligibility } from '../../../workflows/domain/access-request/eligibility.ts';
import { type Bundle, BUNDLE_PREFIX } from '../../../workflows/domain/access-request/statement.ts';
import { keysOf } from '../../../workflows/domain/access-request/same-person.ts';
import { randomText } from '../../shared/crypto.ts';
import { functionCall } from '../../shared/database/function-call.ts';
import { one, queryOf, type Query } from '../../shared/database/query.ts';
import { accessRequestFrom, SELECT_WHOLE, type AccessRequestRow } from './access-request.row.ts';
import { callbacks } from './callbacks.ts';
import { lists } from './lists.ts';
import { messages } from './messages.ts';
import {
  type EndNote,
  newRow,
  type NewAccessRequest,
  type NewAnswer,
  type NewExtension,
  type NewRevocation,
  type NewVote,
  passkeyColumns,
  submissionColumns,
  voteRow,
} from './new-rows.ts';
import { openStages } from './open-stages.ts';
import { previews } from './previews.ts';
import { callFunction, snakeCased } from './query.ts';
import { sameAgent } from './same-agent.ts';
import { requesterQuestions } from './requester-questions.ts';
import { statements } from './statements.ts';

export type VoteOutcome =
  | 'counted'
  | 'repeated'
  | 'already_voted'
  | 'final'
  | 'mismatch'
  | 'stage_over'
  | 'delegation_over'
  | 'passkey_needed'
  | 'passkey_invalid'
  | 'passkey_over'
  | 'passkey_unknown'
  | 'passkey_copied'
  /** The requester may confirm, and their sign-in in the browser is not recent enough. */
  | 'sign_in_too_old'
  | 'not_in_chat'
  | Ineligibility
  | 'not_found';

export type ExtensionOutcome =
  | 'extended'
  | 'repeated'
  | 'extended_before'
  | 'not_extendable'
  | 'beyond_request'
  | 'final'
  | 'stage_over'
  | Ineligibility
  | 'not_found';

type CancelOutcome = 'cancelled' | 'final' | 'not_found';

type Created =
  | { readonly outcome: 'created'; readonly id: string; readonly expires_at: Date }
  | { readonly outcome: 'repeated' | 'conflict'; readonly id: string }
  | { readonly outcome: 'replayed' };

type BundleCreated =
  | { readonly outcome: 'created' | 'repeated' | 'conflict'; readonly id: string }
  | { readonly outcome: 'replayed' };

interface NewBundle {
  readonly id: string;
  /** Whether one denial covers all items, in this order. Otherwise each item has a denial of its own. */
  readonly hasOneDenial: boolean;
}

export type AccessRequestStore = ReturnType<typeof createAccessRequestStore>;

/** Access requests and votes. The database decides every change, holding the lock of the request's row. */
export function createAccessRequestStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  const read = reading(query);
  return {
    ...read,
    ...lists(query),
    ...opening(query),
    ...voting(query),
    ...requesterQuestions(query),
    ...ending(query),
    ...sweeping(query),
    ...messages(query),
    ...callbacks(query, read.findBundle),
    ...statements(query),
    ...previews(query),
    ...openStages(query),
    ...sameAgent(query),
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
    await callFunction(query, 'expire_access_request', { id });
    return find(id);
  };
  /** As `find`, for all items of a bundle. */
  const findBundle = async (id: string): Promise<Bundle | undefined> => {
    const text = `${SELECT_WHOLE} WHERE r.bundle_id = $1 ORDER BY r.position`;
    const rows = await query<AccessRequestRow>('find-bundle', text, [id]);
    if (rows.length === 0) return undefined;
    const overdue = rows.filter((row) => row.overdue);
    if (overdue.length === 0) return { id, items: rows.map(accessRequestFrom) };
    // One at a time: each commits before the next is locked.
    for (const row of overdue) await callFunction(query, 'expire_access_request', { id: row.id });
    return findBundle(id);
  };
  return {
    find,
    findBundle,

    /** The task with this id: a bundle, or a request outside a bundle. */
    async findTask(id: string): Promise<AccessRequest | Bundle | undefined> {
      if (!ID.test(id)) return undefined;
      if (id.startsWith(BUNDLE_PREFIX)) return findBundle(id);
      const request = await find(id);
      return request?.bundle === undefined ? request : undefined;
    },

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

function opening(query: Query) {
  return {
    /** `grants`: the ids of those that may cover it. One that does approves it at once. */
    create: (request: NewAccessRequest, grants: readonly string[] = []) => {
      const parameters = {
        ...newRow(request),
        stages: JSON.stringify(request.stages),
        grants,
        approval_id: `apr_${randomText(16)}`,
      };
      const { text, values } = functionCall('approvals.create_access_request', parameters);
      return one(query<Created>('create', `SELECT * FROM ${text}`, values));
    },

    createBundle: (bundle: NewBundle, requests: readonly NewAccessRequest[]) => {
      const { text, values } = functionCall('approvals.create_bundle', bundleRow(bundle, requests));
      return one(query<BundleCreated>('create-bundle', `SELECT * FROM ${text}`, values));
    },
  };
}

/** The first item has the idempotency key, whose uniqueness prevents a second bundle. The bundle has the callback. */
function bundleRow({ id, hasOneDenial }: NewBundle, requests: readonly NewAccessRequest[]) {
  const [first] = requests;
  if (first === undefined) throw new RangeError('a bundle has items');
  const items = requests.map((request, at) => {
    const alone = { ...request, callback: undefined, idempotencyKey: at === 0 ? request.idempotencyKey : undefined };
    return { ...newRow(alone), position: at + 1, denial_part: hasOneDenial ? at + 1 : 1 };
  });
  return { ...submissionColumns(first), id, items: JSON.stringify(items) };
}

function voting(query: Query) {
  return {
    castVote: (vote: NewVote) =>
      callFunction<VoteOutcome>(query, 'cast_vote', {
        ...voteRow(vote),
        ...passkeyColumns(vote),
        session: vote.session?.id,
        preview: vote.preview,
      }),

    extendStage: ({ by: { issuer, subject, aliases = [], name, chain }, ...extension }: NewExtension) => {
      const names = { names: keysOf([subject, ...aliases]), chain: keysOf(chain) };
      const by = { by_issuer: issuer, by_subject: subject, by_name: name, ...names };
      return callFunction<ExtensionOutcome>(query, 'extend_stage', { ...snakeCased(extension), ...by });
    },

    /** Counts the vote in a signed message once. `conflict`: the message id was used for another message. */
    acceptDecision: (message: { source: string; webhookId: string; bodyDigest: string }, vote: NewVote) => {
      const parameters = { ...snakeCased(message), ...voteRow(vote) };
      return callFunction<VoteOutcome | 'conflict'>(query, 'accept_decision', parameters);
    },

    /** Records a resolver's answer, once for each stage. `noted`: the answer was not a vote. */
    answerResolver: (answer: NewAnswer) =>
      callFunction<VoteOutcome | 'noted'>(query, 'answer_resolver', { ...voteRow(answer), resolver: answer.resolver }),

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

function ending(query: Query) {
  return {
    /** `clientId`: the client that cancels its own request. Absent when the requester cancels it in the inbox. */
    cancel: (id: string, { note, clientId }: { note: EndNote; clientId?: string }) =>
      callFunction<CancelOutcome>(query, 'cancel_access_request', {
        id,
        client_id: clientId,
        note: JSON.stringify(note),
      }),

    /** Cancels the open items. `final`: no item was open. */
    cancelBundle: (id: string, { note, clientId }: { note: EndNote; clientId: string }) =>
      callFunction<CancelOutcome>(query, 'cancel_bundle', { id, client_id: clientId, note: JSON.stringify(note) }),

    revoke: ({ requestId: request_id, by, reason, via }: NewRevocation) => {
      const parameters = { request_id, by_issuer: by.issuer, by_subject: by.subject, reason, via };
      return callFunction<'revoked' | 'repeated' | 'final' | 'not_found'>(query, 'revoke_approval', parameters);
    },

    /** Ids of revoked approvals, until five minutes after they expire, because the caller's clock may be slow. */
    revokedApprovals: async () => {
      const revoked = await query<{ id: string }>(
        'revoked',
        `SELECT r.approval_id AS id FROM approvals.revocation v JOIN approvals.access_request r ON r.id = v.access_request_id
         WHERE r.approved_until > clock_timestamp() - interval '5 minutes' ORDER BY v.at`,
      );
      return revoked.map(({ id }) => id);
    },
  };
}

/** The periodic work on all requests. */
function sweeping(query: Query) {
  return {
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

    /** Deletes at most `limit` keys and `limit` requests past their retention period, and returns the number. */
    forgetEnded: (limit: number) => callFunction<number>(query, 'forget_ended', { limit }),
  };
}
