import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { addToLogScope } from '../../apps/shared/log-scope.ts';
import type { RecordedStatement } from '../../workflows/domain/access-request/statement.ts';
import type { Approval, Decision } from '../../workflows/domain/authzen/evaluation.ts';
import type { EndReason } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type {
  AccessRequestHandle,
  NewSubmission,
  TakenSubmission,
} from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { executionSteps, settlementSteps } from './execution-steps.ts';
import {
  APPROVAL_USE_MS,
  expire,
  isGone,
  query,
  queryOne,
  sealsOf,
  stateAfter,
  type StepContext,
  WITHOUT_FLUSH,
} from './query.ts';
import { inputSteps } from './questions.ts';
import { type CallProgress, loadCall, loadProgress, type StoredCall } from './stored-call.ts';
import { type TaskRow, taskViewOf } from './task-view.ts';

/** The fenced steps of a gated call's life. Each is one statement; the database decides. */
export type LifecycleStore = ReturnType<typeof createLifecycleStore>;

export function createLifecycleStore(pool: Pool, options: Omit<StepContext, 'pool'>) {
  const context = { pool, ...options };
  return {
    load: async (gatedCallId: string) => named(await loadCall(context, gatedCallId)),
    progress: async (gatedCallId: string) => named(await loadProgress(context, gatedCallId)),
    isGone: (gatedCallId: string) => isGone(pool, gatedCallId),
    ...submissionSteps(context),
    ...resolutionSteps(context),
    ...inputSteps(context),
    ...decisionSteps(context),
    ...executionSteps(context),
    ...settlementSteps(context),
  };
}

/** What is done and logged from here on is about this call. */
function named<Call extends CallProgress & Partial<Pick<StoredCall, 'binding' | 'handle'>>>(call: Call): Call {
  const { gatedCallId: gatedCall, taskId: task, trace, tool, binding, handle } = call;
  const { subject, clientId: client } = binding?.caller ?? {};
  addToLogScope({ gatedCall, task, trace, tool });
  if (binding !== undefined) addToLogScope({ subject, client });
  if (handle !== undefined) addToLogScope({ accessRequest: handle.accessRequestId });
  return call;
}

interface Attached {
  readonly outcome: 'attached' | 'ended' | 'conflict';
  readonly task?: GatedCallView;
}

/** From the intent to the handle. */
function submissionSteps(context: StepContext) {
  const { pool, seals } = context;
  async function release(gatedCallId: string): Promise<void> {
    await query(pool, 'release-submission', 'SELECT gateway.release_submission($1)', [gatedCallId]);
  }
  return {
    /**
     * Wins the right to contact the access request service, for this long; undefined when somebody else has it. Does not
     * wait for the disk: should a crash take the lease back, the same key and body open nothing twice.
     */
    async takeSubmission(gatedCallId: string, leaseMs: number): Promise<TakenSubmission | undefined> {
      const [row] = await query<SubmissionRow>(
        pool,
        'take-submission',
        `SELECT t.* FROM gateway.take_submission($1, $2) AS t, ${WITHOUT_FLUSH}`,
        [gatedCallId, leaseMs],
      );
      if (row === undefined) return undefined;
      try {
        return submissionOf(row, seals, gatedCallId);
      } catch (error) {
        // Nothing can be submitted from here. A process that has the key need not wait for the lease to run out.
        await release(gatedCallId).catch(() => undefined);
        throw error;
      }
    },

    readSubmission: (gatedCallId: string) => readSubmission(context, gatedCallId),

    /** Gives the right back, so that the next caller need not wait for the lease to run out. */
    releaseSubmission: release,

    /**
     * `conflict`: the service gave another handle for the same key. `ended`: the call was given up meanwhile. The task
     * comes along when it can be shown as it is.
     */
    async attachHandle(gatedCallId: string, generation: number, handle: AccessRequestHandle): Promise<Attached> {
      const keys = await sealsOf(context, gatedCallId);
      const sealed = keys.seal('submission.sealed_handle', JSON.stringify(handle), generation);
      const requestKey = seals.digest(handle.accessRequestId);
      const { outcome, ...row } = await queryOne<TaskRow & Pick<Attached, 'outcome'>>(
        pool,
        'attach-handle',
        'SELECT a.outcome, (a.task).* FROM gateway.attach_handle($1, $2, $3, $4, $5, $6) AS a',
        [gatedCallId, generation, requestKey, sealed, handle.expiresAt ?? null, handle.isSettled === true],
      );
      return { outcome, ...(outcome === 'attached' && !row.due && { task: taskViewOf(row, seals) }) };
    },
  };
}

/** The submission of the current generation, whoever has the right to send it. */
async function readSubmission({ pool, seals }: StepContext, gatedCallId: string): Promise<TakenSubmission> {
  const row = await queryOne<SubmissionRow>(
    pool,
    'read-submission',
    `SELECT s.generation, s.endpoint, s.idempotency_key, s.sealed_body, k.call_key
       FROM gateway.gated_call g JOIN gateway.data_key k ON k.gated_call_id = g.id
       JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation WHERE g.id = $1`,
    [gatedCallId],
  );
  return submissionOf(row, seals, gatedCallId);
}

interface SubmissionRow {
  readonly generation: number;
  readonly endpoint: string;
  readonly idempotency_key: string;
  readonly sealed_body: string;
  readonly call_key: string | null;
}

function submissionOf(row: SubmissionRow, seals: Seals, gatedCallId: string): TakenSubmission {
  const keys = seals.forCall(gatedCallId, { call: row.call_key, record: null });
  return {
    generation: row.generation,
    endpoint: row.endpoint,
    idempotencyKey: row.idempotency_key,
    body: keys.open('submission.sealed_body', row.sealed_body, row.generation),
  };
}

/** From the handle to the grant, the next generation, or an end without execution. */
function resolutionSteps(context: StepContext) {
  const { pool, seals, retentionMs, approvalUseMs = APPROVAL_USE_MS } = context;
  return {
    async grant(gatedCallId: string, generation: number, approval: Approval) {
      const keys = await sealsOf(context, gatedCallId);
      const parameters = {
        call: gatedCallId,
        generation,
        approval_key: seals.digest(approval.id),
        approved_at: approval.approvedAt,
        approved_until: approval.approvedUntil,
        sealed_body: keys.seal('approval.sealed_body', JSON.stringify(approval), generation),
        sealed_reference: keys.seal('approval.sealed_reference', approval.id, generation),
        retention_ms: retentionMs,
        use_ms: approvalUseMs,
      };
      return stateAfter(pool, 'grant-approval', ['grant_approval', parameters]);
    },

    end: (gatedCallId: string, to: 'denied' | 'cancelled' | 'failed', reason: EndReason, cause: string) =>
      stateAfter(pool, 'end-unclaimed', [
        'end_unclaimed',
        { call: gatedCallId, to, reason, cause, retention_ms: retentionMs },
      ]),

    /**
     * Keeps what the access request service states about the request of this generation, for the record. The first statement stays.
     * The commit does not wait for the disk: the grant or the end that follows takes it along.
     */
    async keepStatement(gatedCallId: string, generation: number, statement: RecordedStatement): Promise<void> {
      const keys = await sealsOf(context, gatedCallId);
      const sealed = keys.seal('submission.sealed_statement', JSON.stringify(statement), generation);
      const text = `SELECT gateway.keep_statement($1, $2, $3) FROM ${WITHOUT_FLUSH}`;
      await query(pool, 'keep-statement', text, [gatedCallId, generation, sealed]);
    },

    requestAgain: (call: PresentGeneration, next: NewSubmission, maxGenerations: number) =>
      requestAgain(context, call, { next, maxGenerations }),

    expire: (gatedCallId: string) => expire(context, gatedCallId),
  };
}

interface PresentGeneration {
  readonly gatedCallId: string;
  readonly generation: number;
}

/** `pending`: the next generation is to be submitted. Anything else is the state the call was found in. */
async function requestAgain(
  context: StepContext,
  { gatedCallId, generation }: PresentGeneration,
  { next, maxGenerations }: { next: NewSubmission; maxGenerations: number },
) {
  const { pool, retentionMs } = context;
  const keys = await sealsOf(context, gatedCallId);
  const parameters = {
    call: gatedCallId,
    generation,
    submission_id: randomUUID(),
    idempotency_key: next.idempotencyKey,
    submission_endpoint: next.endpoint,
    sealed_body: keys.seal('submission.sealed_body', next.body, generation + 1),
    max_generations: maxGenerations,
    retention_ms: retentionMs,
  };
  return stateAfter(pool, 'request-again', ['request_again', parameters]);
}

/** What the PDP answered. */
function decisionSteps({ pool, seals }: StepContext) {
  return {
    /**
     * Records what the PDP answered to a question of this instant of the database's clock (`databaseNow`): a decision is as
     * old as its question, however long it takes to be written down. Answers the decision's id. The commit does not wait
     * for the disk: whatever is done on the strength of the decision is committed after it, and takes it along.
     */
    async recordDecision(
      call: { gatedCallId: string; generation: number; binding: { callDigest: string } },
      decision: Decision,
      evaluatedAtMs: number,
    ): Promise<string> {
      const id = randomUUID();
      await query(
        pool,
        'record-decision',
        `INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest, evaluated_at, obligations, approved_until,
           policy_version, policies)
         SELECT $1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), $9::jsonb, $10::timestamptz, $11, $12::text[] FROM ${WITHOUT_FLUSH}`,
        [
          id,
          call.gatedCallId,
          call.generation,
          decision.kind,
          'reason' in decision ? (decision.reason ?? null) : null,
          decision.evaluationId ?? null,
          seals.digest(call.binding.callDigest),
          evaluatedAtMs,
          decision.obligations === undefined ? null : JSON.stringify(decision.obligations),
          'approvedUntil' in decision ? (decision.approvedUntil ?? null) : null,
          decision.basis?.policyVersion ?? null,
          decision.basis?.policies ?? null,
        ],
      );
      return id;
    },
  };
}
