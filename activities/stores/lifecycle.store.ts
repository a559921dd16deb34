import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import { addToLogScope } from '../../apps/shared/log-scope.ts';
import type { RecordedStatement } from '../../workflows/domain/access-request/statement.ts';
import type { Approval, Decision } from '../../workflows/domain/authzen/evaluation.ts';
import type { EndReason } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Seals, WrappedKeys } from '../../workflows/domain/gated-call/sealing.ts';
import type {
  AccessRequestHandle,
  NewSubmission,
  TakenSubmission,
} from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { type TaskRow, taskViewOf } from './gated-call.store.ts';
import { callFunction, expire, queryOne, sealsOf, type StepContext, WITHOUT_FLUSH } from './query.ts';
import { inputSteps, type PresentGeneration } from './questions.ts';
import { type CallProgress, loadCall, loadProgress, type StoredCall } from './stored-call.ts';

/** The fenced steps of a gated call's life. Each is one statement; the database decides. */
export type LifecycleStore = ReturnType<typeof createLifecycleStore>;

export function createLifecycleStore(pool: Pool, options: Omit<StepContext, 'pool'>) {
  const context = { pool, ...options };
  return {
    load: async (gatedCallId: string) => named(await loadCall(context, gatedCallId)),
    progress: async (gatedCallId: string) => named(await loadProgress(context, gatedCallId)),
    /**
     * Whether the call was forgotten after its retention, or its row was deleted. Such a call never comes back, so there is nothing
     * left to do for it. A call of which only a part is missing is not gone: it was tampered with.
     */
    isGone: async (gatedCallId: string) =>
      (await queryOne<{ isGone: boolean }>(pool, 'is-gone', IS_GONE, [gatedCallId])).isGone,
    expire: (gatedCallId: string) => expire(context, gatedCallId),
    ...submissionSteps(context),
    ...resolutionSteps(context),
    requestAgain: requestAgain(context),
    ...inputSteps(context),
    ...decisionSteps(context),
    ...executionSteps(context),
    ...releaseSteps(context),
    ...settlementSteps(context),
  };
}

const IS_GONE = 'SELECT NOT EXISTS (SELECT FROM gateway.gated_call WHERE id = $1 AND forgotten_at IS NULL) AS "isGone"';

/** Puts the call into the scope of the log, for this step and the lines after it. */
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
  /** Gives the right back, so that the next caller need not wait for the lease to run out. */
  const releaseSubmission = (gatedCallId: string): Promise<void> =>
    callFunction(pool, 'release-submission', { call: gatedCallId });
  return {
    releaseSubmission,

    /**
     * Wins the right to contact the access request service, for this long; undefined while another process has it. Does not
     * wait for the disk: should a crash take the lease back, the same key and body open nothing twice.
     */
    async takeSubmission(gatedCallId: string, leaseMs: number): Promise<TakenSubmission | undefined> {
      const text = `SELECT ${SUBMITTED} FROM gateway.take_submission($1, $2), ${WITHOUT_FLUSH}`;
      const [row] = await query<SubmissionRow>(pool, 'take-submission', text, [gatedCallId, leaseMs]);
      try {
        return row && submissionOf(row, seals, gatedCallId);
      } catch (error) {
        // Nothing can be submitted from here. A process that has the key need not wait for the lease to run out.
        await releaseSubmission(gatedCallId).catch(() => undefined);
        throw error;
      }
    },

    /** The submission of the current generation, whichever process has the right to send it. */
    async readSubmission(gatedCallId: string): Promise<TakenSubmission> {
      return submissionOf(await queryOne(pool, 'read-submission', SUBMISSION, [gatedCallId]), seals, gatedCallId);
    },

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

const SUBMITTED = 'generation, endpoint, idempotency_key AS "idempotencyKey", sealed_body, call_key';
const SUBMISSION = `
  SELECT ${SUBMITTED} FROM gateway.submission JOIN gateway.data_key USING (gated_call_id)
  WHERE gated_call_id = $1 AND generation = (SELECT generation FROM gateway.gated_call WHERE id = $1)`;

type SubmissionRow = Omit<TakenSubmission, 'body'> & { readonly sealed_body: string; readonly call_key: string | null };

function submissionOf({ sealed_body, call_key, ...row }: SubmissionRow, seals: Seals, gatedCallId: string) {
  const keys = seals.forCall(gatedCallId, { call: call_key, record: null });
  return { ...row, body: keys.open('submission.sealed_body', sealed_body, row.generation) };
}

const DAY_MS = 24 * 3_600_000;

/** From the handle to the grant, the next generation, or an end without execution. */
function resolutionSteps(context: StepContext) {
  const { pool, seals, retentionMs, approvalUseMs = DAY_MS } = context;
  return {
    async grant(gatedCallId: string, generation: number, approval: Approval) {
      const keys = await sealsOf(context, gatedCallId);
      return callFunction(pool, 'grant-approval', {
        call: gatedCallId,
        generation,
        approval_key: seals.digest(approval.id),
        approved_at: approval.approvedAt,
        approved_until: approval.approvedUntil,
        sealed_body: keys.seal('approval.sealed_body', JSON.stringify(approval), generation),
        sealed_reference: keys.seal('approval.sealed_reference', approval.id, generation),
        retention_ms: retentionMs,
        use_ms: approvalUseMs,
      });
    },

    end: (gatedCallId: string, to: 'denied' | 'cancelled' | 'failed', reason: EndReason, cause: string) =>
      callFunction(pool, 'end-unclaimed', { call: gatedCallId, to, reason, cause, retention_ms: retentionMs }),

    /**
     * Keeps the statement of the access request service about the request of this generation, for the record. The first one stays.
     * The commit does not wait for the disk: the grant or the end that follows takes it along.
     */
    async keepStatement(gatedCallId: string, generation: number, statement: RecordedStatement): Promise<void> {
      const keys = await sealsOf(context, gatedCallId);
      const sealed = keys.seal('submission.sealed_statement', JSON.stringify(statement), generation);
      const text = `SELECT gateway.keep_statement($1, $2, $3) FROM ${WITHOUT_FLUSH}`;
      await query(pool, 'keep-statement', text, [gatedCallId, generation, sealed]);
    },
  };
}

/** `pending`: the next generation is to be submitted. Any other answer is the state in which the call was found. */
function requestAgain(context: StepContext) {
  return async ({ gatedCallId, generation }: PresentGeneration, next: NewSubmission, maxGenerations: number) => {
    const keys = await sealsOf(context, gatedCallId);
    return callFunction(context.pool, 'request-again', {
      call: gatedCallId,
      generation,
      submission_id: randomUUID(),
      idempotency_key: next.idempotencyKey,
      submission_endpoint: next.endpoint,
      sealed_body: keys.seal('submission.sealed_body', next.body, generation + 1),
      max_generations: maxGenerations,
      retention_ms: context.retentionMs,
    });
  };
}

function decisionSteps({ pool, seals }: StepContext) {
  return {
    /**
     * Records the PDP's answer to a request of this instant of the database's clock (`databaseNow`): a decision is as old as its
     * request, however long it takes to be written down. Answers the decision's id. The commit does not wait for the disk: every
     * action that rests on the decision is committed after it, and takes it along.
     */
    async recordDecision(
      { gatedCallId, generation, binding }: PresentGeneration & { binding: Pick<StoredCall['binding'], 'callDigest'> },
      decision: Decision,
      evaluatedAtMs: number,
    ): Promise<string> {
      const id = randomUUID();
      const { kind, evaluationId, obligations, basis } = decision;
      const text = `INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest, evaluated_at, obligations, approved_until,
           policy_version, policies)
         SELECT $1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), $9::jsonb, $10::timestamptz, $11, $12::text[] FROM ${WITHOUT_FLUSH}`;
      await query(pool, 'record-decision', text, [
        ...[id, gatedCallId, generation, kind, 'reason' in decision ? decision.reason : null, evaluationId],
        ...[seals.digest(binding.callDigest), evaluatedAtMs, obligations && JSON.stringify(obligations)],
        ...['approvedUntil' in decision ? decision.approvedUntil : null, basis?.policyVersion, basis?.policies],
      ]);
      return id;
    },
  };
}

/** The two fences of an execution. */
function executionSteps({ pool, retentionMs }: StepContext) {
  return {
    claim: (claim: {
      gatedCallId: string;
      generation: number;
      decisionId: string;
      claimId: string;
      epoch: number;
      executionTimeoutMs: number;
    }) =>
      callFunction<'won' | 'mine' | 'lost' | 'stale' | 'frozen'>(pool, 'claim-execution', {
        call: claim.gatedCallId,
        generation: claim.generation,
        decision: claim.decisionId,
        claim: claim.claimId,
        epoch: claim.epoch,
        execution_ms: claim.executionTimeoutMs,
        retention_ms: retentionMs,
      }),

    /**
     * The permit to send; false when it was given before, or may no longer be given for this claim. From the permit on the tool has
     * `executionTimeoutMs` milliseconds.
     */
    beginInvocation: (call: {
      gatedCallId: string;
      claimId: string;
      invocationId: string;
      upstreamKey: string;
      executionTimeoutMs: number;
    }) =>
      callFunction<boolean>(pool, 'begin-invocation', {
        ...{ call: call.gatedCallId, claim: call.claimId },
        ...{ invocation: call.invocationId, upstream_key: call.upstreamKey },
        ...{ execution_ms: call.executionTimeoutMs, retention_ms: retentionMs },
      }),
  };
}

/** What becomes of a claim without a permit. */
function releaseSteps({ pool }: StepContext) {
  return {
    /**
     * Gives up a claim whose permit was not given, so that the call can be decided and claimed anew. Answers how many claims of the
     * call were given up by now; 0 when this one was not.
     */
    releaseClaim: ({ gatedCallId, claimId }: { gatedCallId: string; claimId: string }) =>
      callFunction<number>(pool, 'release-claim', { call: gatedCallId, claim: claimId }),

    /** How many claims of the call were given up, if this one is among them; else 0. */
    async releasesOf({ gatedCallId, claimId }: { gatedCallId: string; claimId: string }): Promise<number> {
      const text = `SELECT (bool_or(claim_id = $2) IS TRUE)::int * count(*)::int AS count FROM gateway.execution_claim
        WHERE gated_call_id = $1 AND released_at IS NOT NULL`;
      return (await queryOne<{ count: number }>(pool, 'releases-of', text, [gatedCallId, claimId])).count;
    },
  };
}

function settlementSteps(context: StepContext) {
  const { pool, seals, retentionMs } = context;
  const settle = (statement: string, gatedCallId: string, invocation: string, end: Record<string, unknown>) =>
    callFunction(
      pool,
      statement,
      { call: gatedCallId, invocation, retention_ms: retentionMs, ...end },
      'settle_execution',
    );
  return {
    settleNotSent: (gatedCallId: string, invocationId: string) =>
      settle('settle-not-sent', gatedCallId, invocationId, {
        ...{ cause: 'not_sent', is_error: null, sealed_result: null, result_digest: null },
      }),

    /**
     * `probe`: the outcome that the upstream tells afterwards. The result is JSON text. The process that sent the call has its
     * data keys, and gives them: those in the database may be under a key by now that this process does not have.
     */
    async settleResult(
      of: { gatedCallId: string; invocationId: string; cause: 'result' | 'probe'; keys?: WrappedKeys },
      { isError, text }: { isError: boolean; text: string },
    ) {
      const keys = of.keys ? seals.forCall(of.gatedCallId, of.keys) : await sealsOf(context, of.gatedCallId);
      return settle('settle-execution', of.gatedCallId, of.invocationId, {
        ...{ cause: of.cause, is_error: isError },
        ...{ sealed_result: keys.seal('call_result.sealed_result', text), result_digest: seals.digest(text) },
      });
    },
  };
}
