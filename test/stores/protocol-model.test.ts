import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { operationsOn, rowTree, type Branch } from '../model/operations.ts';
import { apply, type Row } from '../model/row.ts';
import { createStoredRow } from '../model/stored-row.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the functions of the database', () => {
  let db: TestDatabase;
  let client: PoolClient;
  beforeAll(async () => {
    db = await createTestDatabase();
    client = await db.pool.connect();
    await client.query('BEGIN');
  });
  afterAll(async () => {
    await client.query('ROLLBACK');
    client.release();
    await db.drop();
  });

  it('answer and do what the model says, in every state that can be reached', async () => {
    const stored = createStoredRow(client);
    let tried = 0;
    let turn = 0;
    /** Everything is tried in the first generation, and in the second all that leads on, and of the rest one in ten. */
    const isTried = ({ generation }: Row) => generation === 1 || turn++ % 10 === 0;

    async function explore({ row, next }: Branch, depth: number): Promise<void> {
      const savepoint = `at_${depth}`;
      await client.query(`SAVEPOINT ${savepoint}`);
      for (const operation of operationsOn(row)) {
        const further = next.find((one) => JSON.stringify(one.operation) === JSON.stringify(operation));
        if (further === undefined && !isTried(row)) continue;
        const expected = apply(row, operation);
        const answer = await stored.perform(operation);
        const found = await stored.read(further === undefined ? savepoint : undefined);
        tried += 1;
        // Cheaper than an assertion in the good case, of which there are thousands.
        if (answer !== expected.answer || JSON.stringify(found) !== JSON.stringify(expected.row))
          expect({ row, operation, answer, found }).toEqual({
            row,
            operation,
            answer: expected.answer,
            found: expected.row,
          });
        if (further === undefined) continue;
        await explore(further.branch, depth + 1);
        await client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
      }
    }
    const { root, rows } = rowTree();
    await explore(root, 0);
    expect(rows).toBeGreaterThan(1_000);
    expect(tried).toBeGreaterThan(6_000);
  });
});
