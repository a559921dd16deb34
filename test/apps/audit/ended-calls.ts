import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { TerminalState } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { Opening } from '../../../workflows/domain/ports.ts';
import { anApproval, anOpening, gatedCallFixture } from '../../support/gated-calls.ts';

/** An ended call and the ids of its record. */
export interface EndedCall {
  readonly gatedCallId: string;
  readonly taskId: string;
  readonly opening: Opening;
  readonly decisionId: string;
  readonly evaluationId: string;
}

/** Ends calls through the product's own functions. */
export function endedCalls(pool: Pool) {
  const fixture = gatedCallFixture(pool);

  async function claimed(opening: Opening) {
    const call = await fixture.granted(opening, anApproval());
    const claimId = randomUUID();
    await fixture.claim(call.gatedCallId, claimId);
    return { ...call, claimId };
  }

  async function invoked(opening: Opening) {
    const call = await claimed(opening);
    const invocationId = randomUUID();
    const permit = { ...call, invocationId, upstreamKey: randomUUID() };
    if (!(await fixture.lifecycle.beginInvocation(permit))) throw new Error('no permit was given');
    return permit;
  }

  const settle = async (opening: Opening, isError: boolean) => {
    const call = await invoked(opening);
    const text = JSON.stringify({ content: [{ type: 'text', text: CANARY_RESULT }], isError });
    const of = { gatedCallId: call.gatedCallId, invocationId: call.invocationId, cause: 'result' } as const;
    await fixture.lifecycle.settleResult(of, { isError, text });
    return call;
  };

  const ways = {
    executed: (opening) => settle(opening, false),
    execution_error: (opening) => settle(opening, true),
    async outcome_unknown(opening) {
      const call = await invoked(opening);
      await passDeadline('execution_deadline', call.gatedCallId);
      return call;
    },
    async denied(opening) {
      const call = await fixture.pending(opening);
      await fixture.lifecycle.end(call.gatedCallId, 'denied', 'resolution_denied', 'resolution');
      return call;
    },
    async cancelled(opening) {
      const call = await fixture.pending(opening);
      await fixture.calls.cancel(call.gatedCallId);
      return call;
    },
    async failed(opening) {
      const call = await fixture.opened(opening);
      await fixture.lifecycle.end(call.gatedCallId, 'failed', 'submission_refused', 'submission');
      return call;
    },
  } satisfies Record<TerminalState, (opening: Opening) => Promise<{ gatedCallId: string; taskId: string }>>;

  /** Sets the deadline to now, and carries it out. */
  async function passDeadline(column: 'request_deadline' | 'execution_deadline', gatedCallId: string): Promise<void> {
    await pool.query(`UPDATE gateway.gated_call SET ${column} = clock_timestamp() WHERE id = $1`, [gatedCallId]);
    await fixture.lifecycle.expire(gatedCallId);
  }

  async function found(call: { gatedCallId: string; taskId: string }, opening: Opening): Promise<EndedCall> {
    const { rows } = await pool.query<{ id: string; evaluation_id: string }>(
      "SELECT id, evaluation_id FROM gateway.decision WHERE gated_call_id = $1 AND kind = 'requestable'",
      [call.gatedCallId],
    );
    const [first] = rows;
    if (!first) throw new Error('the call has no first decision');
    const { gatedCallId, taskId } = call;
    return { gatedCallId, taskId, opening, decisionId: first.id, evaluationId: first.evaluation_id };
  }

  return {
    fixture,
    async end(state: TerminalState, opening = anOpening()): Promise<EndedCall> {
      return found(await ways[state](opening), opening);
    },
    async notSent(opening = anOpening()): Promise<EndedCall> {
      const call = await invoked(opening);
      await fixture.lifecycle.settleNotSent(call.gatedCallId, call.invocationId);
      return found(call, opening);
    },
    async expiredRequest(opening = anOpening()): Promise<EndedCall> {
      const call = await fixture.pending(opening);
      await passDeadline('request_deadline', call.gatedCallId);
      return found(call, opening);
    },
  };
}

/** The tool's result, which only the agent may see. */
export const CANARY_RESULT = 'canary-in-the-result';
