import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ownerKey, TASK_OWNERS, type Principal, type TaskOwner } from '../../workflows/domain/principal.ts';
import type { Opening } from '../../workflows/domain/ports.ts';
import { anOpening, CALLER, gatedCallFixture } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { systemTime } from '../support/time.ts';
import { waitFor } from '../support/wait-for.ts';

const own = ownCalls();
const TEN_MINUTES_MS = 600_000;
const fixture = () => gatedCallFixture(own.db.pool, { unreadMs: TEN_MINUTES_MS });
const calls = () => fixture().calls;
const OWNER = ownerKey(CALLER);

/** A new call that was executed, and that its owner has not looked at since. */
async function carriedOut(
  opening: Opening,
  end: 'executed' | 'execution_error' | 'outcome_unknown' = 'executed',
  taskOwner?: TaskOwner,
) {
  const of = await gatedCallFixture(own.db.pool, taskOwner && { taskOwner }).granted(opening);
  const { gatedCallId } = of;
  const [claimId, invocationId] = [randomUUID(), randomUUID()];
  await fixture().claim(gatedCallId, claimId);
  await fixture().lifecycle.beginInvocation({ gatedCallId, claimId, invocationId, upstreamKey: randomUUID() });
  if (end === 'outcome_unknown') {
    await fixture().endExecution(of);
    await fixture().lifecycle.expire(gatedCallId);
  } else {
    const result = { isError: end === 'execution_error', text: JSON.stringify({ content: [] }) };
    await fixture().lifecycle.settleResult({ gatedCallId, invocationId, cause: 'result' }, result);
  }
  return of;
}
const open = (opening: Opening) => calls().open(opening);
/** An identical call with this id, which comes now. */
const TAKE_UNREAD = `SELECT t.task_id, clock_timestamp()::text AS now FROM gateway.gated_call g,
  gateway.take_unread($2, g.owner_key, g.dedup_key, 600000, 0) t WHERE g.id = $1`;
const kindsOf = (all: readonly { kind: string }[]) => all.map(({ kind }) => kind).toSorted();

describe('the end of a call whose caller gave up waiting', () => {
  it.each(['executed', 'execution_error', 'outcome_unknown'] as const)(
    'answers one identical call (%s); the next one opens a new call',
    async (end) => {
      const opening = anOpening();
      const first = await carriedOut(opening, end);
      expect(await open(opening)).toEqual({ kind: 'unread', gatedCallId: first.gatedCallId, taskId: first.taskId });
      const next = await open(opening);
      expect(next).toMatchObject({ kind: 'opened' });
      expect(next).not.toMatchObject({ gatedCallId: first.gatedCallId });
    },
  );

  it('answers all concurrent calls when the first of them gets it, and opens no call', async () => {
    const opening = anOpening();
    const first = await carriedOut(opening);
    const at = { ...opening, cameAt: systemTime.clock.monotonicMs() - 60_000, submission: opening.submission };
    const all = await Promise.all(Array.from({ length: 20 }, () => open(at)));
    expect(new Set(kindsOf(all))).toEqual(new Set(['unread']));
    expect(new Set(all.map((one) => 'taskId' in one && one.taskId))).toEqual(new Set([first.taskId]));
    expect(
      kindsOf(
        await Promise.all(Array.from({ length: 20 }, () => open({ ...opening, submission: opening.submission }))),
      ),
    ).toEqual([...Array<string>(19).fill('joined'), 'opened']);
  });

  it('answers calls that came before another one was told, and then waited for a connection or a lock', async () => {
    const opening = anOpening();
    const { gatedCallId, taskId } = await carriedOut(opening);
    const [teller, watcher] = [await own.db.pool.connect(), await own.db.pool.connect()];
    const isThere = (text: string, values?: string[]) => async () => (await watcher.query(text, values)).rowCount;
    try {
      await teller.query('BEGIN; LOCK TABLE gateway.gated_call IN SHARE MODE');
      const at = { ...opening, cameAt: systemTime.clock.monotonicMs(), submission: opening.submission };
      const all = Promise.all(Array.from({ length: 20 }, () => open(at)));
      // Both pauses are longer than the way of a statement to the database.
      await waitFor(
        isThere(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query_start < clock_timestamp() - interval '1 s'`),
      );
      const [told] = (await teller.query<{ now: string }>(TAKE_UNREAD, [gatedCallId, randomUUID()])).rows;
      await waitFor(isThere(`SELECT WHERE $1::timestamptz < clock_timestamp() - interval '1 s'`, [told?.now ?? '']));
      await teller.query('COMMIT');
      expect(await all).toEqual(Array(20).fill({ kind: 'unread', gatedCallId, taskId }));
    } finally {
      teller.release();
      watcher.release();
    }
  });

  it('leaves no trace of the call that was not opened', async () => {
    const opening = anOpening();
    await carriedOut(opening);
    const count = async () => {
      const tables = ['gated_call', 'data_key', 'call_binding', 'decision', 'submission', 'call_event'];
      const text = tables.map((table) => `(SELECT count(*)::int FROM gateway.${table})`).join(', ');
      return (await own.db.pool.query({ text: `SELECT ${text}`, rowMode: 'array' })).rows[0] as number[];
    };
    const before = await count();
    await open(opening);
    expect(await count()).toEqual(before);
  });

  it.each([
    ['new answers to its questions', { redemption: { nonce: randomUUID(), expiresAt: '2999-01-01T00:00:00Z' } }],
    ['other arguments', { args: { path: '/other' } }],
  ] as const)('does not answer %s', async (_what, change: Partial<{ redemption: object; args: object }>) => {
    const args = { path: `/${randomUUID()}` };
    await carriedOut(anOpening({ args }));
    const { redemption, ...of } = change;
    const other = { ...anOpening({ args, ...(of as object) }), ...(redemption && { redemption }) } as Opening;
    expect(await open(other)).toMatchObject({ kind: 'opened' });
    expect(await open(anOpening({ args }))).toMatchObject({ kind: redemption === undefined ? 'unread' : 'joined' });
  });

  const OTHERS: readonly [what: string, change: Partial<Principal>][] = [
    ['of another subject', { subject: 'mallory' }],
    ['of another issuer', { issuer: 'https://other.example' }],
    ['through another client', { clientId: 'another-client' }],
    ['through no client', { clientId: undefined as never }],
    ['that another acts for', { actors: [{ subject: 'robot' }] }],
  ];
  it.each(
    OTHERS.flatMap(([what, change]) =>
      TASK_OWNERS.map(
        (taskOwner) => [what, taskOwner, change, taskOwner === 'subject' && 'clientId' in change] as const,
      ),
    ),
  )('answers its owner, and no caller %s (%s)', async (_what, taskOwner, change, isOwner) => {
    const { calls: owned } = gatedCallFixture(own.db.pool, { unreadMs: TEN_MINUTES_MS, taskOwner });
    const args = { path: `/${randomUUID()}` };
    const { taskId } = await carriedOut(anOpening({ args }), 'executed', taskOwner);
    const other = await owned.open(anOpening({ args, caller: { ...CALLER, ...change } }));
    expect(other).toMatchObject(isOwner ? { kind: 'unread', taskId } : { kind: 'opened' });
    expect(await owned.open(anOpening({ args }))).toMatchObject(
      isOwner ? { kind: 'opened' } : { kind: 'unread', taskId },
    );
  });

  it('is available for the configured time, by the clock of the database', async () => {
    const opening = anOpening();
    const { gatedCallId } = await carriedOut(opening);
    const none = gatedCallFixture(own.db.pool, { unreadMs: 0 });
    expect(await none.calls.findOpen(opening.binding)).toBeUndefined();
    // The row refuses another end, so the test shortens the period instead.
    const short = gatedCallFixture(own.db.pool, { unreadMs: 1 });
    const isOver = `SELECT ended_at < clock_timestamp() - interval '1 ms' AS over FROM gateway.gated_call WHERE id = $1`;
    for (let over = false; !over;)
      over = (await own.db.pool.query<{ over: boolean }>(isOver, [gatedCallId])).rows[0]?.over ?? true;
    expect(await short.calls.open(opening)).toMatchObject({ kind: 'opened' });
  });

  it('does not exist for a call that was not executed: no tool has run, and policy is asked anew', async () => {
    for (const reach of [
      async ({ gatedCallId }: { gatedCallId: string }) => void (await calls().cancel(gatedCallId)),
      async ({ gatedCallId }: { gatedCallId: string }) => {
        await own.db.pool.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1', [
          gatedCallId,
        ]);
        await fixture().lifecycle.expire(gatedCallId);
      },
    ]) {
      const opening = anOpening();
      await reach(await fixture().pending(opening));
      expect(await open(opening)).toMatchObject({ kind: 'opened' });
    }
  });

  it('does not answer with an older call, where its caller was told of a newer one', async () => {
    const opening = anOpening();
    await carriedOut(opening);
    const none = gatedCallFixture(own.db.pool);
    const second = await none.granted({ ...opening, submission: opening.submission });
    const [claimId, invocationId] = [randomUUID(), randomUUID()];
    await fixture().claim(second.gatedCallId, claimId);
    const of = { gatedCallId: second.gatedCallId, claimId, invocationId, upstreamKey: randomUUID() };
    await fixture().lifecycle.beginInvocation(of);
    await fixture().lifecycle.settleResult({ ...of, cause: 'result' }, { isError: false, text: '{"content":[]}' });
    await calls().readTask(second.taskId, OWNER);
    expect(await open(opening)).toMatchObject({ kind: 'opened' });
  });

  it('is reported by a call that is read, and not by one that is only looked up', async () => {
    const opening = anOpening();
    const { taskId } = await carriedOut(opening);
    await calls().findTask(taskId, OWNER);
    expect(await calls().readTask(taskId, ownerKey({ ...CALLER, subject: 'mallory' }))).toBeUndefined();
    expect(
      await own.db.pool.query('SELECT FROM gateway.gated_call WHERE task_id = $1 AND read_at IS NULL', [taskId]),
    ).toMatchObject({ rowCount: 1 });
    expect(await calls().readTask(taskId, OWNER)).toMatchObject({ state: 'executed', result: '{"content":[]}' });
    expect(await open(opening)).toMatchObject({ kind: 'opened' });
  });

  it('is reported again where the answer was lost, only to the same call', async () => {
    const { gatedCallId, taskId } = await carriedOut(anOpening());
    const [asked, other] = [randomUUID(), randomUUID()];
    const told = [];
    for (const id of [asked, asked, other])
      told.push((await own.db.pool.query<{ task_id: string }>(TAKE_UNREAD, [gatedCallId, id])).rows[0]?.task_id);
    expect(told).toEqual([taskId, taskId, undefined]);
  });

  it('is reported before the form that a request needs', async () => {
    const opening = anOpening();
    const { gatedCallId, taskId } = await carriedOut(opening);
    expect(await calls().findOpen(opening.binding)).toEqual({ kind: 'unread', gatedCallId, taskId });
    expect(await calls().findOpen(opening.binding)).toBeUndefined();
    const open_ = await fixture().pending({ ...opening, submission: opening.submission });
    expect(await calls().findOpen(opening.binding)).toEqual({
      kind: 'joined',
      gatedCallId: open_.gatedCallId,
      taskId: open_.taskId,
    });
  });

  it('is reported to a caller that is at its limit of open calls', async () => {
    const caller = { ...CALLER, subject: randomUUID() };
    const opening = anOpening({ caller });
    const { taskId } = await carriedOut(opening);
    const full = gatedCallFixture(own.db.pool, { unreadMs: TEN_MINUTES_MS, maxOpenPerCaller: 1 });
    await full.pending(anOpening({ caller }));
    expect(await full.calls.open(opening)).toMatchObject({ kind: 'unread', taskId });
    expect(await full.calls.open(opening)).toEqual({ kind: 'too_many' });
  });
});

describe('the recent requests of a caller', () => {
  it('are its own, newest first, up to the requested number, and only those that are kept', async () => {
    const caller = { ...CALLER, subject: randomUUID() };
    const owner = ownerKey(caller);
    expect(await calls().recent(owner, 20)).toEqual([]);
    await fixture().pending();
    const opened = await fixture().opened(anOpening({ caller }));
    const made = [];
    for (let count = 0; count < 3; count += 1) made.unshift(await fixture().pending(anOpening({ caller })));
    await calls().cancel(made[2]?.gatedCallId ?? '');
    const listed = await calls().recent(owner, 20);
    const references = await Promise.all(
      made.map(async ({ taskId }) => (await calls().findTask(taskId, owner))?.requestRef),
    );
    expect(listed.map(({ requestRef, state, tool }) => [requestRef, state, tool])).toEqual(
      references.map((one, index) => [one, index === 2 ? 'cancelled' : 'pending', 'files__write_file']),
    );
    for (const { ageSeconds, createdAt } of listed) {
      expect(ageSeconds).toBeGreaterThanOrEqual(0);
      expect(createdAt).toMatch(/Z$/);
    }
    expect(await calls().recent(owner, 2)).toHaveLength(2);
    // A request without a handle was not given out. Past its retention none is shown, past its deadline none as open.
    expect(JSON.stringify(listed)).not.toContain(opened.taskId);
    await own.db.pool.query('UPDATE gateway.gated_call SET retain_until = clock_timestamp() WHERE id = $1', [
      made[2]?.gatedCallId,
    ]);
    await own.db.pool.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1', [
      made[1]?.gatedCallId,
    ]);
    expect((await calls().recent(owner, 20)).map(({ state }) => state)).toEqual(['pending', 'denied']);
  });
});
