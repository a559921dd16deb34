import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Approval, Decision } from '../../workflows/domain/authzen/evaluation.ts';
import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { AccessRequestHandle, TakenSubmission } from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { query, queryOne } from './query.ts';
import { loadCall, type StoredCall } from './stored-call.ts';
import { taskViewOf, type TaskRow } from './task-view.ts';

/** In the FROM of a statement: its commit does not wait for the disk. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

/** The fenced steps of a gated call's life. Each is one statement; the database decides. */
export type LifecycleStore = ReturnType<typeof createLifecycleStore>;

/** `retentionMs`: how long an ended call is kept for `tasks/get`. */
export function createLifecycleStore(pool: Pool, { retentionMs }: { retentionMs: number }) {
  return {
    load: (gatedCallId: string): Promise<StoredCall> => loadCall(pool, gatedCallId),
    ...submissionSteps(pool),
    ...resolutionSteps(pool, retentionMs),
    ...decisionSteps(pool),
    ...executionSteps(pool, retentionMs),
    ...settlementSteps(pool, retentionMs),
  };
}

interface Attached {
  readonly outcome: 'attached' | 'ended' | 'conflict';
  readonly task?: GatedCallView;
}

async function stateAfter(pool: Pool, name: string, text: string, values: unknown[]): Promise<GatedCallState> {
  return (await queryOne<{ state: GatedCallState }>(pool, name, text, values)).state;
}

function submissionSteps(pool: Pool) {
  return {
    /**
     * Wins the right to contact the access request service, for this long; undefined when somebody else has it. Does not
     * wait for the disk: should a crash take the lease back, the same key and body open nothing twice.
     */
    async takeSubmission(gatedCallId: string, leaseMs: number): Promise<TakenSubmission | undefined> {
      const [row] = await query<TakenSubmission>(
        pool,
        'take-submission',
        `SELECT t.generation, t.endpoint, t.idempotency_key AS "idempotencyKey", t.body
         FROM gateway.take_submission($1, $2) AS t, ${WITHOUT_FLUSH}`,
        [gatedCallId, leaseMs],
      );
      return row;
    },

    /** Gives the right back, so that the next caller need not wait for the lease to run out. */
    async releaseSubmission(gatedCallId: string): Promise<void> {
      await query(
        pool,
        'release-submission',
        'UPDATE gateway.submission SET lease_until = clock_timestamp() WHERE gated_call_id = $1',
        [gatedCallId],
      );
    },

    /**
     * `conflict`: the service gave another handle for the same key. `ended`: the call was given up meanwhile. The task
     * comes along when it can be shown as it is.
     */
    async attachHandle(gatedCallId: string, generation: number, handle: AccessRequestHandle): Promise<Attached> {
      const { accessRequestId, statusEndpoint, cancelEndpoint, expiresAt } = handle;
      const { outcome, ...row } = await queryOne<TaskRow & Pick<Attached, 'outcome'>>(
        pool,
        'attach-handle',
        'SELECT a.outcome, (a.task).* FROM gateway.attach_handle($1, $2, $3, $4, $5, $6) AS a',
        [gatedCallId, generation, accessRequestId, statusEndpoint, cancelEndpoint ?? null, expiresAt ?? null],
      );
      return { outcome, ...(outcome === 'attached' && !row.due && { task: taskViewOf(row) }) };
    },
  };
}

function resolutionSteps(pool: Pool, retentionMs: number) {
  return {
    grant: (gatedCallId: string, generation: number, approval: Approval) =>
      stateAfter(pool, 'grant-approval', 'SELECT gateway.grant_approval($1, $2, $3, $4, $5, $6, $7) AS state', [
        gatedCallId,
        generation,
        approval.id,
        approval.approvedAt,
        approval.approvedUntil,
        JSON.stringify(approval),
        retentionMs,
      ]),

    end: (gatedCallId: string, to: 'denied' | 'cancelled' | 'failed', reason: EndReason, cause: string) =>
      stateAfter(pool, 'end-unclaimed', 'SELECT gateway.end_unclaimed($1, $2, $3, $4, $5) AS state', [
        gatedCallId,
        to,
        reason,
        cause,
        retentionMs,
      ]),

    /** `pending`: the next generation is to be submitted. Anything else is the state the call was found in. */
    requestAgain: (
      { gatedCallId, generation }: { gatedCallId: string; generation: number },
      next: Omit<TakenSubmission, 'generation'>,
      maxGenerations: number,
    ) =>
      stateAfter(pool, 'request-again', 'SELECT gateway.request_again($1, $2, $3) AS state', [
        gatedCallId,
        generation,
        JSON.stringify({
          submission_id: randomUUID(),
          idempotency_key: next.idempotencyKey,
          submission_endpoint: next.endpoint,
          submission_body: next.body,
          max_generations: maxGenerations,
          retention_ms: retentionMs,
        }),
      ]),

    expire: (gatedCallId: string) =>
      stateAfter(pool, 'expire', 'SELECT gateway.expire_gated_call($1, $2)::text AS state', [gatedCallId, retentionMs]),
  };
}

function decisionSteps(pool: Pool) {
  return {
    /**
     * Records what the PDP answered, stamped by the database's clock. Answers the decision's id. The commit does not wait
     * for the disk: whatever is done on the strength of the decision is committed after it, and takes it along.
     */
    async recordDecision(call: StoredCall, decision: Decision): Promise<string> {
      const id = randomUUID();
      await query(
        pool,
        'record-decision',
        `INSERT INTO gateway.decision (id, gated_call_id, generation, kind, reason, evaluation_id, call_digest)
         SELECT $1, $2, $3, $4, $5, $6, $7 FROM ${WITHOUT_FLUSH}`,
        [
          id,
          call.gatedCallId,
          call.generation,
          decision.kind,
          'reason' in decision ? (decision.reason ?? null) : null,
          decision.evaluationId ?? null,
          call.binding.callDigest,
        ],
      );
      return id;
    },
  };
}

function executionSteps(pool: Pool, retentionMs: number) {
  return {
    async claim(claim: {
      gatedCallId: string;
      generation: number;
      decisionId: string;
      claimId: string;
      epoch: number;
      executionTimeoutMs: number;
    }) {
      const row = await queryOne<{ outcome: 'won' | 'mine' | 'lost' | 'stale' | 'frozen' }>(
        pool,
        'claim-execution',
        'SELECT gateway.claim_execution($1, $2, $3, $4, $5, $6, $7) AS outcome',
        [
          claim.gatedCallId,
          claim.generation,
          claim.decisionId,
          claim.claimId,
          claim.epoch,
          claim.executionTimeoutMs,
          retentionMs,
        ],
      );
      return row.outcome;
    },

    /** The permit to send; false when it was given before or may no longer be given. */
    async beginInvocation(call: { gatedCallId: string; claimId: string; invocationId: string; upstreamKey: string }) {
      const row = await queryOne<{ given: boolean }>(
        pool,
        'begin-invocation',
        'SELECT gateway.begin_invocation($1, $2, $3, $4) AS given',
        [call.gatedCallId, call.claimId, call.invocationId, call.upstreamKey],
      );
      return row.given;
    },
  };
}

function settlementSteps(pool: Pool, retentionMs: number) {
  return {
    settleNotSent: (gatedCallId: string, invocationId: string) =>
      stateAfter(pool, 'settle-execution', SETTLE, [
        gatedCallId,
        invocationId,
        'not_sent',
        null,
        null,
        null,
        retentionMs,
      ]),

    /** `probe`: what the upstream says of the execution afterwards. */
    settleResult: (
      of: { gatedCallId: string; invocationId: string; cause: 'result' | 'probe' },
      result: { isError: boolean; text: string; digest: string },
    ) =>
      stateAfter(pool, 'settle-execution', SETTLE, [
        of.gatedCallId,
        of.invocationId,
        of.cause,
        result.isError,
        result.text,
        result.digest,
        retentionMs,
      ]),
  };
}

const SETTLE = 'SELECT gateway.settle_execution($1, $2, $3, $4, $5, $6, $7) AS state';
