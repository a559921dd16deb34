import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createDueCalls } from '../../../activities/stores/due-calls.ts';
import { stopAll } from '../../../apps/shared/lifecycle.ts';
import { startOutbox } from '../../../apps/shared/outbox.ts';
import { outboxHandlers } from '../../../apps/worker/jobs/deliver-outbox.ts';
import { startExpiry } from '../../../apps/shared/maintenance/expire.ts';
import { expectInvariants } from '../../invariants/check-invariants.ts';
import { anAccessRequestClient } from '../../support/authority-clients.ts';
import { gatedCallFixture } from '../../support/gated-calls.ts';
import { REQUESTABLE, startRealGateway } from '../../support/real-gateway.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

let real: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  real = await startRealGateway({ maxOpenPerCaller: 100 });
});
afterAll(async () => {
  try {
    await expectInvariants(real.database.pool);
  } finally {
    await real.stop();
  }
});
beforeEach(() => real.reset());

const call = (args: Record<string, unknown>, signal?: AbortSignal) =>
  real.send('tools/call', { name: 'files__pid', arguments: args }, undefined, signal);
const taskOf = async (answer: ReturnType<typeof call>) => (await answer).body.result?.['taskId'];
const rows = async () =>
  (await real.database.pool.query<Row>('SELECT id, task_id, state, reason FROM gateway.gated_call ORDER BY created_at'))
    .rows;
interface Row {
  readonly id: string;
  readonly task_id: string;
  readonly state: string;
  readonly reason: string | null;
}
const isPending = ({ state }: Row) => state === 'pending';
const keys = () => real.authority.submissions().map(({ headers }) => headers['idempotency-key']);

/** An answer that waits for a request and for its release. */
function held<T>(answer: T) {
  const hold = { asked: false, release: () => undefined as void };
  const released = new Promise<T>((resolve) => {
    hold.release = () => resolve(answer);
  });
  const give = () => {
    hold.asked = true;
    return released;
  };
  return { hold, give };
}

/** Makes the call, and closes its connection once the gateway waits for the answer it needs. */
async function callAndLeave(args: Record<string, unknown>, hold: { readonly asked: boolean }): Promise<void> {
  const client = new AbortController();
  const answer = call(args, client.signal);
  await waitFor(() => hold.asked);
  client.abort();
  await expect(answer).rejects.toThrow(/abort/);
  // This request follows the disconnect, so its answer proves that the gateway has noticed.
  await fetch(new URL('/healthz', real.mcpUrl));
}

describe('a client that disconnects', () => {
  it('during the decision leaves no call behind [STATELESS-023]', async () => {
    const before = await rows();
    const { hold, give } = held(REQUESTABLE);
    real.authority.decide = give;
    await callAndLeave({ n: 1 }, hold);
    hold.release();
    real.authority.decide = () => REQUESTABLE;
    // Another call goes through every step, while the first had only a part left.
    const other = await taskOf(call({ n: 'other' }));
    expect((await rows()).slice(before.length)).toEqual([expect.objectContaining({ task_id: other })]);
    expect(keys()).toHaveLength(1);
  });

  it('during the access request has a waiting call, and gets its task when it repeats the call [STATELESS-024]', async () => {
    const before = await rows();
    const { hold, give } = held(await real.authority.accept());
    real.authority.accept = give;
    await callAndLeave({ n: 2 }, hold);
    expect((await rows()).slice(before.length)).toEqual([expect.objectContaining({ state: 'preparing' })]);
    hold.release();
    const waiting = await waitFor(async () => (await rows()).slice(before.length).find(isPending));
    expect(await taskOf(call({ n: 2 }))).toBe(waiting.task_id);
    expect((await rows()).length).toBe(before.length + 1);
    expect(keys()).toHaveLength(1);
  });

  it('during a failed access request that it never repeats has its call and its access request cancelled', async () => {
    const before = await rows();
    const { hold, give } = held({ status: 503, body: {} });
    real.authority.accept = give;
    await callAndLeave({ n: 3 }, hold);
    const [opened] = (await rows()).slice(before.length);
    // The service has opened the request anyway, and finds it by its key.
    const requests = `${real.authority.url}/access/v1/requests`;
    const links = { cancel: `${requests}/three/cancel` };
    const task = { id: 'three', status: 'pending', status_endpoint: `${requests}/three`, links };
    real.authority.accept = () => ({ status: 202, body: { task } });
    hold.release();
    const parts = await startMaintenance();
    try {
      await waitFor(() => real.authority.seen.some(({ path }) => path === '/access/v1/requests/three/cancel'));
    } finally {
      await stopAll(parts);
    }
    expect((await rows()).find(({ id }) => id === opened?.id)).toMatchObject({
      state: 'cancelled',
      reason: 'abandoned',
    });
    expect(keys()).toHaveLength(2);
    expect(new Set(keys()).size).toBe(1);
  });
});

/** The parts of a worker that give up abandoned creations and cancel their access requests. */
async function startMaintenance() {
  const { pool, url: listenUrl } = real.database;
  const { lifecycle } = gatedCallFixture(pool);
  const log = pino({ enabled: false });
  const handlers = outboxHandlers({
    workflows: { start: async () => 'running', signal: async () => 'running', activity: async () => 'waiting' },
    calls: lifecycle,
    accessRequests: anAccessRequestClient(real.authority.url),
    log,
  });
  const calls = { ...createDueCalls(pool), rewrap: async () => 0, expire: lifecycle.expire, end: lifecycle.end };
  return [
    startExpiry({ ...systemTime, calls, intervalMs: 20, abandonAfterMs: 1, log }),
    await startOutbox({
      ...systemTime,
      pool,
      listenUrl,
      schema: 'gateway',
      channel: 'gateway_outbox',
      handlers,
      concurrency: 4,
      log,
    }),
  ];
}
