import type { Pool } from 'pg';
import type { ObligationMessage } from '../../workflows/domain/authzen/obligation.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { query, queryOne } from './query.ts';

/** Obligations of denials that are to be carried out, however long their receivers are away. */
export interface ObligationQueue {
  /** Keeps a message to be sent, once for its id. False: it was there already, whatever became of it. */
  add(message: ObligationMessage): Promise<boolean>;
  /** What is still to be sent under this id, and for how many milliseconds it has waited. */
  find(id: string): Promise<{ readonly message: ObligationMessage; readonly waitedMs: number } | undefined>;
  /** It was taken, or is given up. That there was one is remembered. */
  drop(id: string): Promise<void>;
}

const COLUMN = 'obligation.sealed_message';

/** The queue in Postgres. What is sent is sealed under a key of its own, as long as it lies there. */
export function createObligationQueue(pool: Pool, seals: Seals): ObligationQueue {
  return {
    async add(message) {
      const keys = seals.forNewCall(message.id);
      const text = 'SELECT gateway.add_obligation($1, $2, $3) AS added';
      const values = [message.id, keys.wrapped.call, keys.seal(COLUMN, JSON.stringify(message))];
      return (await queryOne<{ added: boolean }>(pool, 'add-obligation', text, values)).added;
    },
    async find(id) {
      const [row] = await query<{ message_key: string; sealed_message: string; waited_ms: number }>(
        pool,
        'find-obligation',
        `SELECT message_key, sealed_message, extract(epoch FROM clock_timestamp() - added_at)::float8 * 1000 AS waited_ms
         FROM gateway.obligation WHERE id = $1 AND sealed_message IS NOT NULL`,
        [id],
      );
      if (row === undefined) return undefined;
      const text = seals.forCall(id, { call: row.message_key, record: null }).open(COLUMN, row.sealed_message);
      return { message: JSON.parse(text) as ObligationMessage, waitedMs: row.waited_ms };
    },
    async drop(id) {
      await query(pool, 'drop-obligation', 'SELECT gateway.drop_obligation($1)', [id]);
    },
  };
}
