import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { functionCall } from '../../apps/shared/database/function-call.ts';
import type { Timing } from '../../apps/shared/limits.ts';
import { newTrace } from '../../apps/shared/log-scope.ts';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import type { CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import type { GatedCalls, GatedCallView, Opened, Opening, Redemption } from '../../workflows/domain/ports.ts';
import { ownerKey, subjectKey, type Principal, type TaskOwner } from '../../workflows/domain/principal.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { recentRequests, requestRefOf, taskIdOf, type TaskRow, taskViewOf } from './task-view.ts';
import { expire, ifAway, persist, query, queryOne, stateAfter } from './query.ts';
import { answerQuestions } from './questions.ts';

/** Durations in milliseconds, the limit in calls. */
export interface GatedCallOptions extends Timing {
  readonly seals: Seals;
  readonly requestTtlMs: number;
  /** Milliseconds from the opening to the first poll for a resolution of which no word came. */
  readonly firstPollMs: number;
  readonly retentionMs: number;
  /** Whose gated calls are. Default: the subject's, through one client. */
  readonly taskOwner?: TaskOwner;
  readonly maxOpenPerCaller: number;
  /** Through all clients of a subject. Default: as many as through one. */
  readonly maxOpenPerSubject?: number;
  /** How long after its end a call that was carried out, and whose owner was not told how, answers an identical one. Default: not at all. */
  readonly unreadMs?: number;
}

/** Gated calls in Postgres, as the gateway needs them. */
export function createGatedCallStore(pool: Pool, options: GatedCallOptions): GatedCalls {
  const ownerOf = (caller: Principal) => ownerKey(caller, options.taskOwner);
  return {
    ownerOf,
    open: (opening, signal) => open(pool, options, { ...opening, signal }),
    findOpen: (binding, waitedMs) => findOpen(pool, options, { binding, waitedMs }),
    taskIdOf: (requestRef) => taskIdOf(requestRef, options.seals),
    findTask: async (taskId, owner) => (await findTask(pool, options, taskId, owner))?.view,
    readTask: (taskId, owner) => readTask(pool, options, taskId, owner),
    recent: (owner, limit) => recentRequests(pool, options, owner, limit),
    async cancel(gatedCallId) {
      const parameters = {
        ...{ call: gatedCallId, to: 'cancelled', reason: 'client_cancelled', cause: 'client' },
        retention_ms: options.retentionMs,
      };
      return stateAfter(pool, 'cancel', ['end_unclaimed', parameters]);
    },
    answer: (gatedCallId, answers) => answerQuestions({ pool, ...options }, gatedCallId, answers),
    async acceptCallback({ webhookId, bodyDigest, accessRequestId }) {
      const row = await queryOne<{ verdict: 'accepted' | 'repeated' | 'conflict' }>(
        pool,
        'accept-callback',
        'SELECT gateway.accept_callback($1, $2, $3) AS verdict',
        [webhookId, bodyDigest, options.seals.digest(accessRequestId)],
      );
      return row.verdict;
    },
  };
}

async function open(
  pool: Pool,
  options: GatedCallOptions,
  opening: Opening & { readonly signal: AbortSignal | undefined },
): Promise<Opened> {
  const { binding, decision, submission, takesInput, trace, waitedMs, redemption, signal } = opening;
  const { seals } = options;
  // The only chance in the handles of the call: 122 random bits (APPR-202).
  const id = randomUUID();
  const parameters = {
    id,
    task_id: taskIdOf(requestRefOf(id, seals), seals),
    ...identityOf(options, binding),
    max_open: options.maxOpenPerCaller,
    max_open_of_subject: options.maxOpenPerSubject ?? options.maxOpenPerCaller,
    // New answers make a call of its own.
    ...unreadOf(options, redemption === undefined, waitedMs),
    request_ttl_ms: options.requestTtlMs,
    first_poll_ms: options.firstPollMs,
    retention_ms: options.retentionMs,
    tool: binding.tool,
    upstream: binding.upstream,
    upstream_tool: binding.upstreamTool,
    call_digest: seals.digest(binding.callDigest),
    tool_digest: binding.toolDigest,
    requester_key: seals.digest(binding.caller.subject),
    takes_input: takesInput,
    trace_id: trace ?? newTrace(),
    ...sealed(seals, id, opening),
    decision_id: randomUUID(),
    decision_reason: decision.reason,
    evaluation_id: decision.evaluationId,
    policy_version: decision.basis?.policyVersion,
    policies: decision.basis?.policies,
    obligations: decision.obligations && JSON.stringify(decision.obligations),
    submission_id: randomUUID(),
    idempotency_key: submission.idempotencyKey,
    submission_endpoint: submission.endpoint,
    lease_ms: options.limits.submissionLeaseMs,
  };
  const row = await openOnce(pool, options, { parameters, redemption, signal });
  if (row === undefined) return { kind: 'unwanted' };
  const { outcome: kind, gated_call_id: gatedCallId, task_id: taskId } = row;
  if (kind === 'too_many' || kind === 'gone' || kind === 'unwanted' || kind === 'late') return { kind };
  if (kind !== 'opened' && gatedCallId !== parameters.id) return { kind, gatedCallId, taskId };
  // Whoever opens a call submits it next: the right to do so came with it.
  return { kind: 'opened', gatedCallId, taskId, submission: { ...submission, generation: 1 } };
}

/** Whose call it is, and what makes another one identical. */
function identityOf({ seals, taskOwner }: GatedCallOptions, { caller, tool, callDigest }: CallBinding) {
  const owner = ownerKey(caller, taskOwner);
  return {
    subject_key: seals.digest(subjectKey(caller)),
    owner_key: seals.digest(owner),
    dedup_key: seals.digest(canonicalJson([owner, tool, callDigest])),
  };
}

const unreadOf = ({ unreadMs = 0 }: GatedCallOptions, isWanted: boolean, waitedMs = 0) => ({
  unread_ms: isWanted ? unreadMs : 0,
  waited_ms: waitedMs,
});

async function findOpen(
  pool: Pool,
  options: GatedCallOptions,
  { binding, waitedMs }: { binding: CallBinding; waitedMs: number | undefined },
) {
  const identity = identityOf(options, binding);
  const keys = [identity.subject_key, identity.owner_key, identity.dedup_key];
  const [row] = await query<{ id: string; task_id: string }>(pool, 'find-open', FIND_OPEN, keys);
  if (row !== undefined) return { kind: 'joined' as const, gatedCallId: row.id, taskId: row.task_id };
  const { owner_key, dedup_key } = identity;
  const parameters = { id: randomUUID(), owner_key, dedup_key, ...unreadOf(options, true, waitedMs) };
  const { text, values } = functionCall('gateway.take_unread', parameters);
  const take = () => query<Omit<OpenedRow, 'outcome'>>(pool, 'take-unread', `SELECT * FROM ${text}`, values);
  const [unread] = await persist(take, options.limits.callOpeningMs, options.clock);
  return unread && { kind: 'unread' as const, gatedCallId: unread.gated_call_id, taskId: unread.task_id };
}

/** What the database keeps of the opening without being able to read it. */
function sealed(seals: Seals, gatedCallId: string, { binding, submission }: Opening) {
  const keys = seals.forNewCall(gatedCallId);
  const { subject, action, resource } = binding.evaluation;
  const requested = { requester: binding.caller, subject, action, resource };
  return {
    key_id: seals.currentKeyId,
    call_key: keys.wrapped.call,
    record_key: keys.wrapped.record,
    sealed_content: keys.seal('call_binding.sealed_content', JSON.stringify(binding)),
    sealed_requester: keys.seal('call_binding.sealed_requester', JSON.stringify(requested)),
    sealed_body: keys.seal('submission.sealed_body', submission.body),
  };
}

/**
 * Opens the call under the ids it was given, however often the answer is lost: an earlier run of the statement that was
 * committed after all is found by the call's id, or joined under it. Undefined: whoever asked went before there was a call.
 */
async function openOnce(
  pool: Pool,
  { clock, limits }: Timing,
  { parameters, redemption, signal }: OnceOpened,
): Promise<OpenedRow | undefined> {
  let wasLost = false;
  const attempt = async () => {
    const [mine] = wasLost ? await query<OpenedRow>(pool, 'find-opened', FIND_OPENED, [parameters.id]) : [];
    wasLost = true;
    if (mine !== undefined || signal?.aborted) return mine;
    const { nonce, expiresAt: expires_at } = redemption ?? {};
    const [statement, { text, values }] =
      nonce === undefined
        ? ['open-gated-call', functionCall('gateway.open_gated_call', parameters)]
        : ['redeem-state', functionCall('gateway.redeem_state', { nonce, expires_at, ...parameters })];
    return queryOne<OpenedRow>(pool, statement, `SELECT * FROM ${text}`, values);
  };
  return persist(attempt, limits.callOpeningMs, clock);
}

interface OnceOpened {
  readonly parameters: { readonly id: string };
  readonly redemption: Redemption | undefined;
  readonly signal: AbortSignal | undefined;
}

const FIND_OPEN =
  'SELECT id, task_id FROM gateway.gated_call WHERE subject_key = $1 AND owner_key = $2 AND dedup_key = $3 AND ended_at IS NULL';
const FIND_OPENED = `
  SELECT CASE WHEN ended_at IS NULL THEN 'opened' ELSE 'gone' END AS outcome, id AS gated_call_id, task_id
  FROM gateway.gated_call WHERE id = $1`;

interface OpenedRow {
  readonly outcome: Opened['kind'];
  readonly gated_call_id: string;
  readonly task_id: string;
}

// Unknown, foreign and no longer kept are one answer: no row.
const FIND_TASK = `
  SELECT * FROM gateway.task
  WHERE task_id = $1 AND owner_key = $2 AND state <> 'preparing' AND (ended_at IS NULL OR retain_until > clock_timestamp())`;

async function findTask(
  pool: Pool,
  { seals, retentionMs }: GatedCallOptions,
  taskId: string,
  owner: string,
): Promise<{ readonly row: TaskRow; readonly view: GatedCallView } | undefined> {
  const read = async () => (await query<TaskRow>(pool, 'find-task', FIND_TASK, [taskId, seals.digest(owner)]))[0];
  let row = await read();
  if (row?.due) {
    // No client reads `working` past the deadline, whether or not the sweeper has come by. Where that cannot be recorded
    // now, the end has not happened, and the call is shown as it is.
    row = await expire({ pool, retentionMs }, row.id).then(read, ifAway(row));
  }
  return row && { row, view: taskViewOf(row, seals) };
}

/** Its owner is told what is found. Where that cannot be noted now, it is told all the same: at worst it will be told once more. */
async function readTask(
  pool: Pool,
  options: GatedCallOptions,
  taskId: string,
  owner: string,
): Promise<GatedCallView | undefined> {
  const found = await findTask(pool, options, taskId, owner);
  if (found?.row.unread)
    await query(pool, 'note-read', 'SELECT gateway.note_read($1)', [found.row.id]).catch(ifAway(undefined));
  return found?.view;
}
