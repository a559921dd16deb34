import { describe, expect, it } from '@jest/globals';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { aForm, aQuestion, askedCalls } from '../support/asked-calls.ts';
import { ownCalls } from '../support/own-calls.ts';

const own = ownCalls();
const calls = askedCalls(own);
const update = (text: string, id: string) => own.db.pool.query(`${text} WHERE gated_call_id = $1`, [id]);

describe('a question within a task', () => {
  it('is shown to the owner, and makes the call wait until its approval is over', async () => {
    const question = aQuestion();
    const call = await calls.asked([question]);
    const [row] = (
      await own.db.pool.query('SELECT due_at = approval_expires_at AS waits FROM gateway.gated_call WHERE id = $1', [
        call.gatedCallId,
      ])
    ).rows as [{ waits: boolean }];
    expect(row.waits).toBe(true);
    const view = await own.fixture.calls.findTask(call.taskId, JSON.stringify(['stranger']));
    expect(view).toBeUndefined();
    expect(await calls.openKeys(call)).toEqual([question.key]);
  });

  it('keeps its text and its answer out of the tables', async () => {
    const question = { ...aQuestion(), form: { ...aForm('ticket'), purpose: 'canary-purpose' } };
    const call = await calls.asked([question]);
    await calls.answer(call, { [question.key]: 'canary-answer' });
    expect(await calls.given(call)).toEqual({ ticket: 'canary-answer' });
    const { rows } = await own.db.pool.query(`SELECT q::text AS row FROM gateway.question q WHERE key = $1`, [
      question.key,
    ]);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain('canary');
  });

  it('has a key that is given out once, over all calls [TASK-043]', async () => {
    const question = aQuestion();
    const call = await calls.asked([question]);
    await calls.answer(call, { [question.key]: 'CHG-1' });
    await expect(calls.ask(call, [question])).rejects.toMatchObject({ code: '23505' });
    await expect(calls.asked([question])).rejects.toMatchObject({ code: '23505' });
    expect(await calls.endOf(call)).toEqual(['granted', null]);
  });

  it.each([
    ['of a call whose client cannot answer', { takesInput: false }, {}, 'input_missing'],
    ['that exceeds the limit', {}, { maxRounds: 0 }, 'input_missing'],
    ['for a generation that does not exist', {}, { maxGenerations: 1 }, 'chain_limit'],
  ])('%s is not asked: the call is denied', async (_case, of, limits, reason) => {
    const call = await calls.granted(of);
    expect(await calls.ask(call, [aQuestion()], limits)).toBe('denied');
    expect(await calls.endOf(call)).toEqual(['denied', reason]);
  });

  it('is asked only in the state and generation of the decision that wants it', async () => {
    const pending = await own.fixture.pending();
    expect(await calls.ask(pending, [aQuestion()])).toBe('pending');
    const call = await calls.granted();
    const ofNext = { formDigest: 'digest', maxGenerations: 4, maxRounds: 2, questions: [aQuestion()] };
    expect(await own.fixture.lifecycle.askInput({ ...call, generation: 2 }, ofNext)).toBe('granted');
    expect(await calls.ask(call, [aQuestion()])).toBe('input_required');
    expect(await calls.ask(call, [aQuestion()])).toBe('input_required');
    expect(await calls.openKeys(call)).toHaveLength(1);
  });

  it('cannot be stored for a caller that did not declare to take it', async () => {
    const call = await calls.granted({ takesInput: false });
    const text = `UPDATE gateway.gated_call SET state = 'input_required' WHERE id = $1`;
    await expect(own.db.pool.query(text, [call.gatedCallId])).rejects.toMatchObject({ code: '23514' });
  });

  it('never changes, and neither does its answer', async () => {
    const [one, other] = [aQuestion(), aQuestion()];
    const call = await calls.asked([one, other]);
    await calls.answer(call, { [one.key]: 'CHG-1' });
    for (const change of [
      `sealed_answer = 'x' WHERE key = '${one.key}'`,
      `sealed_form = 'x' WHERE key = '${other.key}'`,
    ])
      await expect(own.db.pool.query(`UPDATE gateway.question SET ${change}`)).rejects.toMatchObject({ code: 'CS002' });
  });

  it('cannot be taken for another one of the same call', async () => {
    const [one, other] = [aQuestion('ticket'), aQuestion('window')];
    const call = await calls.asked([one, other]);
    await own.db.pool.query('ALTER TABLE gateway.question DISABLE TRIGGER question_answered_once');
    await update(
      'UPDATE gateway.question SET sealed_form = (SELECT max(sealed_form) FROM gateway.question q WHERE q.gated_call_id = $1)',
      call.gatedCallId,
    );
    await own.db.pool.query('ALTER TABLE gateway.question ENABLE TRIGGER question_answered_once');
    await expect(calls.openKeys(call)).rejects.toMatchObject({ code: 'ERR_SEAL_BROKEN' });
  });

  it('is forgotten with the content of its call', async () => {
    const call = await calls.asked();
    await own.fixture.calls.cancel(call.gatedCallId);
    await own.db.pool.query('UPDATE gateway.gated_call SET retain_until = now() WHERE id = $1', [call.gatedCallId]);
    await createDueCalls(own.db.pool).forget(10);
    const { rowCount } = await own.db.pool.query('SELECT FROM gateway.question WHERE gated_call_id = $1', [
      call.gatedCallId,
    ]);
    expect(rowCount).toBe(0);
  });
});

describe('answers', () => {
  it('leave other questions open; with the last answer the call goes on [TASK-050]', async () => {
    const [one, other] = [aQuestion(), aQuestion()];
    const call = await calls.asked([one, other]);
    const signals = await calls.signalsOf(call);
    expect(await calls.answer(call, { [one.key]: 'CHG-1' })).toBe('input_required');
    expect([await calls.openKeys(call), await calls.signalsOf(call)]).toEqual([[other.key], signals]);
    expect(await calls.answer(call, { [other.key]: 'CHG-2' })).toBe('granted');
    expect([await calls.openKeys(call), await calls.signalsOf(call)]).toEqual([undefined, (signals ?? 0) + 1]);
  });

  it('change nothing where the question does not exist, was answered, or is another caller’s [TASK-044]', async () => {
    const [mine, second, theirs] = [aQuestion(), aQuestion(), aQuestion()];
    const [call, other] = [await calls.asked([mine, second]), await calls.asked([theirs])];
    await calls.answer(call, { [mine.key]: 'CHG-1' });
    const before = await calls.given(call);
    const strange = { [mine.key]: 'CHG-2', [theirs.key]: 'CHG-3', unknown: 'CHG-4' };
    expect(await calls.answer(call, strange)).toBe('input_required');
    expect([await calls.given(call), await calls.openKeys(other)]).toEqual([before, [theirs.key]]);
  });

  it('count for the form that they were given to, in the generation that asked for it', async () => {
    const question = aQuestion();
    const call = await calls.asked([question]);
    await calls.answer(call, { [question.key]: 'CHG-1' });
    expect(await calls.given(call)).toEqual({ ticket: 'CHG-1' });
    expect(await calls.given(call, 'another')).toEqual({});
    expect(await own.fixture.lifecycle.givenInput({ ...call, generation: 2 }, 'digest')).toEqual({});
  });

  it('that are null leave their questions open, beside others that count', async () => {
    const [one, other] = [aQuestion(), aQuestion()];
    const call = await calls.asked([one, other]);
    const text = 'SELECT gateway.answer_input($1, $2, $3, 0) AS state';
    const answer = async (...sealed: (string | null)[]) =>
      (await own.db.pool.query<{ state: string }>(text, [call.gatedCallId, [one.key, other.key], sealed])).rows[0]
        ?.state;
    const before = await calls.causesOf(call);
    expect([await answer(null, null), await calls.causesOf(call)]).toEqual(['input_required', before]);
    expect([await answer('sealed', null), await calls.openKeys(call)]).toEqual(['input_required', [other.key]]);
    expect(await calls.answer(call, { [other.key]: 'CHG-2' })).toBe('granted');
  });
});

describe('a call that waits for input', () => {
  it('ends when its approval does', async () => {
    const call = await calls.asked();
    await own.db.pool.query('UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() WHERE id = $1', [
      call.gatedCallId,
    ]);
    expect(await createDueCalls(own.db.pool).due(10)).toEqual([call.gatedCallId]);
    expect(await own.fixture.lifecycle.expire(call.gatedCallId)).toBe('denied');
    expect(await calls.endOf(call)).toEqual(['denied', 'approval_expired']);
  });

  it('can be neither granted nor claimed', async () => {
    const call = await calls.granted();
    const decisionId = await own.fixture.allow(call.gatedCallId);
    await calls.ask(call, [aQuestion()]);
    const claim = { gatedCallId: call.gatedCallId, generation: 1, epoch: 1, decisionId, executionTimeoutMs: 1_000 };
    expect(await own.fixture.lifecycle.claim({ ...claim, claimId: crypto.randomUUID() })).toBe('lost');
    expect(await calls.endOf(call)).toEqual(['input_required', null]);
  });

  it('ends after a restore as a call that may have run, where the engine says so', async () => {
    const call = await calls.asked();
    await own.db.pool.query('SELECT gateway.freeze()');
    const settle = 'SELECT gateway.settle_restored($1, $2, 1000) AS state';
    const { rows } = await own.db.pool.query(settle, [call.gatedCallId, crypto.randomUUID()]);
    await own.db.pool.query('SELECT gateway.thaw()');
    expect(rows).toEqual([{ state: 'outcome_unknown' }]);
    expect((await calls.causesOf(call)).slice(-4)).toEqual(['input_needed', 'restore', 'restore', 'restore']);
  });
});
