import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { createPool } from '../../apps/shared/database/pool.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { anOpening } from '../support/gated-calls.ts';
import { lives, repeated, type Held } from '../support/lives.ts';
import { withOperator } from '../support/postgres-faults.ts';
import { times } from '../support/regime.ts';
import { SmallDiskPostgres, whyNoSmallDisks } from '../support/small-disk-postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import { ordinaryTime } from '../support/time.ts';

const obstacle = whyNoSmallDisks();
/** The test is skipped where it cannot run, and its name says why. */
const onSmallDisk = (name: string, test: () => Promise<void>) =>
  obstacle === undefined ? it(name, test) : it.skip(`${name} (not tried here: ${obstacle})`, test);
let postgres!: SmallDiskPostgres;
let pool: Pool;
let checks: Pool;
beforeAll(async () => {
  if (obstacle !== undefined) return;
  postgres = new SmallDiskPostgres();
  await postgres.start();
  pool = createPool(postgres.url, { ...ordinaryTime, applicationName: 'calls', durable: true });
  checks = createPool(postgres.url, { ...ordinaryTime, applicationName: 'checks' });
});
afterAll(async () => {
  await pool?.end();
  await checks?.end();
  await postgres?.stop();
});

/** Opens calls until the server fails; answers why. */
async function openUntilRefused(world: ReturnType<typeof lives>): Promise<unknown> {
  // Content that a server cannot compress.
  const content = () => randomBytes(50_000).toString('base64');
  for (let count = 0; count < 5_000; count += 1) {
    const opening = anOpening({ args: { path: String(count), content: content() } });
    const refused = await world.calls.open(opening).then(
      () => undefined,
      (error: unknown) => error,
    );
    // A machine that stood still leads to a refusal as well.
    if (refused !== undefined && /No space left on device/.test(postgres.log)) return refused;
  }
  throw new Error('the disk never got full');
}

onSmallDisk(
  'a full disk refuses new calls as something to repeat, shows every task, and keeps results until there is room',
  async () => {
    let reachedTheTool = 0;
    let mayAnswer = () => undefined as void;
    const answered = new Promise<void>((resolve) => {
      mayAnswer = resolve;
    });
    const world = lives(pool, {
      time: ordinaryTime,
      // The time that a server needs to recover from a full disk does not matter here.
      executionTimeoutMs: 600_000,
      atTheTool: async () => {
        reachedTheTool += 1;
        await answered;
      },
    });
    const held: Held[] = [];
    for (let count = 0; count < times(5, 50); count += 1) held.push(await world.open());
    const driving = Promise.all(held.map((call) => world.drive(call)));
    await waitFor(() => reachedTheTool === held.length);

    await postgres.fill('data');
    const refused = await openUntilRefused(world);
    expect(refused).toBeInstanceOf(CountersignError);
    expect(refused).toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
    for (const { taskId } of held) {
      expect(await waitFor(() => world.view(taskId).catch(() => undefined))).toMatchObject({ state: 'claimed' });
    }
    mayAnswer();
    await expect(openUntilRefused(world)).resolves.toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
    await postgres.makeRoom();
    await driving;
    for (const { taskId, path } of held) {
      expect(await repeated(() => world.view(taskId))).toMatchObject({ state: 'executed' });
      expect(world.ledger.get(path)).toBe(1);
    }
    expect(postgres.log).toMatch(/No space left on device/);
    await expectInvariants(checks, { seenTaskIds: held.map(({ taskId }) => taskId) });
  },
);

onSmallDisk(
  'a write-ahead log without room ends the server; confirmed data is there when it is back, and calls go on',
  async () => {
    const world = lives(pool, { time: ordinaryTime });
    const held = await world.open();
    await postgres.fill('log');
    const opening = world.open();
    await waitFor(
      async () => {
        const write = `SELECT pg_logical_emit_message(true, 'filler', repeat('x', 100000000))`;
        await withOperator(postgres.url, (operator) => operator.query(write)).catch(() => undefined);
        return /PANIC/.test(postgres.log);
      },
      { timeoutMs: 60_000 },
    );
    await postgres.makeRoomAndRestart();
    const calls = [held, await opening];
    for (const call of calls) {
      await world.drive(call);
      expect(await repeated(() => world.view(call.taskId))).toMatchObject({ state: 'executed' });
      expect(world.ledger.get(call.path)).toBe(1);
    }
    await expectInvariants(checks, { seenTaskIds: calls.map(({ taskId }) => taskId) });
  },
);
