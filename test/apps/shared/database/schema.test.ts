import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
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

/** How the Prisma schema names the types of Postgres that the tables use. */
const PRISMA_TYPES: Readonly<Record<string, string>> = {
  ...{ text: 'String', varchar: 'String', uuid: 'String', _text: 'String[]', bool: 'Boolean', xid8: 'Unsupported' },
  ...{ int2: 'Int', int4: 'Int', oid: 'Int', int8: 'BigInt', timestamp: 'DateTime', timestamptz: 'DateTime' },
  ...{ json: 'Json', jsonb: 'Json' },
};
const SCALAR =
  /^ {2}(?<field>\w+) +(?<type>(?:String|Boolean|Int|BigInt|DateTime|Json|Unsupported)(?:\[\])?)(?:\("\w+"\))?(?<optional>\?)?/;

/** The columns that the models of the Prisma schema describe, in snake case. */
function columnsOfModels(): string[] {
  const models = readFileSync(packagePath('prisma', 'schema.prisma'), 'utf8').match(/^model [^]*?^}/gm) ?? [];
  return models.flatMap((model) => {
    const [, table] = /@@map\("(\w+)"\)/.exec(model) ?? [];
    const [, schema] = /@@schema\("(\w+)"\)/.exec(model) ?? [];
    return model.split('\n').flatMap((line) => {
      const { field = '', type, optional = '' } = SCALAR.exec(line)?.groups ?? {};
      const column = field.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
      return type === undefined ? [] : [`${schema}.${table}.${column} ${type}${optional}`];
    });
  });
}

describe('the Prisma schema', () => {
  it('describes each column with its type, so that the types of rows are true', async () => {
    const { rows } = await db.pool.query<{ name: string; type: string; optional: string }>(
      // It has no word for a list that may be missing.
      `SELECT table_schema || '.' || table_name || '.' || column_name AS name, udt_name AS type,
         CASE WHEN is_nullable = 'YES' AND data_type <> 'ARRAY' THEN '?' ELSE '' END AS optional
       FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
       WHERE table_schema = ANY ($1::text[]) AND table_type = 'BASE TABLE'`,
      [SCHEMAS],
    );
    const columns = rows.map(({ name, type, optional }) => `${name} ${PRISMA_TYPES[type] ?? type}${optional}`);
    expect(columnsOfModels().sort()).toEqual(columns.sort());
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
