import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { findOrStartTemporal, type TemporalServer } from '../../apps/shared/embedded/temporal.ts';
import { CALLER } from '../support/gated-calls.ts';
import { callAt, goOn, STAGES } from '../support/engine-stages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { temporalTools } from '../support/temporal.ts';
import { inParallel, times } from '../support/regime.ts';
import { waitFor } from '../support/wait-for.ts';
import { WireProxy } from '../support/wire-proxy.ts';

const LIMIT_MS = times(400_000, 1_500_000);

/** A server that these tests may end, and a line to it that they may hold. */
const stateDir = mkdtempSync(join(tmpdir(), 'countersign-engine-'));
let server!: TemporalServer;
let proxy!: WireProxy;
let engine!: Engine;
beforeAll(async () => {
  server = await findOrStartTemporal({ stateDir, ...temporalTools() });
  proxy = await WireProxy.start(server.address);
  const world = { requestTtlMs: 3_600_000, executionTimeoutMs: 20_000, firstLookMs: 500 };
  engine = await startEngine({ address: server.address, reachedAt: proxy.address, reconcileMs: 15_000, world });
  await engine.startWorker();
  await engine.startMaintenance();
}, 180_000);
afterAll(async () => {
  await engine?.stop();
  await proxy?.stop();
  await server?.stop();
  rmSync(stateDir, { recursive: true, force: true });
}, 60_000);
beforeEach(() => proxy.let('open'));

const killServer = async () => {
  const { pid } = JSON.parse(readFileSync(join(stateDir, 'temporal', 'server.json'), 'utf8')) as { pid: number };
  process.kill(pid, 'SIGKILL');
  await waitFor(() => !isAlive(pid));
};
const startServer = async () => {
  server = await findOrStartTemporal({ stateDir, ...temporalTools() });
};
/** What a callback leaves behind: the outbox delivers it when it can. */
const callback = (call: WorldCall | undefined) =>
  engine.db.pool.query("SELECT gateway.enqueue('poke_workflow', $1)", [call?.gatedCallId]);
const atEveryStage = () => Promise.all(STAGES.map((stage) => callAt(stage, engine)));
const allExecutedOnce = async (calls: readonly WorldCall[]) => {
  // One after the other: many that ask all the time would take the machine from those who work.
  for (const call of calls) expect(await engine.world.ended(call, 180_000)).toBe('executed');
  expect(calls.map((call) => engine.world.arrivalsOf(call))).toEqual(calls.map(() => 1));
};

it('a server that is killed and finds its store again: calls at every stage go on, and each is executed once', async () => {
  const calls = await atEveryStage();
  await killServer();
  goOn(engine, calls);
  await startServer();
  await callback(calls[0]);
  await allExecutedOnce(calls);
}, 400_000);

it(
  'a server that comes back empty: calls at every stage get workflows again, and each is executed once',
  async () => {
    const waiting: WorldCall[] = [];
    await inParallel(times(20, 1_000), 8, async (index) => {
      waiting.push(await callAt(index % 2 === 0 ? 'rests before its first step' : 'awaits its resolution', engine));
    });
    const calls = [...(await atEveryStage()), ...waiting];
    await killServer();
    rmSync(join(stateDir, 'temporal', 'temporal.db'), { force: true });
    for (const more of ['-wal', '-shm']) rmSync(join(stateDir, 'temporal', `temporal.db${more}`), { force: true });
    await startServer();
    goOn(engine, calls);
    await allExecutedOnce(calls);
  },
  LIMIT_MS,
);

describe.each(['silent', 'shut'] as const)('a line to the server that is %s', (passage) => {
  it(
    'keeps no call from being opened, looked at or cancelled; the others go on afterwards',
    async () => {
      const waiting = await atEveryStage();
      proxy.let(passage);
      const opened = await engine.world.hold();
      const given = await engine.world.hold();
      const { fixture } = engine.world;
      expect(await engine.world.stateOf(opened)).toBe('pending');
      expect(await fixture.calls.findTask('tsk_unknown', ownerKey(CALLER))).toBeUndefined();
      await fixture.calls.cancel(given.gatedCallId);
      expect(await engine.world.stateOf(given)).toBe('cancelled');
      goOn(engine, [...waiting, opened]);
      // Longer than a request is waited for.
      const until = Date.now() + (passage === 'silent' ? times(6_000, 600_000) : 6_000);
      await waitFor(
        async () => {
          expect(await engine.world.stateOf(given)).toBe('cancelled');
          expect(await engine.world.stateOf(opened)).toBe('pending');
          return Date.now() > until;
        },
        { timeoutMs: times(30_000, 660_000), everyMs: 100 },
      );
      proxy.let('open');
      await callback(waiting[0]);
      await allExecutedOnce([...waiting, opened]);
      expect(engine.world.arrivalsOf(given)).toBe(0);
    },
    LIMIT_MS,
  );
});

it(
  'a line that comes and goes delays calls and repeats none',
  async () => {
    const calls = await Promise.all(Array.from({ length: 20 }, () => engine.world.hold()));
    goOn(engine, calls);
    for (let turn = 0; turn < times(6, 150); turn += 1) {
      proxy.let(turn % 2 === 0 ? 'shut' : 'open');
      const until = Date.now() + times(1_500, 2_000);
      await waitFor(() => Date.now() > until);
      const call = await engine.world.hold();
      goOn(engine, [call]);
      calls.push(call);
    }
    proxy.let('open');
    await allExecutedOnce(calls);
  },
  LIMIT_MS,
);

it('starts and pokes that are carried out, and answered after everybody stopped waiting, do no harm', async () => {
  const calls = await Promise.all(Array.from({ length: 5 }, () => engine.world.hold()));
  goOn(engine, calls);
  proxy.let('answers held');
  const asked = calls.flatMap(({ gatedCallId }) => [
    engine.workflows.start(gatedCallId),
    engine.workflows.poke(gatedCallId),
  ]);
  const answers = await Promise.allSettled(asked);
  expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 'rejected'));
  // They were carried out.
  for (const call of calls) expect((await engine.handle(call).describe()).status.name).toBe('RUNNING');
  proxy.let('open');
  await allExecutedOnce(calls);
}, 400_000);
