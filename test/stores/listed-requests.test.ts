import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ListChoice, readerRow, type RequestFilter } from '../../apps/approvals/listing.ts';
import { lists } from '../../apps/approvals/stores/lists.ts';
import type { Query } from '../../apps/shared/database/query.ts';
import { EMPTY_DIRECTORY } from '../../apps/shared/directory/directory.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { manyEnded } from '../support/many-ended.ts';
import { rowsRead } from '../support/rows-read.ts';

const MANY = 5_000;
const PAGE = 50;
/** Executions after which the database may plan a prepared statement without its values. */
const PLANNED_ONCE = 6;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await manyEnded(database.pool, MANY);
});
afterAll(() => database.drop());

const reader = (roles: string[]) => {
  const self = { issuer: 'i', subject: 'alice', roles };
  return readerRow(
    { self, isPerson: true, mayBreakGlass: false, chain: [], actors: [], standsInFor: [] },
    EMPTY_DIRECTORY,
  );
};

it.each<[string, ListChoice, RequestFilter, string[]]>([
  ['ended', 'ended', {}, ['approver']],
  ['ended, for an overseer', 'ended', {}, ['approver', 'approver-overseer']],
  ['approved', 'approved', {}, ['approver']],
  ['ended, of an agent', 'ended', { agent: 'c' }, ['approver']],
])('a page of the list reads its own rows, not all that are %s', async (_list, choice, filter, roles) => {
  const connection = await database.pool.connect();
  const query: Query = async (name, text, values = []) =>
    (await connection.query({ name, text, values: [...values] })).rows as never;
  try {
    await connection.query('BEGIN');
    for (let n = 0; n <= PLANNED_ONCE; n += 1) {
      const before = await rowsRead(connection, 'approvals');
      const { rows } = await lists(query).list(
        { choice, order: 'newest', filter, reader: reader(roles) },
        { limit: PAGE },
      );
      expect(rows).toHaveLength(PAGE);
      expect((await rowsRead(connection, 'approvals')) - before).toBeLessThan(MANY / 10);
    }
  } finally {
    await connection.query('ROLLBACK');
    connection.release();
  }
});
