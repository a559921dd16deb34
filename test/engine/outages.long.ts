import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isGrpcDeadlineError } from '@temporalio/client';
import { findOrStartTemporal, type TemporalServer } from '../../apps/shared/embedded/temporal.ts';
import { callAt, goOn, STAGES } from '../support/engine-stages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { temporalTools } from '../support/obtain-temporal.mjs';
import { inParallel, times } from '../support/regime.ts';
import { emptyTemporal, killTemporal } from '../support/temporal.ts';
import { patiently, waitFor } from '../support/wait-for.ts';
import { ordinaryTime } from '../support/time.ts';
import { WireProxy } from '../support/wire-proxy.ts';

const LIMIT_MS = times(600_000, 1_500_000);

/** A server that these tests may end, and a line to it that they may hold. */
const stateDir = mkdtempSync(join(tmpdir(), 'countersign-engine-'));
let server!: TemporalServer;
let proxy!: WireProxy;
let engine!: Engine;
beforeAll(async () => {
  server = await findOrStartTemporal({ stateDir, ...temporalTools() });
  proxy = await WireProxy.start(server.address);
  const world = { requestTtlMs: 3_600_000, firstPollMs: 500 };
  engine = await startEngine({ address: server.address, reachedAt: proxy.address, reconcileMs: 15_000, world });
  await engine.startWorker();
  await engine.startMaintenance();
});
// Two hooks, so that a failure in the first one does not keep the servers from being stopped.
afterAll(() => engine?.stop());
afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});
afterEach(() => proxy.let('open'));

const startServer = async () => {
  server = await findOrStartTemporal({ stateDir, ...temporalTools() });
};
/** The gateway's reaction when the access request service reports a decision on a call. */
const callback = ({ gatedCallId }: WorldCall) =>
  engine.world.fixture.calls.acceptCallback({
    ...{ webhookId: randomUUID(), bodyDigest: 'sha-256:callback', accessRequestId: `arq_${gatedCallId}` },
  });
const atEveryStage = () => Promise.all(STAGES.map((stage) => callAt(stage, engine)));
/**
 * Every caller reads its own task, again and again: for this long, and more than a hundred times. Answers how often a
 * task was asked for, and how often it was there.
 */
async function readThroughout(calls: readonly WorldCall[], ms: number) {
  const reads = { asked: 0, answered: 0 };
  const until = Date.now() + ms;
  const everyTask = async () => {
    reads.asked += calls.length;
    const views = await Promise.all(calls.map((call) => engine.world.view(call).catch(() => undefined)));
    reads.answered += views.filter((view, index) => view?.taskId === calls[index]?.taskId).length;
    return Date.now() > until && reads.asked > 100;
  };
  await waitFor(everyTask, { timeoutMs: 2 * ms + 60_000, everyMs: 100 });
  return reads;
}
const allExecutedOnce = async (calls: readonly WorldCall[], { world } = engine) => {
  // One after the other: many constant readers would starve the workers.
  for (const call of calls) expect(await world.ended(call, 180_000)).toBe('executed');
  expect(calls.map((call) => world.arrivalsOf(call))).toEqual(calls.map(() => 1));
};

it('a server that is killed and finds its store again: calls at every stage go on, and each is executed once', async () => {
  const calls = await atEveryStage();
  await killTemporal(stateDir);
  goOn(engine, calls);
  await startServer();
  await allExecutedOnce(calls);
});

it(
  'a server that comes back empty: calls at every stage get workflows again, and each is executed once',
  async () => {
    const waiting: WorldCall[] = [];
    await inParallel(times(20, 1_000), 8, async (index) => {
      waiting.push(await callAt(index % 2 === 0 ? 'waits since its start' : 'awaits its resolution', engine));
    });
    const calls = [...(await atEveryStage()), ...waiting];
    await killTemporal(stateDir);
    emptyTemporal(stateDir);
    await startServer();
    goOn(engine, calls);
    await allExecutedOnce(calls);
  },
  LIMIT_MS,
);

describe.each(['silent', 'shut'] as const)('a line to the server that is %s', (passage) => {
  it(
    'keeps no call from being opened, read, approved or cancelled; the others go on afterwards',
    async () => {
      const waiting = await atEveryStage();
      proxy.let(passage);
      const opened = await engine.world.hold();
      const given = await engine.world.hold();
      expect(await engine.world.fixture.calls.cancel(given.gatedCallId)).toBe('cancelled');
      goOn(engine, [...waiting, opened]);
      expect(await callback(opened)).toBe('accepted');
      // Longer than a request waits.
      const awayMs = passage === 'silent' ? times(6_000, 600_000) : 6_000;
      const reads = await readThroughout([...waiting, opened, given], awayMs);
      expect(reads.asked).toBeGreaterThan(100);
      expect(reads.answered).toBe(reads.asked);
      expect(await engine.world.view(given)).toMatchObject({ state: 'cancelled' });
      // Without its engine the call made no progress, and nothing of it is lost.
      expect(await engine.world.view(opened)).toMatchObject({ state: 'pending' });
      proxy.let('open');
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

describe('starts and signals that the engine carried out, and answered after their senders had stopped waiting', () => {
  /**
   * A separate engine, so that no other test starts or signals a workflow; without a worker at first, so that no
   * workflow goes on.
   */
  let own!: Engine;
  beforeAll(async () => {
    own = await startEngine({ address: server.address, reachedAt: proxy.address, time: ordinaryTime });
  });
  afterAll(() => own?.stop());

  const start = ({ gatedCallId }: WorldCall) => own.asked.start(gatedCallId);
  const signal = ({ gatedCallId }: WorldCall) => own.asked.signal(gatedCallId);
  const areLost = async (asked: readonly Promise<unknown>[]) => {
    const answers = await Promise.all(asked.map((one) => one.then(() => 'answered', isGrpcDeadlineError)));
    expect(answers).toEqual(asked.map(() => true));
  };
  /** Reads over a separate line: which run of a call the engine has, and how many signals. */
  const written = async (call: WorldCall) => {
    const { events } = await own.handle(call).fetchHistory();
    const { originalExecutionRunId } = events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
    const signals = events?.filter((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'changed');
    return { run: originalExecutionRunId, signals: signals?.length };
  };

  it('arrive once each, and do no harm when repeated until they are answered', async () => {
    const hold = () => Promise.all(Array.from({ length: 5 }, () => own.world.hold()));
    const [started, signalled] = [await hold(), await hold()];
    const calls = [...started, ...signalled];
    await patiently(() => own.workflows.ping().then(() => true));
    // The same line also carries a worker with calls.
    const beside = await atEveryStage();

    proxy.let('answers held');
    goOn(engine, beside);
    await areLost([...started.map(start), ...signalled.map(signal)]);
    const first = await Promise.all(calls.map(written));
    const run = expect.any(String);
    expect(first.slice(0, 5)).toEqual(started.map(() => ({ run, signals: 0 })));
    expect(first.slice(5)).toEqual(signalled.map(() => ({ run, signals: 1 })));

    // Each start finds the workflow that the other one made.
    await areLost([...started.map(signal), ...signalled.map(start)]);
    const once = first.map((had) => ({ ...had, signals: 1 }));
    expect(await Promise.all(calls.map(written))).toEqual(once);

    proxy.let('open');
    await Promise.all(calls.flatMap((call) => [start(call), signal(call)]));
    expect(await Promise.all(calls.map(written))).toEqual(once.map((had) => ({ ...had, signals: 2 })));

    goOn(own, calls);
    await own.startWorker();
    await allExecutedOnce(calls, own);
    await allExecutedOnce(beside);
    expect(await Promise.all(calls.map((call) => own.closed(call)))).toEqual(calls.map(() => 'COMPLETED'));
    expect((await Promise.all(calls.map(written))).map((had) => had.run)).toEqual(first.map((had) => had.run));
  });
});
