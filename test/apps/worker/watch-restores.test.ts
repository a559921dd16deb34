import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createFence } from '../../../activities/stores/fence.ts';
import { createTemporalClient } from '../../../apps/shared/temporal/connection.ts';
import { createEngineMemory } from '../../../apps/shared/temporal/fence-mark.ts';
import { startWatchRestores } from '../../../apps/worker/jobs/watch-restores.ts';
import { ownCalls } from '../../support/own-calls.ts';
import { testTemporal } from '../../support/temporal.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const INTERVAL_MS = 50;

describe('the watch over restores', () => {
  const own = ownCalls();
  let engine: ReturnType<typeof createTemporalClient>;
  beforeAll(async () => {
    engine = createTemporalClient({ ...(await testTemporal()), tls: false });
  });
  afterAll(() => engine.close());

  const fence = () => createFence(own.db.pool);
  const memory = () => createEngineMemory(engine.client, systemTime);
  const mark = async () => memory().readMark((await fence().read()).installation);
  const reconciled = () => own.db.pool.query('SELECT gateway.freeze(), gateway.thaw()');

  function watch(engineMemory = memory(), watchedFence = fence()) {
    const said: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void said.push(line) });
    const watching = startWatchRestores({
      ...systemTime,
      fence: watchedFence,
      engine: engineMemory,
      intervalMs: INTERVAL_MS,
      log,
    });
    const alarms = () => said.filter((line) => line.includes('"alarm":"restored"'));
    return { ...watching, alarms, said };
  }

  it('marks an unmarked engine, and allows claims only after that', async () => {
    const { isCompared, alarms, stop } = watch();
    try {
      expect(isCompared()).toBe(false);
      await waitFor(isCompared);
    } finally {
      await stop();
    }
    expect(await mark()).toEqual({ epoch: 1, claims: 0 });
    expect(alarms()).toEqual([]);
  });

  it('freezes a database with fewer claims than the engine remembers, and reports it until a reconciliation', async () => {
    const { isCompared, alarms, said, stop } = watch();
    try {
      await waitFor(isCompared);
      await memory().writeMark((await fence().read()).installation, { epoch: 1, claims: 1 });
      await waitFor(() => !isCompared() && alarms().length > 0);
      expect(await fence().read()).toMatchObject({ state: 'engine_ahead' });
      expect(alarms().join()).toContain('countersign reconcile --after-restore --temporal kept');
      await reconciled();
      await waitFor(isCompared);
      expect(said.at(-1)).toContain('calls are executed again');
      expect(alarms()).toHaveLength(1);
    } finally {
      await stop();
    }
    expect(await mark()).toEqual({ epoch: 2, claims: 0 });
  });

  it('freezes the database for a call that the engine knows further than its row, and forbids claims', async () => {
    const { isCompared, report, alarms, stop } = watch();
    try {
      await waitFor(isCompared);
      await report((await own.fixture.granted()).gatedCallId);
      expect(isCompared()).toBe(false);
      expect(await fence().read()).toMatchObject({ state: 'call_ran' });
      expect(alarms()).toHaveLength(1);
    } finally {
      await stop();
      await reconciled();
    }
  });

  it('counts no comparison that began before a report', async () => {
    let answer: (() => void) | undefined;
    let [isReported, wasComparedAfter] = [false, undefined as boolean | undefined];
    const read = () => {
      if (isReported) wasComparedAfter ??= isCompared();
      return fence().read();
    };
    const holdAgainst: ReturnType<typeof fence>['holdAgainst'] = async (mark) => {
      const held = await fence().holdAgainst(mark);
      await new Promise<void>((resolve) => (answer = resolve));
      return held;
    };
    const { isCompared, report, alarms, stop } = watch(memory(), { ...fence(), read, holdAgainst });
    try {
      await waitFor(() => answer !== undefined);
      await report((await own.fixture.granted()).gatedCallId);
      isReported = true;
      answer?.();
      await waitFor(() => wasComparedAfter !== undefined);
      expect(wasComparedAfter).toBe(false);
      expect(alarms()).toHaveLength(1);
    } finally {
      answer?.();
      await stop();
      await reconciled();
    }
  });

  it('forbids claims while the engine cannot be asked', async () => {
    let isAway = false;
    let refused = 0;
    const away = async (): Promise<never> => {
      refused += 1;
      throw new Error('away');
    };
    const readMark = (installation: string) => (isAway ? away() : memory().readMark(installation));
    const { isCompared, stop } = watch({ ...memory(), readMark });
    try {
      await waitFor(isCompared);
      isAway = true;
      await waitFor(() => refused > 0 && !isCompared());
      isAway = false;
      await waitFor(isCompared);
    } finally {
      await stop();
    }
  });
});
