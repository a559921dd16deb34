import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type Pool } from 'pg';
import { createPool } from '../../apps/shared/database/pool.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { lives, repeated, type Held } from '../support/lives.ts';
import { NetProxy } from '../support/net-proxy.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { everySoOften, setting, unreliable, withOperator } from '../support/postgres-faults.ts';
import { inParallel, times } from '../support/regime.ts';
import { patiently, waitFor } from '../support/wait-for.ts';
import { ordinaryTime } from '../support/time.ts';

const AWAY = { code: 'ERR_DATABASE_UNAVAILABLE' };
const AT_ONCE = 20;

const postgres = new OwnPostgres();
let url: string;
let pool: Pool;
beforeAll(async () => {
  url = await postgres.start();
});
afterAll(() => postgres.stop());
beforeEach(() => {
  pool = createPool(url, { ...ordinaryTime, applicationName: 'calls', durable: true });
});
afterEach(() => pool.end());

/** Runs this many whole lives and then ends the fault; each call has run once, and the invariants hold. */
async function everyCallRunsOnce(count: number, calm: () => Promise<unknown>, over: Pool = pool): Promise<void> {
  const world = lives(over);
  const held: Held[] = [];
  try {
    await inParallel(count, AT_ONCE, async () => {
      const call = await world.open();
      held.push(call);
      await world.drive(call);
    });
  } finally {
    await calm();
  }
  for (const { path } of held) expect(world.ledger.get(path)).toBe(1);
  const checks = createPool(url, { ...ordinaryTime, applicationName: 'checks' });
  try {
    const { rows } = await checks.query('SELECT DISTINCT state FROM gateway.gated_call WHERE id = ANY ($1)', [
      held.map(({ gatedCallId }) => gatedCallId),
    ]);
    expect(rows).toEqual([{ state: 'executed' }]);
    expect([world.requests.size, held.length]).toEqual([count, count]);
    await expectInvariants(checks, { seenTaskIds: held.map(({ taskId }) => taskId), requests: [] });
  } finally {
    await checks.end();
  }
  const keys = world.arrivals.map(({ upstreamKey }) => upstreamKey);
  expect(new Set(keys).size).toBe(count);
}

describe('while calls run', () => {
  it('immediate restarts of the server lose nothing and repeat nothing', async () => {
    const restarts = everySoOften(
      async () => {
        await postgres.crash();
        await pause(randomInt(0, 1_000));
        expect(await postgres.start()).toBe(url);
      },
      { fromMs: times(500, 4_000), toMs: times(1_500, 8_000) },
    );
    await everyCallRunsOnce(times(800, 5_000), restarts.stop);
    expect(await restarts.stop()).toBeGreaterThan(0);
  }, 1_800_000);

  it('sessions that are ended at random lose nothing and repeat nothing', async () => {
    let ended = 0;
    await withOperator(url, async (operator) => {
      const endings = everySoOften(
        async () => {
          const { rowCount } = await operator.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = 'calls' ORDER BY random() LIMIT 1`,
          );
          ended += rowCount ?? 0;
        },
        { fromMs: 30, toMs: 100 },
      );
      await everyCallRunsOnce(times(150, 2_000), endings.stop);
    });
    expect(ended).toBeGreaterThan(10);
  }, 900_000);

  it('queries that fail at random, some of them after they took effect, lose nothing and repeat nothing', async () => {
    const shaky = unreliable(pool, { before: 0.02, after: 0.05 });
    await everyCallRunsOnce(times(150, 2_000), () => Promise.resolve(), shaky.pool);
    expect(shaky.failures()).toBeGreaterThan(20);
  }, 900_000);
});

describe('a server that only reads', () => {
  afterEach(() => setting(url, 'default_transaction_read_only', undefined));

  it('shows every task, tells callers to repeat writes, and goes on afterwards', async () => {
    const { open, drive, view: look, calls } = lives(pool);
    const view = (taskId: string) => repeated(() => look(taskId));
    const [waiting, dueSoon] = [await open(), await open()];
    const past = 'UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1';
    await withOperator(url, (operator) => operator.query(past, [dueSoon.gatedCallId]));
    await setting(url, 'default_transaction_read_only', 'on');
    const shown = async () => (await pool.query('SHOW transaction_read_only')).rows[0].transaction_read_only === 'on';
    await patiently(shown);
    const until = performance.now() + times(500, 60_000);
    while (performance.now() < until) {
      expect(await view(waiting.taskId)).toMatchObject({ state: 'pending' });
      // Past its deadline. Its end cannot be recorded, so it has not happened.
      expect(await view(dueSoon.taskId)).toMatchObject({ state: 'pending' });
    }
    await expect(calls.cancel(waiting.gatedCallId)).rejects.toMatchObject(AWAY);
    const opening = open();
    const driving = drive(waiting);
    await setting(url, 'default_transaction_read_only', undefined);
    await driving;
    expect((await view((await opening).taskId))?.state).toBe('pending');
    expect((await view(waiting.taskId))?.state).toBe('executed');
    // One connection after the other learns that it may write again.
    const ended = await waitFor(async () => {
      const task = await view(dueSoon.taskId);
      return task?.state === 'pending' ? undefined : task;
    });
    expect(ended).toMatchObject({ state: 'denied', reason: 'request_expired' });
  });
});

describe('a server without a connection left', () => {
  it('makes callers wait within bounds, and serves them at once when there are connections again', async () => {
    const { open, view } = lives(pool);
    const { taskId } = await open();
    const taken: Client[] = [];
    const fresh = createPool(url, { ...ordinaryTime, applicationName: 'too late' });
    try {
      for (;;) {
        const client = new Client({ connectionString: url });
        client.on('error', () => undefined);
        if (
          !(await client.connect().then(
            () => true,
            () => false,
          ))
        )
          break;
        taken.push(client);
        // Or the pool ends its connection, which stays unused for as long as this takes.
        await repeated(() => view(taskId));
      }
      // Callers with connections keep them.
      expect(await repeated(() => view(taskId))).toMatchObject({ state: 'pending' });
      const late = lives(fresh);
      const looks = async (count: number) => {
        for (let look = 0; look < count; look += 1) expect(await late.view(taskId)).toBeDefined();
        return count;
      };
      await expect(late.view(taskId)).rejects.toMatchObject(AWAY);
      await Promise.all(taken.splice(0).map((client) => client.end()));
      // The server needs time to notice that they are gone, one after the other.
      await waitFor(() => looks(50).then(Boolean, () => false));
    } finally {
      await Promise.all(taken.map((client) => client.end()));
      await fresh.end();
    }
  });

  it('more callers than connections wait their turn, within bounds', async () => {
    const narrow = createPool(url, { ...ordinaryTime, applicationName: 'narrow', max: 2 });
    try {
      const { open, view } = lives(narrow);
      const { taskId } = await open();
      const looks = await Promise.all(Array.from({ length: 500 }, () => repeated(() => view(taskId))));
      expect(new Set(looks.map((look) => look?.state))).toEqual(new Set(['pending']));
      const held = await Promise.all([narrow.connect(), narrow.connect()]);
      await expect(view(taskId)).rejects.toMatchObject(AWAY);
      for (const client of held) client.release();
      expect(await repeated(() => view(taskId))).toMatchObject({ state: 'pending' });
    } finally {
      await narrow.end();
    }
  });
});

describe('a network', () => {
  const proxy = new NetProxy();
  let behind: Pool;
  beforeAll(async () => {
    behind = createPool(await proxy.listen(url), { ...ordinaryTime, applicationName: 'behind the proxy' });
  });
  afterAll(async () => {
    await behind.end();
    await proxy.close();
  });

  it.each(['refuse', 'blackhole'] as const)(
    'that does %s connections makes no caller wait for ever',
    async (weather) => {
      const { open, drive, view } = lives(behind);
      const call = await open();
      proxy.weather = weather;
      if (weather === 'refuse') proxy.dropAll();
      await expect(view(call.taskId)).rejects.toMatchObject(AWAY);
      const driving = drive(call);
      proxy.weather = 'pass';
      await driving;
      expect(await repeated(() => view(call.taskId))).toMatchObject({ state: 'executed' });
    },
  );

  it('that is slow, and breaks off after some bytes, again and again, lets every call through once', async () => {
    proxy.delayMs = 5;
    proxy.resetAfterBytes = 20_000;
    const calm = async () => {
      proxy.delayMs = 0;
      proxy.resetAfterBytes = Infinity;
    };
    await everyCallRunsOnce(times(40, 500), calm, behind);
  });
});
