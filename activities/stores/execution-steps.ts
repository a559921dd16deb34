import { functionCall } from '../../apps/shared/database/function-call.ts';
import type { WrappedKeys } from '../../workflows/domain/gated-call/sealing.ts';
import { queryOne, sealsOf, stateAfter, type StepContext } from './query.ts';

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
      const { text, values } = functionCall('gateway.claim_execution', {
        call: claim.gatedCallId,
        generation: claim.generation,
        decision: claim.decisionId,
        claim: claim.claimId,
        epoch: claim.epoch,
        execution_ms: claim.executionTimeoutMs,
        retention_ms: retentionMs,
      });
      const row = await queryOne<{ outcome: 'won' | 'mine' | 'lost' | 'stale' | 'frozen' }>(
        pool,
        'claim-execution',
        `SELECT ${text} AS outcome`,
        values,
      );
      return row.outcome;
    },

    /** The permit to send; false when it was given before or may no longer be given. */
    async beginInvocation(call: { gatedCallId: string; claimId: string; invocationId: string; upstreamKey: string }) {
      const { text, values } = functionCall('gateway.begin_invocation', {
        call: call.gatedCallId,
        claim: call.claimId,
        invocation: call.invocationId,
        upstream_key: call.upstreamKey,
      });
      return (await queryOne<{ given: boolean }>(pool, 'begin-invocation', `SELECT ${text} AS given`, values)).given;
    },
  };
}

/** How an execution ended. */
export function settlementSteps(context: StepContext) {
  const { pool, seals, retentionMs } = context;
  return {
    settleNotSent: (gatedCallId: string, invocationId: string) =>
      stateAfter(pool, 'settle-not-sent', [
        'settle_execution',
        {
          ...{ call: gatedCallId, invocation: invocationId, cause: 'not_sent', retention_ms: retentionMs },
          ...{ is_error: null, sealed_result: null, result_digest: null },
        },
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
      const parameters = {
        call: of.gatedCallId,
        invocation: of.invocationId,
        cause: of.cause,
        is_error: isError,
        sealed_result: keys.seal('call_result.sealed_result', text),
        result_digest: seals.digest(text),
        retention_ms: retentionMs,
      };
      return stateAfter(pool, 'settle-execution', ['settle_execution', parameters]);
    },
  };
}
