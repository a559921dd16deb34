import { pino } from 'pino';
import { createAuditApp } from '../../../apps/audit/http.ts';
import { createOutcomeRecords, createReadOnlyPool } from '../../../apps/audit/stores/outcome-record.store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { TEST_RECORD_SEALS } from '../../support/gated-calls.ts';
import { serve } from '../../support/serve.ts';
import { endedCalls } from './ended-calls.ts';
import { PATIENT_LIMITS, systemTime } from '../../support/time.ts';

export type AuditUnderTest = Awaited<ReturnType<typeof startAuditApp>>;

/**
 * The audit application over HTTP, on the given database, or on its own, which it drops at its end. Every person is an auditor.
 */
export async function startAuditApp(given?: Pick<TestDatabase, 'url' | 'pool' | 'drop'>, limits = PATIENT_LIMITS) {
  const database = given ?? (await createTestDatabase());
  const readOnly = createReadOnlyPool(database.url, limits);
  const app = createAuditApp({
    ...systemTime,
    records: createOutcomeRecords(readOnly, TEST_RECORD_SEALS),
    seals: TEST_RECORD_SEALS,
    signIn: [],
    auditorsOnly: (_request, _response, next) => next(),
    url: 'http://audit.test',
    needs: [],
    log: pino({ level: 'silent' }),
  });
  const server = await serve(app);
  const base = server.url;

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
      await server.close();
      await readOnly.end();
      await database.drop();
    },
  };
}
