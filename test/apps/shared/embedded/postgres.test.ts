import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findOrStartPostgres } from '../../../../apps/shared/embedded/postgres.ts';
import { isAlive } from '../../../../apps/shared/embedded/process-tools.ts';
import { embeddedPostgres, searchPath } from '../../../support/embedded-servers.ts';

const { stateDir, serverPid, start, query } = embeddedPostgres();

describe('findOrStartPostgres', () => {
  it('starts a server on loopback with a UTF-8 database, and keeps its data over a restart', async () => {
    const first = await start();
    expect(new URL(first.url)).toMatchObject({ hostname: '127.0.0.1', pathname: '/countersign' });
    expect(await query(first.url, "SELECT lower('Ä') AS l, current_setting('server_encoding') AS e")).toEqual([
      { l: 'ä', e: 'UTF8' },
    ]);
    await query(first.url, 'CREATE TABLE kept (id int)');
    const pid = serverPid();
    await first.stop();
    expect(isAlive(pid)).toBe(false);
    const second = await start();
    expect(await query(second.url, 'SELECT * FROM kept')).toEqual([]);
  });

  it('requires the password, which only the owner can read', async () => {
    const { url } = await start();
    expect(statSync(join(stateDir(), 'postgres', 'password')).mode & 0o777).toBe(0o600);
    const wrong = new URL(url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
  });

  it('uses a given address unchanged, and leaves that server running', async () => {
    const own = await start();
    const given = await findOrStartPostgres({ stateDir: join(stateDir(), 'other'), searchPath, databaseUrl: own.url });
    expect(given).toMatchObject({ url: own.url, how: 'DATABASE_URL' });
    await given.stop();
    expect(await query(own.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('explains each attempt when no server can run the data folder', async () => {
    const data = join(stateDir(), 'postgres', 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'PG_VERSION'), '11\n');
    await expect(start()).rejects.toThrow(/Set DATABASE_URL[^]*DATABASE_URL: not set[^]*is of version 11/);
  });
});
