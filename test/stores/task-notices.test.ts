import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { listen } from '../../apps/shared/database/listen.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, anOpening, gatedCallFixture } from '../support/gated-calls.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

let db: TestDatabase;
let fixture: ReturnType<typeof gatedCallFixture>;
const heard: (string | undefined)[] = [];
let listening: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  db = await createTestDatabase();
  fixture = gatedCallFixture(db.pool);
  const onNotice = (payload?: string) => void heard.push(payload);
  listening = await listen({
    ...systemTime,
    url: db.url,
    channel: 'gateway_task',
    log: pino({ level: 'silent' }),
    onNotice,
  });
});
afterAll(async () => {
  await listening.stop();
  await db.drop();
});
beforeEach(() => {
  heard.length = 0;
});

/** All notices until now, in the order of the commits. */
async function told(): Promise<(string | undefined)[]> {
  const mark = randomUUID();
  await db.pool.query("SELECT pg_notify('gateway_task', $1)", [mark]);
  await waitFor(() => heard.includes(mark));
  return heard.splice(0).filter((payload) => payload !== mark);
}

/** A call with the permit to send. */
async function sent() {
  const call = await fixture.claimed();
  const invocationId = randomUUID();
  await fixture.lifecycle.beginInvocation({ ...call, invocationId, upstreamKey: randomUUID() });
  return { ...call, invocationId };
}

/** A call whose deadline has passed, and that has not been ended yet. */
async function overdue() {
  const call = await fixture.pending();
  const text = 'UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1';
  await db.pool.query(text, [call.gatedCallId]);
  return call;
}

describe('a listener for tasks', () => {
  it('hears no notice before the handle is given out: commits with a notice would wait for each other', async () => {
    await fixture.pending();
    expect(await told()).toEqual([]);
  });

  it('hears every change of the shown task, once', async () => {
    const { lifecycle, calls, pending, granted, claim } = fixture;
    const changes: [
      name: string,
      make: () => Promise<{ gatedCallId: string; taskId: string }>,
      (id: string) => unknown,
    ][] = [
      ['granted', pending, (id) => lifecycle.grant(id, 1, anApproval())],
      [
        'one more approval wanted',
        granted,
        (id) => lifecycle.requestAgain({ gatedCallId: id, generation: 1 }, anOpening().submission, 3),
      ],
      ['claimed', granted, (id) => claim(id, randomUUID())],
      ['denied', granted, (id) => lifecycle.end(id, 'denied', 'policy_denied', 're-evaluation')],
      ['cancelled', pending, (id) => calls.cancel(id)],
      ['past its deadline', overdue, (id) => lifecycle.expire(id)],
    ];
    for (const [name, make, act] of changes) {
      const { gatedCallId, taskId } = await make();
      await told();
      await act(gatedCallId);
      expect([name, await told()]).toEqual([name, [taskId]]);
    }
  });

  it('hears the outcome', async () => {
    const call = await sent();
    await told();
    await fixture.lifecycle.settleResult({ ...call, cause: 'result' }, { isError: false, text: '{"content":[]}' });
    expect(await told()).toEqual([call.taskId]);
  });

  it('hears no notice when the task does not change', async () => {
    const call = await sent();
    const { lifecycle, calls } = fixture;
    await told();
    await lifecycle.expire(call.gatedCallId);
    await calls.cancel(call.gatedCallId);
    await calls.findTask(call.taskId, 'stranger');
    expect(await told()).toEqual([]);
  });
});
