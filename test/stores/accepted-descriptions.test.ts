import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createAccepted, createDescriptionStore } from '../../activities/stores/accepted-descriptions.ts';
import { createPool } from '../../apps/shared/database/pool.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import {
  asAccepted,
  type AcceptedDescription,
  type DescribedKind,
} from '../../workflows/domain/tools/accepted-descriptions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aTool } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

let db: TestDatabase;
/** The statements that a gateway or a worker may run. */
let own: ReturnType<typeof createPool>;
beforeAll(async () => {
  db = await createTestDatabase();
  own = createPool(db.url, { ...systemTime, max: 2, applicationName: 'enforcement', role: 'countersign_enforcement' });
});
afterAll(async () => {
  await own.end();
  await db.drop();
});
beforeEach(async () => void (await db.pool.query('DELETE FROM gateway.accepted_description')));

const digestOf = (definition: JsonObject) =>
  `sha-256:${createHash('sha256').update(canonicalJson(definition)).digest('hex')}`;
function described(name: string, description: string): UpstreamTool {
  const definition = { name, description, inputSchema: { type: 'object' } };
  return aTool(definition, { digest: digestOf(definition) });
}
const PAY = described('pay', 'Pays — "всё"\u0000.');
const PAY_TWICE = described('pay', 'Pays twice.');
const LOOK = described('look', 'Looks.');
const namesAndDigests = async () => (await createDescriptionStore(own).all()).map(({ name, digest }) => [name, digest]);

describe('items that are seen for the first time', () => {
  it('are accepted as they are described', async () => {
    await createDescriptionStore(own).add([asAccepted(PAY), asAccepted(LOOK)]);
    expect(await createDescriptionStore(own).all()).toEqual([asAccepted(LOOK), asAccepted(PAY)]);
  });

  it('do not replace an accepted one', async () => {
    await createDescriptionStore(own).add([asAccepted(PAY)]);
    await createDescriptionStore(own).add([PAY_TWICE, LOOK].map(asAccepted));
    expect(await namesAndDigests()).toEqual([
      ['bank__look', LOOK.digest],
      ['bank__pay', PAY.digest],
    ]);
  });

  it('are accepted once, by any number of gateways that see them at the same time', async () => {
    const tools = Array.from({ length: 50 }, (_, index) => asAccepted(described(`t${index}`, 'Does.')));
    await Promise.all([createDescriptionStore(own).add(tools), createDescriptionStore(own).add(tools.toReversed())]);
    expect(await namesAndDigests()).toHaveLength(50);
  });
});

describe('items of different kinds', () => {
  const thing = (kind: DescribedKind, name = 'ask'): AcceptedDescription => {
    const definition = { name, description: `A ${kind}.` };
    return { kind, name, upstream: 'bank', upstreamName: name, definition, digest: digestOf(definition) };
  };
  const ALL_KINDS = (['tool', 'prompt', 'resource', 'resource_template'] as const).map((kind) => thing(kind));

  it('may share a name, and are accepted and forgotten one by one', async () => {
    await createDescriptionStore(own).add(ALL_KINDS);
    const changed = { ...thing('prompt'), definition: {}, digest: digestOf({}) };
    await createDescriptionStore(db.pool).accept([changed], [thing('resource')]);
    expect(
      (await createDescriptionStore(own).all()).map(({ kind, definition }) => [kind, definition['description']]),
    ).toEqual([
      ['prompt', undefined],
      ['resource_template', 'A resource_template.'],
      ['tool', 'A tool.'],
    ]);
  });

  it('are of the four kinds, and of no other', async () => {
    const odd = { ...thing('tool'), kind: 'trap' as DescribedKind };
    await expect(createDescriptionStore(own).add([odd])).rejects.toMatchObject({
      constraint: 'accepted_description_kind',
    });
  });
});

describe('of one upstream', () => {
  const MIB = 1024 * 1024;
  const many = (count: number, upstream: string, description = ''): AcceptedDescription[] =>
    Array.from({ length: count }, (_, index) => {
      const name = `${upstream} ${index}`;
      const definition = { name, description };
      return { kind: 'resource', name, upstream, upstreamName: name, definition, digest: digestOf(definition) };
    });
  const count = async (upstream: string) =>
    (await db.pool.query('SELECT FROM gateway.accepted_description WHERE upstream = $1', [upstream])).rowCount;

  it('at most 10,000 items are accepted, and other upstreams are not affected', async () => {
    await createDescriptionStore(own).add([...many(10_050, 'flood'), ...many(2, 'calm')]);
    expect([await count('flood'), await count('calm')]).toEqual([10_000, 2]);
  });

  it('two gateways at a time accept no more than that', async () => {
    const things = many(10_050, 'flood');
    await createDescriptionStore(own).add(things.slice(0, 9_990));
    const first = await db.pool.connect();
    try {
      await first.query('BEGIN');
      await createDescriptionStore(first as unknown as Pool).add(things.slice(9_990, 10_020));
      let isDone = false;
      const second = createDescriptionStore(own)
        .add(things.slice(10_020))
        .finally(() => (isDone = true));
      const waits = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await waitFor(async () => isDone || (await db.pool.query(waits)).rowCount === 1);
      await first.query('COMMIT');
      await second;
    } finally {
      first.release();
    }
    expect(await count('flood')).toBe(10_000);
  });

  it('at most 16 MiB of descriptions are accepted, the first that come', async () => {
    const things = many(20, 'flood', 'x'.repeat(MIB - 100));
    await createDescriptionStore(own).add(things);
    expect(await count('flood')).toBe(16);
    expect((await createDescriptionStore(own).all()).map(({ name }) => name)).toContain('flood 0');
    const { rows } = await db.pool.query(
      'SELECT sum(octet_length(definition))::int AS bytes FROM gateway.accepted_description',
    );
    expect(rows[0].bytes).toBeLessThanOrEqual(16 * MIB);
  });

  it('the operator may accept more', async () => {
    await createDescriptionStore(own).add(many(10_000, 'flood'));
    const [one] = many(1, 'flood beyond');
    await createDescriptionStore(own).add([{ ...(one as AcceptedDescription), upstream: 'flood' }]);
    expect(await count('flood')).toBe(10_000);
    await createDescriptionStore(db.pool).accept([{ ...(one as AcceptedDescription), upstream: 'flood' }], []);
    expect(await count('flood')).toBe(10_001);
  });
});

describe('accepted items', () => {
  it('replace the accepted ones, and missing items are forgotten', async () => {
    await createDescriptionStore(own).add([PAY, LOOK].map(asAccepted));
    await createDescriptionStore(db.pool).accept([asAccepted(PAY_TWICE)], [asAccepted(LOOK)]);
    expect(await namesAndDigests()).toEqual([['bank__pay', PAY_TWICE.digest]]);
  });

  it('cannot be accepted by a gateway or a worker', async () => {
    await createDescriptionStore(own).add([asAccepted(PAY)]);
    const denied = { code: '42501' };
    await expect(createDescriptionStore(own).accept([asAccepted(PAY_TWICE)], [])).rejects.toMatchObject(denied);
    await expect(own.query('DELETE FROM gateway.accepted_description')).rejects.toMatchObject(denied);
    await expect(own.query(`UPDATE gateway.accepted_description SET upstream = 'shop'`)).rejects.toMatchObject(denied);
    expect(await namesAndDigests()).toEqual([['bank__pay', PAY.digest]]);
  });
});

it('have the digest under which they are accepted', async () => {
  const altered = { ...asAccepted(PAY), digest: LOOK.digest };
  await expect(createDescriptionStore(own).add([altered])).rejects.toMatchObject({
    constraint: 'accepted_description_digest',
  });
  await createDescriptionStore(own).add([asAccepted(PAY)]);
  const alter = `UPDATE gateway.accepted_description SET definition = '{}'`;
  await expect(db.pool.query(alter)).rejects.toMatchObject({ constraint: 'accepted_description_digest' });
});

it('take effect at once for a reader of the tool', async () => {
  const accepted = createAccepted(own);
  expect(await accepted.among([PAY, LOOK])).toEqual([]);
  await createDescriptionStore(own).add([PAY, LOOK].map(asAccepted));
  expect(await accepted.among([PAY_TWICE, LOOK, PAY])).toEqual([LOOK, PAY]);
  await createDescriptionStore(db.pool).accept([asAccepted(PAY_TWICE)], []);
  expect(await accepted.among([PAY, PAY_TWICE])).toEqual([PAY_TWICE]);
});
