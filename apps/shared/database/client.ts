import { Client, type ClientConfig } from 'pg';

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
