import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError, type Pool, type QueryConfig } from 'pg';

/** Repeats an operation, with pauses, until it is told to stop. `count` is the number of repetitions. */
export function everySoOften(fault: () => Promise<void>, pauses: { fromMs: number; toMs: number }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let count = 0;
  const doing = (async () => {
    for (;;) {
      await pause(randomInt(pauses.fromMs, pauses.toMs + 1), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await fault();
      count += 1;
    }
  })();
  // The caller of `stop` gets the error.
  doing.catch(() => undefined);
  return {
    count: () => count,
    async stop(): Promise<number> {
      stopping.abort();
      await doing;
      return count;
    },
  };
}

/** A connection of an operator, without the product's limits and faults. */
export async function withOperator<T>(url: string, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, application_name: 'operator' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Changes a setting of a running server for every session. `undefined` takes it back. */
export async function setting(url: string, name: string, value: string | undefined): Promise<void> {
  await withOperator(url, async (client) => {
    // The operator must be able to write under any value of the setting.
    await client.query('SET default_transaction_read_only = off');
    await client.query(value === undefined ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = '${value}'`);
    await client.query('SELECT pg_reload_conf()');
  });
}

const SQLSTATES = ['40001', '40P01', '57014', '53300', '08006', '55P03', '57P01', '53100'] as const;

/** The same pool, whose queries sometimes fail before they are made, or are made and fail afterwards. */
export function unreliable(
  pool: Pool,
  rates: { before: number; after: number },
): { pool: Pool; failures: () => number } {
  let failures = 0;
  const fail = () => {
    failures += 1;
    const error = new DatabaseError('injected', 0, 'error');
    error.severity = 'ERROR';
    error.code = SQLSTATES[randomInt(SQLSTATES.length)];
    return error;
  };
  const query = async (config: QueryConfig) => {
    if (Math.random() < rates.before) throw fail();
    const result: unknown = await pool.query(config);
    if (Math.random() < rates.after) throw fail();
    return result;
  };
  return { pool: Object.assign(Object.create(pool) as Pool, { query }), failures: () => failures };
}
