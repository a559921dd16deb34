import { randomUUID } from 'node:crypto';
import type { RecordedStatement } from '../../workflows/domain/access-request/statement.ts';
import type { Approval, Decision } from '../../workflows/domain/authzen/evaluation.ts';
import type { EndReason } from '../../workflows/domain/gated-call/gated-call.ts';
import type { NewSubmission } from '../../workflows/domain/gated-call/submission.ts';
import { query } from './query.ts';
import { APPROVAL_USE_MS, expire, sealsOf, stateAfter, WITHOUT_FLUSH, type StepContext } from './step-context.ts';

/** From the handle to the grant, the next generation, or an end without execution. */
export function resolutionSteps(context: StepContext) {
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
export function decisionSteps({ pool, seals }: StepContext) {
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
