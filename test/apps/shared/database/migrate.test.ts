import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { packagePath } from '../../../../apps/shared/config/files.ts';
import { migrate, migrationStatus } from '../../../../apps/shared/database/migrate.ts';
import { readMigrations } from '../../../../apps/shared/database/functions.ts';
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
  mkdirSync(join(folder, 'migrations', name), { recursive: true });
  writeFileSync(join(folder, 'migrations', name, 'migration.sql'), script);
}

function writeFunction(name: string, script: string): void {
  mkdirSync(join(folder, 'functions', 'public'), { recursive: true });
  writeFileSync(join(folder, 'functions', 'public', `${name}.sql`), script);
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

/** The result of a run that found no work. */
const NOTHING = { applied: [], unknown: [], functions: [], renewedRights: false };

describe('migrate', () => {
  it("applies this package's own migrations to an empty database, and then has no more to do", async () => {
    cpSync(packagePath('prisma'), folder, { recursive: true });
    const first = await migrate(database.url, ORDINARY_LIMITS, folder);
    expect(first.applied.length).toBeGreaterThan(0);
    expect(first.functions).toContain('gateway/claim_execution');
    expect(
      await rows("SELECT 1 FROM pg_tables WHERE schemaname = 'gateway' AND tablename = 'gated_call'"),
    ).toHaveLength(1);
    expect(await migrate(database.url, ORDINARY_LIMITS, folder)).toEqual(NOTHING);
  });

  it("continues from this package's migrations as Prisma's engine applies them: each one message, without a transaction", async () => {
    await migrate(database.url, ORDINARY_LIMITS, folder);
    for (const { name, script, checksum } of readMigrations(packagePath('prisma'))) {
      await rows(script);
      await rows(`INSERT INTO "_prisma_migrations" (id, checksum, migration_name, finished_at)
        VALUES (gen_random_uuid(), '${checksum}', '${name}', now())`);
    }
    const result = await migrate(database.url, ORDINARY_LIMITS);
    expect(result).toMatchObject({ applied: [], unknown: [] });
    expect(result.functions).toContain('gateway/claim_execution');
    expect(await rows('SELECT gateway.fence_state() AS state')).toEqual([{ state: 'whole' }]);
    expect(
      await rows(
        'SELECT max(stamped_by::text::bigint) - min(stamped_by::text::bigint) > 1 AS apart FROM gateway.fence',
      ),
    ).toEqual([{ apart: true }]);
  });

  it('records applied migrations like Prisma', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    await migrate(database.url, ORDINARY_LIMITS, folder);
    const [record] = await rows('SELECT *, octet_length(checksum) AS length FROM _prisma_migrations');
    expect(record).toMatchObject({ migration_name: '1_one', applied_steps_count: 1, rolled_back_at: null, length: 64 });
    // printf 'CREATE TABLE one (id int);' | sha256sum
    expect(record?.['checksum']).toBe('04a23a219a95ac16cc1a98a9a3789601d0a1ec6c704cf84c991592b0ba740e6b');
    expect(record?.['finished_at']).toBeInstanceOf(Date);
  });

  it('applies later additions in order of name, and names unknown ones', async () => {
    write('2_two', 'CREATE TABLE two (id int REFERENCES one);');
    write('1_one', 'CREATE TABLE one (id int PRIMARY KEY);');
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).applied).toEqual(['1_one', '2_two']);
    rmSync(join(folder, 'migrations', '1_one'), { recursive: true });
    write('3_three', 'CREATE TABLE three (id int);');
    expect(await migrate(database.url, ORDINARY_LIMITS, folder)).toEqual({
      ...NOTHING,
      applied: ['3_three'],
      unknown: ['1_one'],
    });
  });

  it('sends function bodies in dollar quotes unchanged', async () => {
    write(
      '1_fn',
      'CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 7; END $$; SELECT f();',
    );
    await migrate(database.url, ORDINARY_LIMITS, folder);
    expect(await rows('SELECT f()')).toEqual([{ f: 7 }]);
  });

  it('changes no data when a migration fails, says where, and applies it once it is mended', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    write('2_two', 'CREATE TABLE two (id int);\nSELECT nonsense;');
    await expect(migrate(database.url, ORDINARY_LIMITS, folder)).rejects.toThrow(
      /migration 2_two failed at line 2: .*nonsense/,
    );
    expect(await rows("SELECT tablename FROM pg_tables WHERE tablename IN ('one', 'two')")).toEqual([
      { tablename: 'one' },
    ]);
    write('2_two', 'CREATE TABLE two (id int);');
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).applied).toEqual(['2_two']);
  });

  it('refuses to continue when an applied migration was edited', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    await migrate(database.url, ORDINARY_LIMITS, folder);
    write('1_one', 'CREATE TABLE one (id bigint);');
    write('2_two', 'CREATE TABLE two (id int);');
    await expect(migrate(database.url, ORDINARY_LIMITS, folder)).rejects.toThrow(
      /edited after it had been applied.*1_one/,
    );
    expect(await rows("SELECT 1 FROM pg_tables WHERE tablename = 'two'")).toEqual([]);
  });

  it('refuses to continue when Prisma recorded an unfinished migration', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    await migrate(database.url, ORDINARY_LIMITS, folder);
    await rows('UPDATE _prisma_migrations SET finished_at = NULL');
    await expect(migrate(database.url, ORDINARY_LIMITS, folder)).rejects.toThrow(/did not finish: 1_one/);
    await rows('UPDATE _prisma_migrations SET rolled_back_at = now()');
    await rows('DROP TABLE one');
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).applied).toEqual(['1_one']);
  });

  it('is done by one of many processes that start at once', async () => {
    write('1_one', 'SELECT pg_sleep(0.1); CREATE TABLE one (id int);');
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, ORDINARY_LIMITS, folder)));
    expect(results.map(({ applied }) => applied.length).sort()).toEqual([0, 0, 0, 0, 1]);
    expect(await rows('SELECT 1 FROM _prisma_migrations')).toHaveLength(1);
  });
});

describe('database functions', () => {
  const returning = (value: number, parameters = '') =>
    `CREATE OR REPLACE FUNCTION f(${parameters}) RETURNS int LANGUAGE sql AS 'SELECT ${value}';`;

  it('are created in any order of dependency, and only those with a changed file are created again', async () => {
    writeFunction('a', "CREATE OR REPLACE FUNCTION a() RETURNS int LANGUAGE sql AS 'SELECT f() + 1';");
    writeFunction('f', returning(1));
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).functions).toEqual(['public/a', 'public/f']);
    expect(await migrate(database.url, ORDINARY_LIMITS, folder)).toEqual(NOTHING);
    writeFunction('f', returning(2));
    expect((await migrationStatus(database.url, folder)).functions).toEqual(['public/f']);
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).functions).toEqual(['public/f']);
    expect(await rows('SELECT a()')).toEqual([{ a: 3 }]);
  });

  it('are dropped when their parameters change or their file goes', async () => {
    writeFunction('f', returning(1));
    await migrate(database.url, ORDINARY_LIMITS, folder);
    writeFunction('f', returning(2, 'p_x int'));
    await migrate(database.url, ORDINARY_LIMITS, folder);
    const made = `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE proname = 'f'`;
    expect(await rows(made)).toEqual([{ name: 'f(integer)' }]);
    rmSync(join(folder, 'functions'), { recursive: true });
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).functions).toEqual(['public/f']);
    expect(await rows(made)).toEqual([]);
  });

  it('create their triggers, and drop them', async () => {
    write('1_one', 'CREATE TABLE one (id int);');
    const trigger = (name: string) =>
      `CREATE OR REPLACE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
       CREATE OR REPLACE TRIGGER ${name} BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION t();`;
    for (const name of ['earlier', 'later']) {
      writeFunction('t', trigger(name));
      await migrate(database.url, ORDINARY_LIMITS, folder);
      expect(await rows('SELECT tgname AS name FROM pg_trigger')).toEqual([{ name }]);
    }
  });

  it('stay unchanged when one of them is faulty, and the error says where', async () => {
    writeFunction('a', returning(1).replace('f()', 'a()'));
    await migrate(database.url, ORDINARY_LIMITS, folder);
    writeFunction('a', returning(2).replace('f()', 'a()'));
    writeFunction('f', 'CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS\n$$SELECT nonsense$$;');
    await expect(migrate(database.url, ORDINARY_LIMITS, folder)).rejects.toThrow(
      /function public\/f failed at line 2: .*nonsense/,
    );
    expect(await rows('SELECT a()')).toEqual([{ a: 1 }]);
    writeFunction('f', returning(1).replace('f()', 'g()'));
    await expect(migrate(database.url, ORDINARY_LIMITS, folder)).rejects.toThrow(
      /public\/f does not make the function/,
    );
    expect(await rows(`SELECT 1 FROM pg_proc WHERE proname = 'g'`)).toEqual([]);
  });

  it('are created again when they are missing, and kept where a newer version migrated the database', async () => {
    write('1_one', '-- Newer functions.');
    writeFunction('f', returning(1));
    await migrate(database.url, ORDINARY_LIMITS, folder);
    await rows('DROP FUNCTION f');
    expect((await migrationStatus(database.url, folder)).functions).toEqual(['public/f']);
    expect((await migrate(database.url, ORDINARY_LIMITS, folder)).functions).toEqual(['public/f']);
    writeFunction('f', returning(2));
    rmSync(join(folder, 'migrations'), { recursive: true });
    expect(await migrate(database.url, ORDINARY_LIMITS, folder)).toEqual({ ...NOTHING, unknown: ['1_one'] });
    expect(await rows('SELECT f()')).toEqual([{ f: 1 }]);
  });

  it('are created by one of many processes that start at once', async () => {
    writeFunction('f', returning(1));
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, ORDINARY_LIMITS, folder)));
    expect(results.map(({ functions }) => functions.length).sort()).toEqual([0, 0, 0, 0, 1]);
  });
});
