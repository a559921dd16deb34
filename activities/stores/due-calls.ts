import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import type { OpenCall } from '../../workflows/domain/ports.ts';
import { callFunction, WITHOUT_FLUSH } from './query.ts';

// now() is fixed for a statement, so an index can be searched for it.
const DUE = 'SELECT id FROM gateway.gated_call WHERE due_at <= now() ORDER BY due_at, id LIMIT $1 OFFSET $2';

const ABANDONED = `
  SELECT id FROM gateway.gated_call g WHERE state = 'preparing' AND created_at < now() - $1 * interval '1 ms'
    AND NOT EXISTS (SELECT 1 FROM gateway.submission s WHERE s.gated_call_id = g.id AND s.lease_until > now())
  ORDER BY created_at LIMIT $2`;

const idsOf = (pool: Pool) => async (name: string, text: string, values: unknown[]) =>
  (await query<{ id: string }>(pool, name, text, values)).map(({ id }) => id);

/** Calls whose time is over, by the database's clock: past a deadline, never submitted, or past their retention. */
export function createDueCalls(pool: Pool) {
  const ids = idsOf(pool);
  return {
    /** Leaves the first `skipped` out: those that could not be ended a moment ago. */
    due: (limit: number, skipped = 0) => ids('due-calls', DUE, [limit, skipped]),
    abandoned: (olderThanMs: number, limit: number) => ids('abandoned-calls', ABANDONED, [olderThanMs, limit]),
    /** Forgets the contents of calls past their retention; answers how many. */
    forget: (limit: number) => callFunction<number>(pool, 'forget', { limit }, 'forget_ended'),
  };
}

const TAKE_POLLS = `SELECT id FROM ${WITHOUT_FLUSH}, gateway.take_polls($1, $2, $3) AS id`;

/**
 * When to ask for resolutions of which no word came, by the database's clock. Durations in milliseconds. A poll that a crash of
 * the database takes back is repeated.
 */
export function createDuePolls(pool: Pool, { minMs, maxMs }: { minMs: number; maxMs: number }) {
  return {
    /** Takes calls that await a resolution and whose poll is due; their next one comes after a pause. */
    take: (limit: number): Promise<string[]> => idsOf(pool)('take-polls', TAKE_POLLS, [limit, minMs, maxMs]),
    /** Does not poll this call before so long has passed. */
    async deferPoll(gatedCallId: string, ms: number): Promise<void> {
      await query(pool, 'defer-poll', `SELECT gateway.defer_poll($1, $2) FROM ${WITHOUT_FLUSH}`, [gatedCallId, ms]);
    },
    /** Has the workflow of the call signalled, which reads the resolution for itself. */
    enqueueSignal: (gatedCallId: string): Promise<void> => callFunction(pool, 'enqueue-signal', { call: gatedCallId }),
  };
}

// The first condition is implied by the second; it lets the index of deadlines be used, which holds open calls only.
const OPEN = `
  SELECT id, state, generation, due_at::text AS due, (extract(epoch FROM due_at) * 1000)::float8 AS "deadlineMs" FROM gateway.gated_call
  WHERE due_at >= $1::timestamptz AND (due_at, id) > ($1::timestamptz, $2::uuid) AND state <> 'preparing'
  ORDER BY due_at, id LIMIT $3`;

// A row that no worker will take for minutes is no start that can be counted on.
const QUEUED = `
  SELECT subject_id AS id FROM gateway.outbox
  WHERE subject_id = ANY ($1) AND kind IN ('start_workflow','signal_workflow') AND available_at < now() + interval '2 minutes'`;

const BEFORE_ALL = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Open calls in pages, and which of them the outbox is about to start anyway. */
export function createOpenCalls(pool: Pool) {
  return {
    /** A call whose deadline changes meanwhile may be left out or come twice. */
    after: ({ due, id }: Pick<OpenCall, 'due' | 'id'> = BEFORE_ALL, limit: number): Promise<OpenCall[]> =>
      query(pool, 'open-calls', OPEN, [due, id, limit]),
    queued: async (ids: readonly string[]): Promise<Set<string>> =>
      new Set(await idsOf(pool)('queued-calls', QUEUED, [ids])),
  };
}
