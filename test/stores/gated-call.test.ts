import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createSeals } from '../../activities/stores/seals.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anOpening, CALLER, gatedCallFixture, SEALING_SECRETS } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';

const OTHER = { ...CALLER, subject: 'another-subject' };

/** Without the time since the last change, which goes on. */
const unaged = (view: object | undefined) => ({ ...view, inStateMs: undefined });

describe('opening a gated call', () => {
  const own = ownCalls();

  it('makes one call of 50 identical concurrent ones', async () => {
    const opening = anOpening();
    const all = await Promise.all(Array.from({ length: 50 }, () => own.fixture.calls.open(opening)));
    expect(all.filter((one) => one.kind === 'opened')).toHaveLength(1);
    expect(all.filter((one) => one.kind === 'joined')).toHaveLength(49);
    expect(new Set(all.map((one) => 'taskId' in one && one.taskId)).size).toBe(1);
  });

  it('never joins the call of another caller, tool or argument [APPR-213, AT-5]', async () => {
    const args = { path: '/a', content: 'x' };
    const kinds = [
      await own.fixture.calls.open(anOpening({ args })),
      await own.fixture.calls.open(anOpening({ args, caller: OTHER })),
      await own.fixture.calls.open(anOpening({ args, caller: { ...CALLER, clientId: 'another-agent' } })),
      await own.fixture.calls.open(anOpening({ args, tool: 'files__edit_file' })),
      await own.fixture.calls.open(anOpening({ args: { ...args, content: 'y' } })),
    ].map((one) => one.kind);
    expect(kinds).toEqual(['opened', 'opened', 'opened', 'opened', 'opened']);
  });

  it('opens a new call when the identical call is over', async () => {
    const opening = anOpening();
    const first = await own.fixture.pending(opening);
    await own.fixture.calls.cancel(first.gatedCallId);
    const second = await own.fixture.calls.open(opening);
    expect(second.kind).toBe('opened');
    expect(second).not.toMatchObject({ taskId: first.taskId });
  });

  it.each(['\u0000', '\\u0000', '"\u0000\\', '\u0001\u001f\u007f\u2028\uffff', '\u{10ffff}'])(
    'keeps arguments with %j unchanged, and ends like any other',
    async (content) => {
      const opening = anOpening({ args: { content, [content]: 1 } });
      const call = await own.fixture.granted(opening);
      const { binding } = await own.fixture.lifecycle.load(call.gatedCallId);
      expect(JSON.parse(binding.arguments)).toEqual({ content, [content]: 1 });
      expect(await own.fixture.calls.cancel(call.gatedCallId)).toBe('cancelled');
      const { rows } = await own.db.pool.query<{ state: string }>(
        'SELECT state FROM gateway.outcome_record WHERE gated_call_id = $1',
        [call.gatedCallId],
      );
      expect(rows).toEqual([{ state: 'cancelled' }]);
    },
  );

  it('refuses one more than the caller may have open, and still joins', async () => {
    const small = gatedCallFixture(own.db.pool, { maxOpenPerCaller: 2 });
    const caller = { ...CALLER, subject: randomUUID() };
    const first = anOpening({ caller });
    await small.calls.open(first);
    await small.calls.open(anOpening({ caller }));
    expect((await small.calls.open(anOpening({ caller }))).kind).toBe('too_many');
    expect((await small.calls.open(first)).kind).toBe('joined');
  });

  it('gives the submission to the caller that opens, then to one of 20, and to no caller after the handle came', async () => {
    const call = await own.fixture.opened();
    expect(call.submission).toMatchObject({ generation: 1, body: '{}' });
    const take = () => own.fixture.lifecycle.takeSubmission(call.gatedCallId, 30_000);
    expect(await take()).toBeUndefined();
    await own.fixture.lifecycle.releaseSubmission(call.gatedCallId);
    const taken = await Promise.all(Array.from({ length: 20 }, take));
    expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
    await own.fixture.lifecycle.releaseSubmission(call.gatedCallId);
    expect(await take()).toEqual(call.submission);
    await own.fixture.lifecycle.releaseSubmission(call.gatedCallId);
    const handle = { accessRequestId: 'arq_once', statusEndpoint: 'http://127.0.0.1:1/s' };
    const { outcome, task } = await own.fixture.lifecycle.attachHandle(call.gatedCallId, 1, handle);
    expect(outcome).toBe('attached');
    expect(unaged(task)).toEqual(unaged(await own.fixture.calls.findTask(call.taskId, ownerKey(CALLER))));
    expect(await take()).toBeUndefined();
  });

  it('keeps the first handle and reports another one for the same key', async () => {
    const call = await own.fixture.pending();
    const other = { accessRequestId: 'arq_other', statusEndpoint: 'http://127.0.0.1:1/s' };
    expect(await own.fixture.lifecycle.attachHandle(call.gatedCallId, 1, other)).toEqual({ outcome: 'conflict' });
    expect((await own.fixture.lifecycle.load(call.gatedCallId)).handle?.accessRequestId).toBe(
      `arq_${call.gatedCallId}`,
    );
  });

  it('takes over an earlier deadline of the access request service, never a later one', async () => {
    const deadline = async (expiresAt: string) => {
      const call = await own.fixture.opened();
      const handle = { accessRequestId: randomUUID(), statusEndpoint: 'http://127.0.0.1:1/s', expiresAt };
      await own.fixture.lifecycle.attachHandle(call.gatedCallId, 1, handle);
      return (await own.fixture.lifecycle.load(call.gatedCallId)).remainingMs;
    };
    expect(await deadline(new Date(Date.now() + 60_000).toISOString())).toBeLessThanOrEqual(60_000);
    expect(await deadline('9999-01-01T00:00:00Z')).toBeLessThanOrEqual(3_600_000);
  });
});

describe('finding a task', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it('shows it only to its owner', async () => {
    const { calls, pending } = gatedCallFixture(db.pool);
    const { taskId } = await pending();
    expect(await calls.findTask(taskId, ownerKey(CALLER))).toMatchObject({ taskId, state: 'pending' });
    expect(await calls.findTask(taskId, ownerKey(OTHER))).toBeUndefined();
    expect(await calls.findTask('tsk_unknown', ownerKey(CALLER))).toBeUndefined();
  });

  it('shows until when and where people decide, while they do', async () => {
    const { calls, lifecycle, opened } = gatedCallFixture(db.pool);
    const { gatedCallId, taskId } = await opened();
    const handle = { accessRequestId: 'arq_page', statusEndpoint: 'https://ars.test/1' };
    const approvalPage = 'https://ars.test/requests/1';
    const { task } = await lifecycle.attachHandle(gatedCallId, 1, { ...handle, approvalPage });
    const found = await calls.findTask(taskId, ownerKey(CALLER));
    expect(found).toMatchObject({ approvalPage, decideBy: expect.stringMatching(/^20.*Z$/) });
    expect(unaged(task)).toEqual(unaged(found));
    const broken = `UPDATE gateway.submission SET sealed_handle = 'altered' WHERE gated_call_id = $1`;
    await db.pool.query(broken, [gatedCallId]);
    expect(await calls.findTask(taskId, ownerKey(CALLER))).not.toHaveProperty('approvalPage');
    await calls.cancel(gatedCallId);
    const ended = await calls.findTask(taskId, ownerKey(CALLER));
    expect([ended?.state, ended?.decideBy, ended?.approvalPage]).toEqual(['cancelled', undefined, undefined]);
  });

  it('leads there from the request reference of the call, which is not a task id and which only the product can make', async () => {
    const { calls, pending } = gatedCallFixture(db.pool);
    const opened = [await pending(), await pending()];
    const views = await Promise.all(opened.map(({ taskId }) => calls.findTask(taskId, ownerKey(CALLER))));
    const [reference = '', other = ''] = views.map((view) => view?.requestRef);
    expect(reference).toMatch(/^req_[0-9a-f]{32}$/);
    expect([reference, other].map((one) => calls.taskIdOf(one))).toEqual(opened.map(({ taskId }) => taskId));
    expect(await calls.findTask(reference, ownerKey(CALLER))).toBeUndefined();
    const elsewhere = createSeals({ ...SEALING_SECRETS, digestKey: 'another digest key' });
    expect(gatedCallFixture(db.pool, { seals: elsewhere }).calls.taskIdOf(reference)).not.toBe(opened[0]?.taskId);
  });

  it('does not know a task before its handle is stored [TASK-020]', async () => {
    const { calls, opened } = gatedCallFixture(db.pool);
    const { taskId } = await opened();
    expect(await calls.findTask(taskId, ownerKey(CALLER))).toBeUndefined();
  });

  it('ends a call past its deadline before it is shown', async () => {
    const { calls, pending } = gatedCallFixture(db.pool, { requestTtlMs: 1 });
    const { taskId } = await pending();
    expect(await calls.findTask(taskId, ownerKey(CALLER))).toMatchObject({
      state: 'denied',
      reason: 'request_expired',
    });
  });

  it('also does so on a connection that has carried out another deadline', async () => {
    const one = await createTestDatabase({ max: 1 });
    try {
      const { calls, lifecycle, pending } = gatedCallFixture(one.pool, { requestTtlMs: 1 });
      expect(await lifecycle.expire((await pending()).gatedCallId)).toBe('denied');
      const { taskId } = await pending();
      expect(await calls.findTask(taskId, ownerKey(CALLER))).toMatchObject({ state: 'denied' });
    } finally {
      await one.drop();
    }
  });

  it('does not know a task whose retention is over', async () => {
    const { calls, pending } = gatedCallFixture(db.pool);
    const { taskId, gatedCallId } = await pending();
    await calls.cancel(gatedCallId);
    await db.pool.query('UPDATE gateway.gated_call SET retain_until = clock_timestamp() WHERE id = $1', [gatedCallId]);
    expect(await calls.findTask(taskId, ownerKey(CALLER))).toBeUndefined();
  });
});
