import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import type { ObligationMessage } from '../../workflows/domain/authzen/obligation.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { callFunction } from './query.ts';

const COLUMN = 'obligation.sealed_message';

export type ObligationQueue = ReturnType<typeof createObligationQueue>;

/**
 * Obligations of denials that are to be carried out, however long their receivers are away. A message is sealed under a key of
 * its own until it is dropped.
 */
export function createObligationQueue(pool: Pool, seals: Seals) {
  return {
    /** Keeps a message to be sent, once for its id. False: the id was added before. */
    add(message: ObligationMessage) {
      const keys = seals.forNewCall(message.id);
      return callFunction<boolean>(pool, 'add-obligation', {
        ...{ id: message.id, key: keys.wrapped.call, message: keys.seal(COLUMN, JSON.stringify(message)) },
      });
    },

    /** The message to be sent under this id, and for how many milliseconds it has waited. */
    async find(id: string) {
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

    /** The message was taken, or is given up. Its id stays on record. */
    drop: (id: string): Promise<void> => callFunction(pool, 'drop-obligation', { id }),
  };
}
