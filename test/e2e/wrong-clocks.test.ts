import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const TEN_MINUTES_MS = 600_000;
const shifted = (byMs: number) => ({
  NODE_OPTIONS: `--import ${pathToFileURL(packagePath('test', 'support', 'shifted-clock.mjs')).href}`,
  COUNTERSIGN_TEST_CLOCK_SHIFT_MS: String(byMs),
});

describe.each([
  ['the gateway is ten minutes ahead, the worker ten minutes behind', TEN_MINUTES_MS, -TEN_MINUTES_MS],
  ['the gateway is ten minutes behind, the worker ten minutes ahead', -TEN_MINUTES_MS, TEN_MINUTES_MS],
])('where the clock of %s', (_case, gatewayMs, workerMs) => {
  let stack!: Stack;
  const { hold, approve, end, writes } = heldCalls(() => stack);
  beforeAll(async () => {
    stack = await startStack({
      parts: 'apart',
      environments: { gateway: shifted(gatewayMs), worker: shifted(workerMs) },
      config: { approvals: { approvalTtlSeconds: 60 } },
    });
  }, 180_000);
  afterAll(() => stack?.stop());

  it('it really is', () => {
    const lines = readFileSync(join(stack.stateDir, 'logs', 'countersign.log'), 'utf8')
      .trim()
      .split('\n');
    const minutesOff = (part: string) => {
      const [first = '{}'] = lines.filter((line) => line.includes(`"name":"${part}"`));
      return Math.round(((JSON.parse(first) as { time: number }).time - Date.now()) / 60_000);
    };
    expect(Math.abs(minutesOff('gateway') - gatewayMs / 60_000)).toBeLessThanOrEqual(2);
    expect(Math.abs(minutesOff('worker') - workerMs / 60_000)).toBeLessThanOrEqual(2);
  });

  it('an approval that is good by the clock of the database is good', async () => {
    const { taskId, path, request } = await hold();
    await approve(request);
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect(writes(path)).toBe(1);
  });

  it('an approval that is over by the clock of the database is over', async () => {
    const { taskId, path, request } = await hold();
    stack.signal('worker', 'SIGSTOP');
    await approve(request);
    const database = await stack.database();
    // As it is a minute after the approval.
    await database.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request SET
       approved_at = approved_at - interval '1 minute', approved_until = approved_until - interval '1 minute'
       WHERE id = '${request.id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );
    stack.signal('worker', 'SIGCONT');
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'denied-not-executed' });
    expect(writes(path)).toBe(0);
    const { rows } = await database.query('SELECT reason FROM gateway.gated_call WHERE task_id = $1', [taskId]);
    expect(rows).toEqual([{ reason: 'approval_expired' }]);
    await waitFor(async () => (await database.query('SELECT 1 FROM gateway.outbox')).rows.length === 0);
    await expectInvariants(database);
  });
});
