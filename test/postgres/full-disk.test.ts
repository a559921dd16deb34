import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createPool } from '../../apps/shared/database/pool.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { anOpening } from '../support/gated-calls.ts';
import { lives, type Held } from '../support/lives.ts';
import { canHaveSmallDisks, SmallDiskPostgres } from '../support/small-disk-postgres.ts';
import { waitFor } from '../support/wait-for.ts';

const onSmallDisk = canHaveSmallDisks() ? it : it.skip;
const postgres = new SmallDiskPostgres();
let pool: Pool;
beforeAll(async () => {
  if (!canHaveSmallDisks()) return;
  await postgres.start();
  pool = createPool(postgres.url, { applicationName: 'calls', durable: true });
}, 120_000);
afterAll(async () => {
  await pool?.end();
  await postgres.stop();
});

/** Opens calls until the server cannot any more; answers why. */
async function openUntilRefused(world: ReturnType<typeof lives>): Promise<unknown> {
  const content = 'x'.repeat(100_000);
  for (let count = 0; count < 5_000; count += 1) {
    const opening = anOpening({ args: { path: String(count), content: content + String(Math.random()) } });
    const refused = await world.calls.open(opening).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused !== undefined) return refused;
  }
  throw new Error('the disk never got full');
}

onSmallDisk(
  'a full disk refuses what is new as something to repeat, shows every task, and keeps results until there is room',
  async () => {
    let reachedTheTool = 0;
    let mayAnswer = () => undefined as void;
    const answered = new Promise<void>((resolve) => {
      mayAnswer = resolve;
    });
    const world = lives(pool, {
      atTheTool: async () => {
        reachedTheTool += 1;
        await answered;
      },
    });
    const held: Held[] = [];
    for (let count = 0; count < 5; count += 1) held.push(await world.open());
    const driving = Promise.all(held.map((call) => world.drive(call)));
    await waitFor(() => reachedTheTool === held.length);

    // Small pieces of the log fit, rows do not.
    await postgres.fill({ butForKilobytes: 2_500 });
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
      expect(await world.view(taskId)).toMatchObject({ state: 'executed' });
      expect(world.ledger.get(path)).toBe(1);
    }
    expect(postgres.log).toMatch(/No space left on device/);
    await expectInvariants(pool, { seenTaskIds: held.map(({ taskId }) => taskId) });
  },
  180_000,
);

onSmallDisk(
  'a write-ahead log without room ends the server; what was confirmed is there when it is back, and goes on',
  async () => {
    const world = lives(pool);
    const held = await world.open();
    await postgres.fill();
    await waitFor(
      async () => {
        await openUntilRefused(world);
        return /PANIC/.test(postgres.log);
      },
      { timeoutMs: 60_000 },
    );
    await postgres.makeRoom();
    await world.drive(held);
    expect(await waitFor(() => world.view(held.taskId))).toMatchObject({ state: 'executed' });
    expect(world.ledger.get(held.path)).toBe(1);
    await expectInvariants(pool, { seenTaskIds: [held.taskId] });
  },
  180_000,
);
