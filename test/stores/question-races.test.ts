import { describe, expect, it } from '@jest/globals';
import { aQuestion, askedCalls } from '../support/asked-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { waitFor } from '../support/wait-for.ts';

/** Enough that each side wins some, on any machine. */
const TURNS = 20;

const own = ownCalls();
const calls = askedCalls(own);

/** Does both at once, in either order of sending. */
const atOnce = (turn: number, one: () => Promise<unknown>, other: () => Promise<unknown>) =>
  Promise.all(turn % 2 === 0 ? [one(), other()] : [other(), one()]);

describe('an answer against', () => {
  it('a cancellation: the call is cancelled, by one record, in either order', async () => {
    const orders = new Set<string>();
    for (let turn = 0; turn < TURNS; turn += 1) {
      const question = aQuestion();
      const call = await calls.asked([question]);
      const answer = () => calls.answer(call, { [question.key]: 'CHG-1' });
      await atOnce(turn, answer, () => own.fixture.calls.cancel(call.gatedCallId));
      expect(await calls.endOf(call)).toEqual(['cancelled', 'client_cancelled']);
      const { rowCount } = await own.db.pool.query('SELECT FROM gateway.outcome_record WHERE gated_call_id = $1', [
        call.gatedCallId,
      ]);
      expect(rowCount).toBe(1);
      orders.add((await calls.causesOf(call)).slice(3).join());
    }
    for (const order of orders) expect(['input_needed,client', 'input_needed,input_given,client']).toContain(order);
  });

  it('another answer to the same question: one counts, and the call goes on once', async () => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      const question = aQuestion();
      const call = await calls.asked([question]);
      const signals = (await calls.signalsOf(call)) ?? 0;
      const say = (said: string) => () => calls.answer(call, { [question.key]: said });
      expect(await atOnce(turn, say('CHG-1'), say('CHG-2'))).toEqual(['granted', 'granted']);
      expect(['CHG-1', 'CHG-2']).toContain((await calls.given(call))['ticket']);
      expect((await calls.causesOf(call)).filter((cause) => cause === 'input_given')).toHaveLength(1);
      expect(await calls.signalsOf(call)).toBe(signals + 1);
    }
  });

  it('a second question of another worker: the owner is asked once', async () => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      const call = await calls.granted();
      const ask = () => calls.ask(call, [aQuestion()]);
      expect(await atOnce(turn, ask, ask)).toEqual(['input_required', 'input_required']);
      expect(await calls.openKeys(call)).toHaveLength(1);
    }
  });

  it('the deadline: an answer that waited for the row while the deadline passed comes too late', async () => {
    const question = aQuestion();
    const call = await calls.asked([question]);
    const holder = await own.db.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM gateway.gated_call WHERE id = $1 FOR UPDATE', [call.gatedCallId]);
      const answered = calls.answer(call, { [question.key]: 'CHG-1' });
      await waitFor(async () => (await own.db.pool.query(WAITS)).rowCount === 1);
      const text = 'UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() WHERE id = $1';
      await holder.query(text, [call.gatedCallId]);
      await holder.query('COMMIT');
      expect(await answered).toBe('denied');
    } finally {
      holder.release();
    }
    expect(await calls.endOf(call)).toEqual(['denied', 'approval_expired']);
    expect(await calls.given(call)).toEqual({});
  });
});

/** An answer that waits for its row. */
const WAITS = `
  SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%answer_input%' AND datname = current_database()`;
