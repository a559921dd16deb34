import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPool, refuseUnfitDatabase } from '../../../../apps/shared/database/pool.ts';
import { checkDatabase } from '../../../../apps/cli/commands/doctor/services.ts';
import { query } from '../../../../apps/shared/database/query.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { OwnPostgres } from '../../../support/own-postgres.ts';
import { patiently } from '../../../support/wait-for.ts';
import { IN_DEVELOPMENT, PATIENT_LIMITS, systemTime } from '../../../support/time.ts';

const refused = (words: RegExp) => ({ code: 'ERR_DATABASE_UNAVAILABLE', message: expect.stringMatching(words) });

describe('connections to a server that may lose committed data', () => {
  /** The server of the tests, which does not sync. */
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());
  const WORDS = /it may lose confirmed commits, with fsync and full_page_writes and synchronous_commit switched off/;

  it('are refused where durability matters', async () => {
    const strict = createPool(db.url, { ...systemTime, applicationName: 'strict', durable: true });
    await expect(strict.query('SELECT 1')).rejects.toMatchObject(refused(WORDS));
    await strict.end();
    await expect(refuseUnfitDatabase(db.url, { ...systemTime, durable: true })).rejects.toMatchObject(refused(WORDS));
  });

  it('are accepted in development', async () => {
    await refuseUnfitDatabase(db.url, { ...systemTime, durable: false });
    expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('cause a warning of the doctor in development, and a failure elsewhere', async () => {
    const seen = async (mode: 'development' | 'production') =>
      (await checkDatabase(db.url, { ...IN_DEVELOPMENT, mode }))[0];
    expect(await seen('development')).toMatchObject({ status: 'warn', advice: 'switch them on' });
    expect(await seen('production')).toMatchObject({ status: 'fail', message: expect.stringMatching(/fsync/) });
  });
});

describe('connections that are all in use', () => {
  it('give a wait that takes too long another error than a database that is away', async () => {
    const db = await createTestDatabase();
    const limits = { ...PATIENT_LIMITS, databaseConnectMs: 50 };
    const pool = createPool(db.url, { ...systemTime, limits, applicationName: 'busy', max: 1 });
    const inUse = await patiently(() => pool.connect());
    const wait = query(pool, undefined, 'SELECT 1');
    await expect(wait).rejects.toMatchObject(refused(/^no connection of this process to the database became free/));
    inUse.release();
    await pool.end();
    await db.drop();
  });
});

describe('connections to a standby', () => {
  const postgres = new OwnPostgres();
  afterAll(() => postgres.stop());

  it('are refused because it shows old data, and are used again once the server is a primary', async () => {
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

  it('to a server that does not answer do not stop the startup', async () => {
    await refuseUnfitDatabase('postgresql://unknown:x@127.0.0.1:1/none', { ...systemTime, durable: true });
  });
});
