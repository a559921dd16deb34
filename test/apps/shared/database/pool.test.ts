import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPool, refuseUnfitDatabase } from '../../../../apps/shared/database/pool.ts';
import { checkDatabase } from '../../../../apps/cli/commands/doctor/services.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { OwnPostgres } from '../../../support/own-postgres.ts';
import { patiently } from '../../../support/wait-for.ts';
import { IN_DEVELOPMENT, systemTime } from '../../../support/time.ts';

const refused = (words: RegExp) => ({ code: 'ERR_DATABASE_UNAVAILABLE', message: expect.stringMatching(words) });

describe('connections to a server that may lose what it has confirmed', () => {
  /** The server of the tests: it syncs nothing. */
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());
  const WORDS = /it may lose confirmed commits, with fsync and full_page_writes and synchronous_commit switched off/;

  it('are not used where that matters', async () => {
    const strict = createPool(db.url, { ...systemTime, applicationName: 'strict', durable: true });
    await expect(strict.query('SELECT 1')).rejects.toMatchObject(refused(WORDS));
    await strict.end();
    await expect(refuseUnfitDatabase(db.url, { ...systemTime, durable: true })).rejects.toMatchObject(refused(WORDS));
  });

  it('are used in development', async () => {
    await refuseUnfitDatabase(db.url, { ...systemTime, durable: false });
    expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('are what the doctor warns of in development, and calls a failure elsewhere', async () => {
    const seen = async (mode: 'development' | 'production') =>
      (await checkDatabase(db.url, { mode, timeLimitFactor: 1 }))[0];
    expect(await seen('development')).toMatchObject({ status: 'warn', advice: 'switch them on' });
    expect(await seen('production')).toMatchObject({ status: 'fail', message: expect.stringMatching(/fsync/) });
  });
});

describe('connections to a standby', () => {
  const postgres = new OwnPostgres();
  afterAll(() => postgres.stop());

  it('are used by nobody, because it shows the past; to the same server as a primary they are', async () => {
    const url = await postgres.start();
    await refuseUnfitDatabase(url, { ...systemTime, durable: true });
    const pool = createPool(url, { ...systemTime, applicationName: 'calls', durable: true });
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await postgres.crash();
    writeFileSync(join(postgres.folder, 'postgres', 'data', 'standby.signal'), '');
    await patiently(() => postgres.startAsItIs());
    await expect(pool.query('SELECT 1')).rejects.toMatchObject(refused(/it is a standby; connect to the primary/));
    await expect(refuseUnfitDatabase(url, { ...systemTime, durable: false })).rejects.toMatchObject(
      refused(/it is a standby/),
    );
    expect((await checkDatabase(url, IN_DEVELOPMENT))[0]).toMatchObject({ status: 'fail', message: 'it is a standby' });
    await pool.end();
  });

  it('of a server that does not answer are no reason not to start', async () => {
    await refuseUnfitDatabase('postgresql://nobody:x@127.0.0.1:1/none', { ...systemTime, durable: true });
  });
});
