import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { heldCalls } from '../support/held-calls.ts';
import { preloading } from '../support/preload.ts';
import { resigned } from '../support/signed-tokens.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const TEN_MINUTES_MS = 600_000;
const shifted = (byMs: number) => ({
  ...preloading('shifted-clock.mjs'),
  COUNTERSIGN_TEST_CLOCK_SHIFT_MS: String(byMs),
});

interface Line {
  readonly name: string;
  readonly time: number;
  readonly msg: string;
  readonly gatedCall?: string;
  readonly alarm?: string;
  readonly databaseAheadMs?: number;
  readonly accessRequestsAheadMs?: number;
}

describe.each([
  ['the gateway is ten minutes ahead, the worker ten minutes behind', TEN_MINUTES_MS, -TEN_MINUTES_MS],
  ['the gateway is ten minutes behind, the worker ten minutes ahead', -TEN_MINUTES_MS, TEN_MINUTES_MS],
])('where the clock of %s', (_case, gatewayMs, workerMs) => {
  let stack!: Stack;
  // A gateway whose clock is behind takes a current token for a future one, and refuses it.
  const token = async () =>
    resigned(stack.development, await stack.token('agent'), {
      iat: Math.floor((Date.now() + Math.min(0, gatewayMs)) / 1_000),
    });
  const { hold, approve, end, writes } = heldCalls(() => stack, token);
  beforeAll(async () => {
    stack = await startStack({
      parts: 'apart',
      environments: { gateway: shifted(gatewayMs), worker: shifted(workerMs) },
      config: { approvals: { approvalTtlSeconds: 300 } },
    });
  });
  afterAll(() => stack?.stop());
  const linesOf = (part: string): Line[] =>
    readFileSync(join(stack.stateDir, 'logs', 'countersign.log'), 'utf8')
      .trim()
      .split('\n')
      .filter((line) => line.includes(`"name":"${part}"`))
      .map((line) => JSON.parse(line) as Line);
  const alarms = () => linesOf('worker').filter(({ alarm }) => alarm === 'clock_skew');

  it('the clocks differ as configured', () => {
    const minutesOff = (part: string) => Math.round(((linesOf(part)[0]?.time ?? 0) - Date.now()) / 60_000);
    expect(Math.abs(minutesOff('gateway') - gatewayMs / 60_000)).toBeLessThanOrEqual(2);
    expect(Math.abs(minutesOff('worker') - workerMs / 60_000)).toBeLessThanOrEqual(2);
  });

  it('the worker raises an alarm with the difference', async () => {
    const alarm = await waitFor(() => alarms().find((line) => line.accessRequestsAheadMs !== undefined));
    expect(Math.abs((alarm.databaseAheadMs ?? 0) + workerMs)).toBeLessThan(60_000);
    expect(Math.abs((alarm.accessRequestsAheadMs ?? 0) + workerMs)).toBeLessThan(60_000);
  });

  it("an approval that has expired by the database's clock is not used", async () => {
    const { taskId, path, request } = await hold();
    stack.signal('worker', 'SIGSTOP');
    await approve(request);
    const database = await stack.database();
    // Five minutes after the approval.
    await database.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET
       approved_at = approved_at - interval '5 minutes', approved_until = approved_until - interval '5 minutes'
       WHERE id = '${request.id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );
    stack.signal('worker', 'SIGCONT');
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'denied-not-executed' });
    expect(writes(path)).toBe(0);
    const { rows } = await database.query('SELECT reason FROM gateway.gated_call WHERE task_id = $1', [taskId]);
    expect(rows).toEqual([{ reason: 'approval_expired' }]);
  });

  it("an approval that is valid by the database's clock waits for a worker with a correct clock", async () => {
    const { taskId, path, request } = await hold();
    await approve(request);
    const database = await stack.database();
    const inDatabase = async () => {
      const { rows } = await database.query<{ id: string; state: string; claims: number }>(
        `SELECT id, state, (SELECT count(*)::int FROM gateway.execution_claim c WHERE c.gated_call_id = g.id) AS claims
         FROM gateway.gated_call g WHERE task_id = $1`,
        [taskId],
      );
      return rows[0];
    };
    const id = (await inDatabase())?.id;
    const putOffs = () =>
      linesOf('worker').filter(({ gatedCall, msg }) => gatedCall === id && msg.startsWith('a claim is put off'));
    await waitFor(() => putOffs().length >= 3);
    expect(await inDatabase()).toMatchObject({ state: 'granted', claims: 0 });
    const shown = await stack.rpc(await token(), 'tasks/get', { taskId });
    expect(shown.body.result?.['status']).toBe('working');
    expect(writes(path)).toBe(0);

    await stack.kill('worker');
    const raised = alarms().length;
    await stack.startPart('worker', {});
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect(writes(path)).toBe(1);
    expect(alarms()).toHaveLength(raised);
    await waitFor(async () => (await database.query('SELECT 1 FROM gateway.outbox')).rows.length === 0);
    await expectInvariants(database);
  });
});
