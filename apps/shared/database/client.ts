import { Client, type ClientConfig, type Pool, type PoolClient } from 'pg';

/** Runs work on a connection of its own, which ends with the work. Rejects when there is no connection. */
export async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  // Without a listener, the event of a broken connection would end this process. The statement rejects, too.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Runs work on a connection of the pool. A connection whose work failed is closed, because its state is unknown. */
export async function withPooled<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // The pool listens to idle connections only. The next statement rejects, too.
  const ignore = () => undefined;
  client.on('error', ignore);
  let failure: Error | undefined;
  try {
    return await work(client);
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(failure);
  }
}
