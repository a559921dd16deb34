import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { pino } from 'pino';
import { auditAssets } from '../../../apps/audit/assets.ts';
import { createAuditApp, type Visitor } from '../../../apps/audit/http.ts';
import { createReadOnlyPool } from '../../../apps/audit/stores/read-only-pool.ts';
import { createOutcomeRecords } from '../../../apps/audit/stores/outcome-record.store.ts';
import { createTestDatabase } from '../../support/database.ts';
import { endedCalls } from './ended-calls.ts';

export type AuditUnderTest = Awaited<ReturnType<typeof startAuditApp>>;

/** The audit application over HTTP, on a database of its own. Everybody is an auditor unless `visitor` says otherwise. */
export async function startAuditApp(visitor: Visitor = { kind: 'auditor', name: 'olivia' }) {
  const database = await createTestDatabase();
  const readOnly = createReadOnlyPool(database.url);
  const app = createAuditApp({
    records: createOutcomeRecords(readOnly),
    identify: async () => visitor,
    signIn: { handlers: [], path: '/sign-in' },
    assets: auditAssets(),
    url: 'http://audit.test',
    log: pino({ level: 'silent' }),
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function get(path: string, { accept = '*/*' }: { accept?: string } = {}) {
    const response = await fetch(`${base}${path}`, { headers: { accept }, redirect: 'manual' });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  return {
    base,
    pool: database.pool,
    readOnly,
    calls: endedCalls(database.pool),
    get,
    async json(path: string) {
      const { text, ...answer } = await get(path, { accept: 'application/json' });
      return { ...answer, body: JSON.parse(text) };
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      await readOnly.end();
      await database.drop();
    },
  };
}
