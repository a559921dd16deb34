import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  GATED_CALL_STATES,
  type GatedCallState,
  isTerminal,
  TRANSITIONS,
} from '../../workflows/domain/gated-call/gated-call.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
});

const ENDED: readonly string[] = GATED_CALL_STATES.filter(isTerminal);
const CLAIMED: readonly string[] = ['claimed', 'executed', 'execution_error', 'outcome_unknown'];
const PAIRS = GATED_CALL_STATES.flatMap((from) => GATED_CALL_STATES.map((to) => [from, to] as const));
const mayFollow = (from: GatedCallState, to: GatedCallState) =>
  (TRANSITIONS[from] as readonly GatedCallState[]).includes(to);

/** Puts a row straight into a state, with all data of that state, and without the functions that lead there. */
async function insertCall(state: string, endedAt = ENDED.includes(state) ? new Date() : null): Promise<string> {
  const id = randomUUID();
  await database.pool.query(
    `INSERT INTO gateway.gated_call
       (id, task_id, subject_key, owner_key, dedup_key, state, takes_input, claim_id, request_ttl_ms, request_deadline, ended_at, retain_until)
     VALUES ($1::uuid, $1::text, 'subject', 'owner', $1::text, $2, true, $3, 3600000, now() + interval '1 h', $4, now() + interval '1 h')`,
    [id, state, CLAIMED.includes(state) ? randomUUID() : null, endedAt],
  );
  return id;
}

/** Changes the state as a faulty program would: one bare update that satisfies all checks but the order of states. */
const update = (id: string, to: GatedCallState) =>
  database.pool.query('UPDATE gateway.gated_call SET state = $2, claim_id = $3, ended_at = $4 WHERE id = $1', [
    id,
    to,
    CLAIMED.includes(to) ? randomUUID() : null,
    ENDED.includes(to) ? new Date() : null,
  ]);

describe('transitions of a gated call', () => {
  it('are the same in the database as in the domain [TASK-018]', async () => {
    const { rows } = await database.pool.query<{ from_state: string; to_state: GatedCallState; is_end: boolean }>(
      'SELECT from_state, to_state, is_end FROM gateway.transition',
    );
    expect(rows.filter(({ to_state, is_end }) => isTerminal(to_state) !== is_end)).toEqual([]);
    const inDomain = PAIRS.filter(([from, to]) => mayFollow(from, to)).map((pair) => pair.join(' → '));
    expect(rows.map((row) => `${row.from_state} → ${row.to_state}`).sort()).toEqual(inDomain.sort());
  });

  it.each(PAIRS.filter(([from, to]) => mayFollow(from, to)))('from %s to %s are made', async (from, to) => {
    const id = await insertCall(from);
    await expect(update(id, to)).resolves.toMatchObject({ rowCount: 1 });
  });

  it.each(PAIRS.filter(([from, to]) => from !== to && !mayFollow(from, to)))(
    'from %s to %s are refused by the database [TASK-017, TASK-018]',
    async (from, to) => {
      const id = await insertCall(from);
      await expect(update(id, to)).rejects.toMatchObject({ code: 'CS001' });
    },
  );
});

describe('the states in the database', () => {
  it('are those of the domain', async () => {
    for (const state of GATED_CALL_STATES) await expect(insertCall(state)).resolves.toEqual(expect.any(String));
  });

  it.each(GATED_CALL_STATES)('have an end only where the table of transitions says so: %s', async (state) => {
    const isEnd = ENDED.includes(state);
    await expect(insertCall(state, isEnd ? null : new Date())).rejects.toMatchObject({ code: '23514' });
    const id = await insertCall(state);
    const ended = database.pool.query('UPDATE gateway.gated_call SET ended_at = $2 WHERE id = $1', [
      id,
      isEnd ? null : new Date(),
    ]);
    await expect(ended).rejects.toMatchObject({ code: isEnd ? 'CS001' : '23514' });
  });

  it('are not reached with a forbidden end, or without a required one', async () => {
    const id = await insertCall('preparing');
    const set = 'UPDATE gateway.gated_call SET state = $2, ended_at = $3 WHERE id = $1';
    await expect(database.pool.query(set, [id, 'pending', new Date()])).rejects.toMatchObject({ code: '23514' });
    await expect(database.pool.query(set, [id, 'denied', null])).rejects.toMatchObject({ code: '23514' });
  });

  it('are no others', async () => {
    await expect(insertCall('approved')).rejects.toMatchObject({ code: '23514' });
  });
});

describe('an ended gated call', () => {
  it.each(GATED_CALL_STATES.filter(isTerminal))(
    'in state %s keeps its generation, reason, claim and end',
    async (state) => {
      const id = await insertCall(state);
      for (const change of ['generation = generation + 1', "reason = 'abandoned'", 'ended_at = now()']) {
        const changed = database.pool.query(`UPDATE gateway.gated_call SET ${change} WHERE id = $1`, [id]);
        await expect(changed).rejects.toMatchObject({ code: 'CS001' });
      }
    },
  );
});
