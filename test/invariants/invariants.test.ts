import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { casesAgainst, checkInvariants, expectInvariants, INVARIANTS } from './check-invariants.ts';
import { makeHonestCalls, type HonestCalls } from './honest-calls.ts';
import { plantedViolations, type Planted } from './planted.ts';

describe('the invariants, asked of the database', () => {
  let db: TestDatabase;
  let honest: HonestCalls;
  let planted: Readonly<Record<string, Planted>>;
  beforeAll(async () => {
    db = await createTestDatabase();
    honest = await makeHonestCalls(db.pool);
    planted = plantedViolations(honest);
  });
  afterAll(() => db.drop());

  it('all hold while the product goes its own ways', async () => {
    expect(await checkInvariants(db.pool, honest.evidence)).toEqual([]);
  });

  it('have a name each, and a violation to be tried with', () => {
    const names = INVARIANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(Object.keys(planted).sort()).toEqual([...names].sort());
  });

  it.each(INVARIANTS.map((invariant) => [invariant.name, invariant] as const))(
    'find it when not: %s',
    async (name, invariant) => {
      const { sql = [], evidence } = planted[name] ?? {};
      const client = await db.pool.connect();
      try {
        await client.query('BEGIN');
        // No trigger and no foreign key stands in the way of whoever may set this.
        await client.query('SET LOCAL session_replication_role = replica');
        for (const statement of sql) await client.query(statement);
        expect(await casesAgainst(client, invariant, { ...honest.evidence, ...evidence })).not.toEqual([]);
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
  );

  it('are told in words when they do not hold', async () => {
    await expect(expectInvariants(db.pool, { ...honest.evidence, faults: [] })).rejects.toThrow(
      'an outcome is unknown only where a fault fell between the permit and the end',
    );
  });

  it('are not asked where there is no evidence', async () => {
    const asked = INVARIANTS.filter(({ needs }) => needs === undefined);
    expect(asked.length).toBeGreaterThan(20);
    expect(await checkInvariants(db.pool)).toEqual([]);
  });
});
