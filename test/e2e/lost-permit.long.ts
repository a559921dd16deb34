import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { timesLogged } from '../support/artefacts.ts';
import { backUp } from '../support/copies.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const PATIENCE = { timeoutMs: 120_000 };
const NOTICED = 'a failover may have lost the permit';

describe('a call that was sent, and whose permit a failover lost', () => {
  let stack!: Stack;
  const { hold, approve, end, endExecution, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({ parts: 'apart', config: { gateway: { executionTimeoutSeconds: 600 } } });
  });
  afterAll(() => stack?.stop());

  const stateOf = async (taskId: string) => {
    const text = 'SELECT state FROM gateway.gated_call WHERE task_id = $1';
    return (await (await stack.database()).query<{ state: string }>(text, [taskId])).rows[0]?.state;
  };
  /** Withholds permits from now on, until the server is gone. */
  async function withholdPermits(): Promise<void> {
    const client = await (await stack.database()).connect();
    client.on('error', () => client.release(true));
    await client.query('BEGIN; LOCK TABLE gateway.invocation IN EXCLUSIVE MODE');
  }

  it.each(['keeps running', 'dies too'])(
    'has an unknown outcome and is not sent again when the worker that sent it %s',
    async (how) => {
      const call = await hold();
      await withholdPermits();
      await approve(call.request);
      await waitFor(async () => (await stateOf(call.taskId)) === 'claimed', PATIENCE);
      stack.holdUpstream();
      const noticed = timesLogged(stack, NOTICED, 'worker');
      // The standby has the claim. The primary gives the permit, and is lost before the standby gets it.
      const failOver = await backUp(stack, { database: 'recovered', engine: 'kept' });
      await waitFor(() => writes(call.path) === 1, PATIENCE);
      if (how === 'dies too') await stack.kill('worker');
      await failOver();
      stack.releaseUpstream();
      if (how === 'dies too') await stack.startPart('worker');
      await waitFor(() => writes(call.path) > 1 || timesLogged(stack, NOTICED, 'worker') > noticed, PATIENCE);
      await endExecution(call.taskId);
      expect(await end(call.taskId)).toEqual({ status: 'completed', disposition: 'outcome-unknown' });
      expect(writes(call.path)).toBe(1);
      const { answers } = await stack.record(call.taskId);
      expect(answers).toMatchObject({ contradictions: [], didRun: { answer: 'unknown' } });
    },
  );
});
