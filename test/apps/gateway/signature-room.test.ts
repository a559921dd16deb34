import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { UpstreamPool } from '../../../activities/clients/upstream/pool.ts';
import { createDescriptionStore } from '../../../activities/stores/accepted-descriptions.ts';
import { offeredBy } from '../../../apps/gateway/extensions/signature.ts';
import { createAcceptedDescriptions } from '../../../apps/gateway/offers/accepted-descriptions.ts';
import { createPool } from '../../../apps/shared/database/pool.ts';
import { asAccepted, type DescriptionStore } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { startChangingUpstream } from '../../support/changing-upstream.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { openUpstreams } from '../../support/upstreams.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const RESOURCES = 30;
/** Room for the tool, the prompt and eight of the others. */
const ROOM = 10;

let db!: TestDatabase;
let own!: ReturnType<typeof createPool>;
let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
let upstreams!: UpstreamPool;
beforeAll(async () => {
  db = await createTestDatabase();
  own = createPool(db.url, { ...systemTime, max: 2, applicationName: 'gateway', role: 'countersign_enforcement' });
  bank = await startChangingUpstream({
    ...{ description: 'Pays.', properties: {}, annotations: {} },
    items: { prompt: 'Asks.', resource: 'A paper.', template: 'A drawer.', resources: RESOURCES },
  });
  upstreams = openUpstreams({ bank: { url: bank.url } });
});
afterAll(async () => {
  await upstreams.close();
  await bank.close();
  await own.end();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query('DELETE FROM gateway.accepted_description');
  await db.pool.query(
    `INSERT INTO gateway.accepted_description (kind, name, upstream, upstream_name, definition, digest)
     SELECT 'resource', 'old://' || n, 'bank', 'old://' || n, '{}', 'sha-256:' || encode(sha256('{}'), 'hex')
     FROM generate_series(1, $1) AS n`,
    [10_000 - ROOM],
  );
});

function aSignature() {
  const lines: Record<string, unknown>[] = [];
  let added = 0;
  const stored = createDescriptionStore(own);
  const store: DescriptionStore = {
    all: stored.all,
    add(things) {
      added += 1;
      return stored.add(things);
    },
  };
  const signature = createAcceptedDescriptions({
    ...systemTime,
    ...{ store, pinning: 'first-seen', offered: () => offeredBy(upstreams), listenUrl: db.url },
    settings: { mcpServers: { bank: {}, shop: {} }, tools: {} },
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
  });
  return { signature, lines, added: () => added };
}

describe('an upstream with more items than the limit', () => {
  it('keeps the first items, tools first, with one log line and no write to the database', async () => {
    const { signature, lines, added } = aSignature();
    const offered = await offeredBy(upstreams);
    expect(offered).toHaveLength(3 + RESOURCES);
    for (let time = 0; time < 3; time += 1) {
      expect(await signature.among(offered)).toEqual(offered.slice(0, ROOM));
      expect(await signature.among(offered.slice(ROOM))).toEqual([]);
    }
    expect(lines).toEqual([
      expect.objectContaining({
        level: 50,
        alarm: 'accepted_descriptions_full',
        upstream: 'bank',
        leftOut: 3 + RESOURCES - ROOM,
      }),
    ]);
    expect(added()).toBe(1);
    const { items, tools } = await signature.contents();
    expect([tools.length, items.length]).toEqual([1, 9_999]);
  });

  it('takes no room from another one', async () => {
    const { signature } = aSignature();
    const offered = await offeredBy(upstreams);
    const ofShop = offered.map((thing) => ({ ...thing, name: `shop ${thing.name}`, upstream: 'shop' }));
    expect(await signature.among([...offered, ...ofShop])).toHaveLength(ROOM + ofShop.length);
  });

  it('has room again when the operator has forgotten removed items', async () => {
    const { signature } = aSignature();
    const offered = await offeredBy(upstreams);
    await signature.among(offered);
    const gone = (await createDescriptionStore(db.pool).all())
      .filter(({ name }) => name.startsWith('old://'))
      .slice(0, 100);
    await createDescriptionStore(db.pool).accept([], gone);
    const reading = signature.start();
    try {
      await waitFor(async () => (await signature.among(offered)).length === offered.length);
    } finally {
      await reading.stop();
    }
  });

  it('reports changed items in one log line for each kind, once', async () => {
    const { signature, lines } = aSignature();
    const offered = (await offeredBy(upstreams)).slice(0, ROOM);
    await signature.among(offered);
    const changed = offered.map((thing) => ({ ...thing, digest: 'sha-256:0' }));
    for (let time = 0; time < 2; time += 1) expect(await signature.among(changed)).toEqual([]);
    const kinds = offered.map((thing) => asAccepted(thing).kind);
    expect(lines.map(({ alarm, count }) => [alarm, count])).toEqual(
      [...new Set(kinds)].map((kind) => [`${kind}_not_accepted`, kinds.filter((one) => one === kind).length]),
    );
  });
});
