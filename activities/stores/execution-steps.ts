import type { WrappedKeys } from '../../workflows/domain/gated-call/sealing.ts';
import { queryOne } from './query.ts';
import { sealsOf, stateAfter, type StepContext } from './step-context.ts';

/** The two fences of an execution. */
export function executionSteps({ pool, retentionMs }: StepContext) {
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

/** How an execution ended. */
export function settlementSteps(context: StepContext) {
  const { pool, seals, retentionMs } = context;
  return {
    settleNotSent: (gatedCallId: string, invocationId: string) =>
      stateAfter(pool, 'settle-not-sent', SETTLE, [
        gatedCallId,
        invocationId,
        'not_sent',
        null,
        null,
        null,
        retentionMs,
      ]),

    /**
     * `probe`: what the upstream says of the execution afterwards. The result is JSON text. Whoever sent the call has its
     * data keys, and gives them: those in the database may be under a key by now that this process does not have.
     */
    async settleResult(
      of: { gatedCallId: string; invocationId: string; cause: 'result' | 'probe'; keys?: WrappedKeys },
      { isError, text }: { isError: boolean; text: string },
    ) {
      const keys = of.keys ? seals.forCall(of.gatedCallId, of.keys) : await sealsOf(context, of.gatedCallId);
      return stateAfter(pool, 'settle-execution', SETTLE, [
        of.gatedCallId,
        of.invocationId,
        of.cause,
        isError,
        keys.seal('call_result.sealed_result', text),
        seals.digest(text),
        retentionMs,
      ]);
    },
  };
}

const SETTLE = 'SELECT gateway.settle_execution($1, $2, $3, $4, $5, $6, $7) AS state';
