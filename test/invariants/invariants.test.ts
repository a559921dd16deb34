import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { casesAgainst, checkInvariants, expectInvariants, INVARIANTS } from './check-invariants.ts';
import { makeHonestCalls, type HonestCalls } from './honest-calls.ts';
import { plantedViolations, type Planted } from './planted.ts';

describe('the invariants, checked on the database', () => {
  let db: TestDatabase;
  let honest: HonestCalls;
  let planted: Readonly<Record<string, Planted>>;
  beforeAll(async () => {
    db = await createTestDatabase();
    honest = await makeHonestCalls(db.pool);
    planted = plantedViolations(honest);
  });
  afterAll(() => db.drop());

  it('all hold while the product takes its own ways', async () => {
    expect(await checkInvariants(db.pool, honest.evidence)).toEqual([]);
  });

  it('have a name each, and one planted violation', () => {
    const names = INVARIANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(Object.keys(planted).sort()).toEqual([...names].sort());
  });

  it.each(INVARIANTS.map((invariant) => [invariant.name, invariant] as const))(
    'find the planted violation of: %s',
    async (name, invariant) => {
      const { sql = [], evidence } = planted[name] ?? {};
      const client = await db.pool.connect();
      try {
        await client.query('BEGIN');
        // With this setting, no trigger and no foreign key prevents the planted change.
        await client.query('SET LOCAL session_replication_role = replica');
        for (const statement of sql) await client.query(statement);
        expect(await casesAgainst(client, invariant, { ...honest.evidence, ...evidence })).not.toEqual([]);
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
  );

  it('are named in the error when they do not hold', async () => {
    await expect(expectInvariants(db.pool, { ...honest.evidence, faults: [] })).rejects.toThrow(
      'an outcome is unknown only where a fault fell between the permit and the end',
    );
  });

  it('are skipped where there is no evidence', async () => {
    const asked = INVARIANTS.filter(({ needs }) => needs === undefined);
    expect(asked.length).toBeGreaterThan(20);
    expect(await checkInvariants(db.pool)).toEqual([]);
  });
});
