import type { Pool } from 'pg';
import type { Limits } from '../../shared/limits.ts';
import { createPool, ROLES, withOption } from '../../shared/database/pool.ts';

/** Connections that cannot write, whatever is sent over them: the database itself refuses. */
export function createReadOnlyPool(databaseUrl: string, limits: Limits): Pool {
  const url = withOption(databaseUrl, 'default_transaction_read_only=on');
  return createPool(url, { applicationName: 'countersign audit', role: ROLES.audit, limits });
}
