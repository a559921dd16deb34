import type { ClientBase } from 'pg';

/** What a server must not be, or lack, for its confirmations to be relied on. */
interface Look {
  readonly is_standby: boolean;
  readonly switched_off: string[];
}

// A commit that was confirmed can be gone after a crash when one of these is off: a permit to send would be given twice.
const LOOK = `
  SELECT pg_is_in_recovery() AS is_standby, array(
    SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
    WHERE current_setting(name) = 'off') AS switched_off`;

/**
 * Why this server is not one to work on: it is a standby, which shows the past, or (with `durable`) it may lose what it
 * has confirmed. Undefined when nothing speaks against it.
 */
export async function unfitness(client: ClientBase, { durable }: { durable: boolean }): Promise<string | undefined> {
  const { rows } = await client.query<Look>(LOOK);
  const [look] = rows;
  if (look?.is_standby !== false) return 'it is a standby; connect to the primary';
  if (!durable || look.switched_off.length === 0) return undefined;
  return `it may lose what it has confirmed, with ${look.switched_off.join(' and ')} switched off; switch them on`;
}
