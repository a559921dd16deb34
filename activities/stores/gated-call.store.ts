import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import { decidingVotes } from '../../workflows/domain/gated-call/who-decided.ts';
import type { RecordedStatement } from '../../workflows/domain/access-request/statement.ts';
import type { CallSeals, Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCalls, GatedCallView, RecentRequest } from '../../workflows/domain/ports.ts';
import { ownerKey, type Principal } from '../../workflows/domain/principal.ts';
import { findOpen, type GatedCallOptions, open, requestRefOf, taskIdOf } from './opening.ts';
import { callFunction, expire } from './query.ts';
import { previews } from './previews.ts';
import { answerQuestions, askAgain, openQuestion, type SealedQuestion } from './questions.ts';

/** Gated calls in Postgres, as the gateway needs them. */
export function createGatedCallStore(pool: Pool, options: GatedCallOptions): GatedCalls {
  const { seals, retentionMs } = options;
  return {
    ownerOf: (caller: Principal) => ownerKey(caller, options.taskOwner),
    open: (opening, signal) => open(pool, options, { ...opening, signal }),
    findOpen: (binding, call) => findOpen(pool, options, { binding, ...call }),
    taskIdOf: (requestRef) => taskIdOf(requestRef, seals),
    findTask: async (taskId, owner) => (await findTask(pool, options, taskId, owner))?.view,
    readTask: (taskId, owner) => readTask(pool, options, taskId, owner),
    async atPage(requestRef) {
      const [row] = await query<TaskRow>(pool, 'at-page', AT_PAGE, [taskIdOf(requestRef, seals)]);
      if (row === undefined) return undefined;
      const { state, decideBy, approvalPage } = taskViewOf(row, seals);
      return { state, ...(decideBy && { decideBy }), ...(approvalPage && { approvalPage }) };
    },
    answerPage: (gatedCallId) => callFunction(pool, 'answer-page', { call: gatedCallId }),
    recent: (owner, limit) => recentRequests(pool, options, owner, limit),
    cancel: (gatedCallId) =>
      callFunction(
        pool,
        'cancel',
        {
          ...{ call: gatedCallId, to: 'cancelled', reason: 'client_cancelled', cause: 'client' },
          retention_ms: retentionMs,
        },
        'end_unclaimed',
      ),
    answer: (gatedCallId, answers) => answerQuestions({ pool, ...options }, gatedCallId, answers),
    askAgain: (gatedCallId, refused) => askAgain({ pool, ...options }, gatedCallId, refused),
    acceptCallback: ({ webhookId, bodyDigest, accessRequestId }) =>
      callFunction(pool, 'accept-callback', {
        ...{ webhook_id: webhookId, body_digest: bodyDigest },
        request_key: seals.digest(accessRequestId),
      }),
    ...previews({ pool, ...options }),
  };
}

export interface TaskRow {
  readonly id: string;
  readonly task_id: string;
  readonly state: GatedCallState;
  readonly reason: EndReason | null;
  readonly tool: string;
  readonly created_at: Date;
  readonly last_updated_at: Date;
  readonly retain_until: Date;
  readonly decide_by: Date | null;
  readonly generation: number;
  /** Of the present generation, while the call waits for its end. */
  readonly sealed_handle: string | null;
  readonly record_key: string;
  /** Of an ended call. */
  readonly sealed_statement: string | null;
  readonly sealed_result: string | null;
  readonly call_key: string | null;
  readonly outcome_ref: string | null;
  /** The deadline of its state has passed, and has not been carried out yet. */
  readonly due: boolean;
  /** It was carried out, and its owner has not been told how it ended. */
  readonly unread: boolean;
  /** The client of its task answered the question to open its page. */
  readonly page_answered: boolean;
  readonly in_state_ms: number;
  readonly questions: readonly SealedQuestion[] | null;
}

// Unknown, foreign and no longer kept are one answer: no row.
const FIND_TASK = `
  SELECT * FROM gateway.task
  WHERE task_id = $1 AND owner_key = $2 AND state <> 'preparing' AND (ended_at IS NULL OR retain_until > clock_timestamp())`;
const AT_PAGE = `
  SELECT * FROM gateway.task WHERE task_id = $1 AND state <> 'preparing' AND (ended_at IS NULL OR retain_until > clock_timestamp())`;

async function findTask(pool: Pool, { seals, retentionMs }: GatedCallOptions, taskId: string, owner: string) {
  const read = async () => (await query<TaskRow>(pool, 'find-task', FIND_TASK, [taskId, seals.digest(owner)]))[0];
  let row = await read();
  // No client reads `working` past the deadline, even when the expire job has not run yet. Where the end cannot be recorded now,
  // it has not happened, and the call is shown as it is.
  if (row?.due) row = await expire({ pool, retentionMs }, row.id).then(read, ifAway(row));
  return row && { row, view: taskViewOf(row, seals) };
}

/** Its owner is shown the call. Where that cannot be noted now, the owner sees it all the same, and at worst once more. */
async function readTask(
  pool: Pool,
  options: GatedCallOptions,
  taskId: string,
  owner: string,
): Promise<GatedCallView | undefined> {
  const found = await findTask(pool, options, taskId, owner);
  if (found?.row.unread) await callFunction(pool, 'note-read', { call: found.row.id }).catch(ifAway(undefined));
  return found?.view;
}

/** Answers this instead when the database is away for a while; any other failure is thrown on. */
const ifAway =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (error instanceof CountersignError && error.retryable) return instead;
    throw error;
  };

export function taskViewOf(row: TaskRow, seals: Seals): GatedCallView {
  const keys = seals.forCall(row.id, { call: row.call_key, record: row.record_key });
  const page = approvalPageOf(row, keys);
  const messages = messagesOf(row, keys);
  return {
    gatedCallId: row.id,
    taskId: row.task_id,
    requestRef: requestRefOf(row.id, seals),
    state: row.state,
    tool: row.tool,
    createdAt: row.created_at.toISOString(),
    lastUpdatedAt: row.last_updated_at.toISOString(),
    retainUntil: row.retain_until.toISOString(),
    inStateMs: row.in_state_ms,
    ...(row.page_answered && { isPageAnswered: true }),
    ...(row.decide_by !== null && { decideBy: row.decide_by.toISOString() }),
    ...(page !== undefined && { approvalPage: page }),
    ...(messages.length > 0 && { approverMessages: messages }),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.sealed_result !== null && { result: keys.open('call_result.sealed_result', row.sealed_result) }),
    ...(row.questions !== null && { questions: row.questions.map((one) => openQuestion(keys, one)) }),
    ...(row.outcome_ref !== null && { outcomeRef: row.outcome_ref }),
  };
}

/** A handle that cannot be opened hides its page alone. The step that reads the resolution raises the alarm about it. */
function approvalPageOf({ sealed_handle: sealed, generation }: TaskRow, keys: CallSeals): string | undefined {
  if (sealed === null) return undefined;
  try {
    const handle = JSON.parse(keys.open('submission.sealed_handle', sealed, generation)) as AccessRequestHandle;
    return handle.approvalPage;
  } catch {
    return undefined;
  }
}

/** More than this many people seldom write to an agent at the same time. */
const MAX_MESSAGES = 5;

/** The messages that came with the votes which decided the call. A statement that cannot be opened hides them alone. */
function messagesOf(row: TaskRow, keys: CallSeals): readonly string[] {
  const { sealed_statement: sealed, generation } = row;
  if (sealed === null) return [];
  try {
    const statement = JSON.parse(keys.open('submission.sealed_statement', sealed, generation)) as RecordedStatement;
    if (statement.kind !== 'stated') return [];
    return decidingVotes(row, statement)
      .flatMap(({ agentMessage }) => agentMessage ?? [])
      .slice(0, MAX_MESSAGES);
  } catch {
    return [];
  }
}

type RecentRow = Pick<TaskRow, 'id' | 'state' | 'tool' | 'created_at' | 'due'> & { readonly age_seconds: number };

const RECENT = `
  SELECT id, state, tool, created_at, due, floor(extract(epoch FROM clock_timestamp() - created_at))::int AS age_seconds
  FROM gateway.task
  WHERE owner_key = $1 AND state <> 'preparing' AND (ended_at IS NULL OR retain_until > clock_timestamp())
  ORDER BY created_at DESC LIMIT $2`;

/** An owner's newest requests. A request past a deadline is ended before it is shown, as `findTask` ends it. */
async function recentRequests(
  pool: Pool,
  { seals, retentionMs }: GatedCallOptions,
  owner: string,
  limit: number,
): Promise<readonly RecentRequest[]> {
  const read = () => query<RecentRow>(pool, 'recent', RECENT, [seals.digest(owner), limit]);
  let rows = await read();
  const due = rows.filter((row) => row.due);
  for (const { id } of due) await expire({ pool, retentionMs }, id).catch(ifAway(undefined));
  if (due.length > 0) rows = await read();
  return rows.map(({ id, state, tool, created_at, age_seconds: ageSeconds }) => ({
    ...{ requestRef: requestRefOf(id, seals), state, tool },
    ...{ createdAt: created_at.toISOString(), ageSeconds },
  }));
}
