import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { anOpening, CALLER, gatedCallFixture } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';

const HOUR_MS = 3_600_000;
const redemption = (inMs = 600_000) => ({ nonce: randomUUID(), expiresAt: new Date(Date.now() + inMs).toISOString() });

describe('answers that count once', () => {
  const own = ownCalls();
  const calls = () => own.fixture.calls;
  const taskOf = (one: object) => ('taskId' in one ? one.taskId : undefined);
  const redeemed = async () =>
    (await own.db.pool.query<{ nonce: string }>('SELECT nonce FROM gateway.redeemed_state')).rows.map(
      ({ nonce }) => nonce,
    );

  it('open one call, however many callers bring them at once', async () => {
    const opening = { ...anOpening(), redemption: redemption() };
    const all = await Promise.all(Array.from({ length: 20 }, () => calls().open(opening)));
    expect(all.map(({ kind }) => kind).toSorted()).toEqual(['opened', ...Array<string>(19).fill('redeemed')]);
    expect(new Set(all.map(taskOf)).size).toBe(1);
  });

  it('name the call that they opened, also when it is over, and open no second one', async () => {
    const [args, once] = [{ path: '/once' }, redemption()];
    const first = await own.fixture.pending({ ...anOpening({ args }), redemption: once });
    await calls().cancel(first.gatedCallId);
    const { gatedCallId, taskId } = first;
    expect(await calls().open({ ...anOpening({ args }), redemption: once })).toEqual({
      kind: 'redeemed',
      gatedCallId,
      taskId,
    });
    expect((await calls().open(anOpening({ args }))).kind).toBe('opened');
  });

  it('join an identical call that is open, and stay with it', async () => {
    const opening = anOpening();
    const first = await own.fixture.pending(opening);
    const answers = { ...opening, redemption: redemption() };
    expect(await calls().open(answers)).toMatchObject({ kind: 'joined', taskId: first.taskId });
    await calls().cancel(first.gatedCallId);
    expect(await calls().open(answers)).toMatchObject({ kind: 'redeemed', taskId: first.taskId });
  });

  it('open no call when they come too late, by the clock of the database', async () => {
    const late = redemption(-1);
    expect(await calls().open({ ...anOpening(), redemption: late })).toEqual({ kind: 'late' });
    expect(await redeemed()).not.toContain(late.nonce);
  });

  it('still count when they could not open a call', async () => {
    const caller = { ...CALLER, subject: randomUUID() };
    const small = gatedCallFixture(own.db.pool, { maxOpenPerCaller: 1 });
    const { gatedCallId } = await small.pending(anOpening({ caller }));
    const opening = { ...anOpening({ caller }), redemption: redemption() };
    expect(await small.calls.open(opening)).toEqual({ kind: 'too_many' });
    await small.calls.cancel(gatedCallId);
    expect(await small.calls.open(opening)).toMatchObject({ kind: 'opened' });
  });

  it('are forgotten when they are too old to be used', async () => {
    const [old, recent] = [redemption(-2 * HOUR_MS), redemption(-HOUR_MS / 2)];
    const text = 'INSERT INTO gateway.redeemed_state (nonce, expires_at) VALUES ($1, $2)';
    for (const { nonce, expiresAt } of [old, recent]) await own.db.pool.query(text, [nonce, expiresAt]);
    await calls().open({ ...anOpening(), redemption: redemption() });
    const left = await redeemed();
    expect([left.includes(old.nonce), left.includes(recent.nonce)]).toEqual([false, true]);
  });
});

describe('the open call that an identical one would join', () => {
  const own = ownCalls();

  it('is found while it is open, only for its caller and its arguments', async () => {
    const opening = anOpening();
    const { binding } = opening;
    expect(await own.fixture.calls.findOpen(binding)).toBeUndefined();
    const call = await own.fixture.opened(opening);
    const { gatedCallId, taskId } = call;
    expect(await own.fixture.calls.findOpen(binding)).toEqual({ kind: 'joined', gatedCallId, taskId });
    expect(await own.fixture.calls.findOpen({ ...binding, caller: { ...CALLER, subject: 'mallory' } })).toBeUndefined();
    expect(await own.fixture.calls.findOpen(anOpening().binding)).toBeUndefined();
    await own.fixture.calls.cancel(gatedCallId);
    expect(await own.fixture.calls.findOpen(binding)).toBeUndefined();
  });
});
