import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { packagePath } from '../../../../apps/shared/config/package-root.ts';
import { migrate } from '../../../../apps/shared/database/migrate.ts';
import { createEmptyDatabase } from '../../../support/database.ts';
import { ORDINARY_LIMITS } from '../../../support/time.ts';

let folder: string;
let database: { url: string; drop(): Promise<void> };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  database = await createEmptyDatabase();
});

afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

function write(name: string, script: string): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'migration.sql'), script);
}

async function rows<Row extends Record<string, unknown>>(text: string): Promise<Row[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

describe('migrate', () => {
  it("applies this package's own migrations to an empty database and then has nothing left to do", async () => {
    cpSync(packagePath('prisma', 'migrations'), folder, { recursive: true });
    const first = await migrate(database.url, folder, ORDINARY_LIMITS);
    expect(first.applied.length).toBeGreaterThan(0);
    expect(
      await rows("SELECT 1 FROM pg_tables WHERE schemaname = 'gateway' AND tablename = 'gated_call'"),
    ).toHaveLength(1);
    expect(await migrate(database.url, folder, ORDINARY_LIMITS)).toEqual({
      applied: [],
      unknown: [],
      renewedRights: false,
    });
  });

  it('records what it applied the way Prisma does', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    await migrate(database.url, folder, ORDINARY_LIMITS);
    const [record] = await rows('SELECT *, octet_length(checksum) AS length FROM _prisma_migrations');
    expect(record).toMatchObject({ migration_name: '1_one', applied_steps_count: 1, rolled_back_at: null, length: 64 });
    // printf 'CREATE TABLE one (id int);' | sha256sum
    expect(record?.['checksum']).toBe('04a23a219a95ac16cc1a98a9a3789601d0a1ec6c704cf84c991592b0ba740e6b');
    expect(record?.['finished_at']).toBeInstanceOf(Date);
  });

  it('applies in order of name what was added later, and names what it does not know', async () => {
    write('2_two', 'CREATE TABLE two (id int REFERENCES one);');
    write('1_one', 'CREATE TABLE one (id int PRIMARY KEY);');
    expect((await migrate(database.url, folder, ORDINARY_LIMITS)).applied).toEqual(['1_one', '2_two']);
    rmSync(join(folder, '1_one'), { recursive: true });
    write('3_three', 'CREATE TABLE three (id int);');
    expect(await migrate(database.url, folder, ORDINARY_LIMITS)).toEqual({
      applied: ['3_three'],
      unknown: ['1_one'],
      renewedRights: false,
    });
  });

  it('sends function bodies in dollar quotes unharmed', async () => {
    write(
      '1_fn',
      'CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 7; END $$; SELECT f();',
    );
    await migrate(database.url, folder, ORDINARY_LIMITS);
    expect(await rows('SELECT f()')).toEqual([{ f: 7 }]);
  });

  it('changes nothing when a migration fails, says where, and applies it once it is mended', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    write('2_two', 'CREATE TABLE two (id int);\nSELECT nonsense;');
    await expect(migrate(database.url, folder, ORDINARY_LIMITS)).rejects.toThrow(
      /migration 2_two failed at line 2: .*nonsense/,
    );
    expect(await rows("SELECT tablename FROM pg_tables WHERE tablename IN ('one', 'two')")).toEqual([
      { tablename: 'one' },
    ]);
    write('2_two', 'CREATE TABLE two (id int);');
    expect((await migrate(database.url, folder, ORDINARY_LIMITS)).applied).toEqual(['2_two']);
  });

  it('refuses to go on when an applied migration was edited', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    await migrate(database.url, folder, ORDINARY_LIMITS);
    write('1_one', 'CREATE TABLE one (id bigint);');
    write('2_two', 'CREATE TABLE two (id int);');
    await expect(migrate(database.url, folder, ORDINARY_LIMITS)).rejects.toThrow(
      /edited after it had been applied.*1_one/,
    );
    expect(await rows("SELECT 1 FROM pg_tables WHERE tablename = 'two'")).toEqual([]);
  });

  it('refuses to go on when Prisma recorded a migration that did not finish', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    await migrate(database.url, folder, ORDINARY_LIMITS);
    await rows('UPDATE _prisma_migrations SET finished_at = NULL');
    await expect(migrate(database.url, folder, ORDINARY_LIMITS)).rejects.toThrow(/did not finish: 1_one/);
    await rows('UPDATE _prisma_migrations SET rolled_back_at = now()');
    await rows('DROP TABLE one');
    expect((await migrate(database.url, folder, ORDINARY_LIMITS)).applied).toEqual(['1_one']);
  });

  it('is done by one of many that start at once', async () => {
    write('1_one', 'SELECT pg_sleep(0.1); CREATE TABLE one (id int);');
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, folder, ORDINARY_LIMITS)));
    expect(results.map(({ applied }) => applied.length).sort()).toEqual([0, 0, 0, 0, 1]);
    expect(await rows('SELECT 1 FROM _prisma_migrations')).toHaveLength(1);
  });
});
