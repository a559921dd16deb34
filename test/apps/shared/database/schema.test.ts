import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packagePath } from '../../../../apps/shared/config/files.ts';
import { readFunctions, readMigrations } from '../../../../apps/shared/database/functions.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { functionsOf, rolesOf, tablesOf, transitionsOf } from '../../../support/schema-text.ts';

const SCHEMAS = ['gateway', 'approvals', 'pdp', 'audit'];

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe('a fresh install', () => {
  it.each(SCHEMAS)('has these tables in the schema %s', async (schema) => {
    expect(await tablesOf(db.pool, schema)).toMatchSnapshot();
  });

  it.each(SCHEMAS)('has these functions in the schema %s', async (schema) => {
    expect(await functionsOf(db.pool, schema)).toMatchSnapshot();
  });

  it('has these roles', async () => {
    expect(await rolesOf(db.pool)).toMatchSnapshot();
  });

  it('knows these transitions of a gated call', async () => {
    expect(await transitionsOf(db.pool)).toMatchSnapshot();
  });

  it('has one function for each file, and no others', async () => {
    const { rows } = await db.pool.query<{ name: string }>(
      `SELECT n.nspname || '/' || p.proname AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = ANY ($1::text[])`,
      [SCHEMAS],
    );
    const files = readFunctions(packagePath('prisma')).map(({ name }) => name);
    expect(rows.map(({ name }) => name).sort()).toEqual(files.sort());
  });
});

describe('the schema files', () => {
  it('give every value its own parameter, and never pass parameters as a document', () => {
    const files = readFunctions(packagePath('prisma'));
    expect(files.filter(({ script }) => /\bp jsonb\b/.test(script)).map(({ name }) => name)).toEqual([]);
  });

  it('name the columns of every insert', () => {
    const files = [...readMigrations(packagePath('prisma')), ...readFunctions(packagePath('prisma'))];
    const nameless = files.filter(({ script }) => /\bINSERT INTO [\w.]+\s+(VALUES|SELECT)\b/.test(script));
    expect(nameless.map(({ name }) => name)).toEqual([]);
    expect(files.some(({ script }) => script.includes('INSERT INTO'))).toBe(true);
  });
});
