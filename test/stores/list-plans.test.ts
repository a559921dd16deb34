import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createBreakGlassStore } from '../../apps/approvals/stores/break-glass.store.ts';
import { ORDERS } from '../../apps/shared/http/list-cursor.ts';
import { LIST_CHOICES, readerRow } from '../../apps/approvals/listing.ts';
import { EMPTY_DIRECTORY } from '../../apps/shared/directory/directory.ts';
import { anApprover, newAccessRequest } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The index in the order of each unbounded list. */
const INDEXES = {
  open: 'access_request_open_by_age',
  ended: 'access_request_decided',
  unreviewed: 'break_glass_unreviewed',
} as const;

describe('the lists of the inbox', () => {
  let database: TestDatabase;
  const sent: Statement[] = [];
  let pool: Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = Object.assign(Object.create(database.pool) as Pool, {
      query: (statement: Statement) => {
        sent.push(statement);
        return database.pool.query(statement.text, [...statement.values]);
      },
    });
  });
  afterAll(() => database.drop());

  const who = {
    self: anApprover('alice'),
    standsInFor: [],
    isPerson: true,
    mayBreakGlass: false,
    chain: [],
    actors: [],
  };
  const reader = readerRow(who, EMPTY_DIRECTORY);
  const page = {
    cursor: { towards: 'next', at: '2026-01-01T00:00:00.000000Z', id: 'x' },
    limit: 50,
  } as const;

  /** How Postgres would read the pages with so many rows that only an index helps. */
  async function plansOf(read: () => Promise<unknown>): Promise<string[]> {
    sent.length = 0;
    await read();
    const client = await database.pool.connect();
    try {
      await client.query(
        'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off',
      );
      const plans: string[] = [];
      for (const { text, values } of sent.filter((one) => one.text.includes('ORDER BY'))) {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS off) ${text}`, [...values]);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      await client.query('ROLLBACK');
      return plans;
    } finally {
      client.release();
    }
  }

  /** The index is used, and no row of the list is sorted. */
  const inOrderOf = (index: string) => new RegExp(`^(?![^]*Sort Key: [rg]\\.)[^]*using ${index} on`);

  const lists = LIST_CHOICES.flatMap((choice) => ORDERS.map((order) => ({ choice, order })));
  it.each(lists)('of requests are read in the order of an index: $choice, the $order first', async (list) => {
    const plans = await plansOf(() => createAccessRequestStore(pool).list({ ...list, filter: {}, reader }, page));
    const isOpen = list.choice === 'pending' || list.choice === 'yours';
    expect(plans).not.toEqual([]);
    for (const plan of plans) expect(plan).toMatch(inOrderOf(INDEXES[isOpen ? 'open' : 'ended']));
  });

  it('of the same agent are read in the order of an index', async () => {
    const requester = { issuer: 'i', subject: 'paul', clientId: 'host' };
    const plans = await plansOf(() =>
      createAccessRequestStore(pool).sameAgent(newAccessRequest({ requester }), reader),
    );
    const used = (plan: string) => /CTE latest\n[^]*?using (\S+) on[^]*?Index Cond: (.*)/.exec(plan)?.slice(1);
    expect(plans.map(used)).toEqual([
      ['access_request_by_agent', expect.stringMatching(/requester_client = .*tool = .*ended_at IS NOT NULL/)],
      ['access_request_open_by_agent', expect.stringMatching(/requester_client = /)],
    ]);
    for (const plan of plans) expect(plan).not.toMatch(/Sort Key: a\./);
  });

  it('of emergency grants are read in the order of an index', async () => {
    const plans = await plansOf(() => createBreakGlassStore(pool).unreviewed(reader, page));
    expect(plans).not.toEqual([]);
    for (const plan of plans) expect(plan).toMatch(inOrderOf(INDEXES.unreviewed));
  });
});
