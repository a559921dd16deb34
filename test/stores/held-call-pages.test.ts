import { describe, expect, it } from '@jest/globals';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { anOpening, CALLER } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';

const own = ownCalls();
const OWNER = ownerKey(CALLER);
const viewOf = async (taskId: string) => {
  const view = await own.fixture.calls.findTask(taskId, OWNER);
  if (view === undefined) throw new Error('no such task');
  return view;
};

describe('the question to open the page of a call', () => {
  it('is answered once, by the first answer, and changes nothing else of the call', async () => {
    const { taskId, gatedCallId } = await own.fixture.pending();
    const { isPageAnswered, lastUpdatedAt, ...before } = await viewOf(taskId);
    expect(isPageAnswered).toBeUndefined();
    await own.fixture.calls.answerPage(gatedCallId);
    const first = await viewOf(taskId);
    expect(first).toMatchObject({ ...before, inStateMs: expect.any(Number), isPageAnswered: true });
    // The task looks different.
    expect(first.lastUpdatedAt > lastUpdatedAt).toBe(true);
    await own.fixture.calls.answerPage(gatedCallId);
    expect((await viewOf(taskId)).lastUpdatedAt).toBe(first.lastUpdatedAt);
  });

  it('is not answered by a call that no longer waits for people', async () => {
    const { taskId, gatedCallId } = await own.fixture.granted();
    await own.fixture.calls.answerPage(gatedCallId);
    expect((await viewOf(taskId)).isPageAnswered).toBeUndefined();
    await own.fixture.calls.cancel(gatedCallId);
    await own.fixture.calls.answerPage(gatedCallId);
    expect((await viewOf(taskId)).isPageAnswered).toBeUndefined();
  });
});

describe('the page of a call', () => {
  it('is found by its reference alone, and shows where the call is and nothing of it', async () => {
    const { taskId } = await own.fixture.pending();
    const { requestRef, decideBy } = await viewOf(taskId);
    expect(await own.fixture.calls.atPage(requestRef)).toEqual({ state: 'pending', decideBy });
    for (const other of [taskId, `req_${'0'.repeat(32)}`, '']) {
      expect(await own.fixture.calls.atPage(other)).toBeUndefined();
    }
  });

  it('does not exist before the request is submitted, and after the call is no longer kept', async () => {
    const { taskId: preparing } = await own.fixture.opened(anOpening());
    const { taskId, gatedCallId } = await own.fixture.pending();
    const { requestRef } = await viewOf(taskId);
    await own.fixture.calls.cancel(gatedCallId);
    expect(await own.fixture.calls.atPage(requestRef)).toEqual({ state: 'cancelled' });
    await own.db.pool.query('UPDATE gateway.gated_call SET retain_until = clock_timestamp() WHERE id = $1', [
      gatedCallId,
    ]);
    expect(await own.fixture.calls.atPage(requestRef)).toBeUndefined();
    expect(await own.fixture.calls.findTask(preparing, OWNER)).toBeUndefined();
  });
});
