import type { Pool } from 'pg';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import { query } from './query.ts';

/** A gated call that has not ended, and whose first access request was submitted. */
export interface OpenCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly generation: number;
  /** Deadline of its state, in milliseconds since 1970. */
  readonly deadlineMs: number;
  /** The same, to the microsecond: together with the id, its place in the order of pages. */
  readonly due: string;
}

// The first condition is implied by the second; it lets the index of deadlines be used, which holds open calls only.
const OPEN = `
  SELECT id, state, generation, due_at::text AS due, (extract(epoch FROM due_at) * 1000)::float8 AS "deadlineMs" FROM gateway.gated_call
  WHERE due_at >= $1::timestamptz AND (due_at, id) > ($1::timestamptz, $2::uuid) AND state <> 'preparing'
  ORDER BY due_at, id LIMIT $3`;

// A row that nobody will take for minutes is no start that can be counted on.
const QUEUED = `
  SELECT subject_id AS id FROM gateway.outbox
  WHERE subject_id = ANY ($1) AND kind IN ('start_workflow','signal_workflow') AND available_at < now() + interval '2 minutes'`;

const BEFORE_ALL = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Open calls in pages, and which of them the outbox is about to start anyway. */
export function createOpenCalls(pool: Pool) {
  return {
    /** A call whose deadline changes meanwhile may be left out or come twice. */
    after: (last: Pick<OpenCall, 'due' | 'id'> | undefined, limit: number): Promise<OpenCall[]> => {
      const { due, id } = last ?? BEFORE_ALL;
      return query<OpenCall>(pool, 'open-calls', OPEN, [due, id, limit]);
    },
    queued: async (ids: readonly string[]): Promise<Set<string>> =>
      new Set((await query<{ id: string }>(pool, 'queued-calls', QUEUED, [ids])).map((row) => row.id)),
  };
}
