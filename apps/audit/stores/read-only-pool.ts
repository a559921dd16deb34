import type { Pool } from 'pg';
import { createPool } from '../../shared/database/pool.ts';

/** Connections that cannot write, whatever is sent over them: the database itself refuses. */
export function createReadOnlyPool(databaseUrl: string): Pool {
  const url = new URL(databaseUrl);
  const options = url.searchParams.get('options');
  url.searchParams.set('options', [options, '-c default_transaction_read_only=on'].filter(Boolean).join(' '));
  return createPool(url.href, { applicationName: 'countersign audit' });
}
