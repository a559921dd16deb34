import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAcceptedTools, createToolPins } from '../../activities/stores/tool-pins.ts';
import { createPool } from '../../apps/shared/database/pool.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../workflows/domain/ports.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aTool } from '../support/tools.ts';

let db: TestDatabase;
/** What a gateway or a worker may do. */
let own: ReturnType<typeof createPool>;
beforeAll(async () => {
  db = await createTestDatabase();
  own = createPool(db.url, { max: 2, applicationName: 'enforcement', role: 'countersign_enforcement' });
});
afterAll(async () => {
  await own.end();
  await db.drop();
});
beforeEach(async () => void (await db.pool.query('DELETE FROM gateway.pinned_tool')));

const digestOf = (definition: JsonObject) =>
  `sha-256:${createHash('sha256').update(canonicalJson(definition)).digest('hex')}`;
function described(name: string, description: string): UpstreamTool {
  const definition = { name, description, inputSchema: { type: 'object' } };
  return aTool(definition, { digest: digestOf(definition) });
}
const PAY = described('pay', 'Pays — "всё"\u0000.');
const PAY_TWICE = described('pay', 'Pays twice.');
const LOOK = described('look', 'Looks.');
const namesAndDigests = async () => (await createToolPins(own).all()).map(({ name, digest }) => [name, digest]);

describe('tools that are seen for the first time', () => {
  it('are pinned as they are described', async () => {
    await createToolPins(own).add([PAY, LOOK]);
    const { facts: _look, ...look } = LOOK;
    const { facts: _pay, ...pay } = PAY;
    expect(await createToolPins(own).all()).toEqual([look, pay]);
  });

  it('do not take the place of one that is pinned', async () => {
    await createToolPins(own).add([PAY]);
    await createToolPins(own).add([PAY_TWICE, LOOK]);
    expect(await namesAndDigests()).toEqual([
      ['bank__look', LOOK.digest],
      ['bank__pay', PAY.digest],
    ]);
  });

  it('are pinned once, whichever gateways see them at the same time', async () => {
    const tools = Array.from({ length: 50 }, (_, index) => described(`t${index}`, 'Does.'));
    await Promise.all([createToolPins(own).add(tools), createToolPins(own).add(tools.toReversed())]);
    expect(await namesAndDigests()).toHaveLength(50);
  });
});

describe('what the operator accepts', () => {
  it('takes the place of what was pinned, and what is gone is forgotten', async () => {
    await createToolPins(own).add([PAY, LOOK]);
    await createToolPins(db.pool).accept([PAY_TWICE], [LOOK.name]);
    expect(await namesAndDigests()).toEqual([['bank__pay', PAY_TWICE.digest]]);
  });

  it('cannot be accepted by a gateway or a worker', async () => {
    await createToolPins(own).add([PAY]);
    const denied = { code: '42501' };
    await expect(createToolPins(own).accept([PAY_TWICE], [])).rejects.toMatchObject(denied);
    await expect(own.query('DELETE FROM gateway.pinned_tool')).rejects.toMatchObject(denied);
    await expect(own.query(`UPDATE gateway.pinned_tool SET upstream = 'shop'`)).rejects.toMatchObject(denied);
    expect(await namesAndDigests()).toEqual([['bank__pay', PAY.digest]]);
  });
});

it('what is pinned under a digest has that digest', async () => {
  const altered = { ...PAY, digest: LOOK.digest };
  await expect(createToolPins(own).add([altered])).rejects.toMatchObject({ constraint: 'pinned_tool_digest' });
  await createToolPins(own).add([PAY]);
  const alter = `UPDATE gateway.pinned_tool SET definition = '{}'`;
  await expect(db.pool.query(alter)).rejects.toMatchObject({ constraint: 'pinned_tool_digest' });
});

it('who looks at a tool finds what is accepted in that moment', async () => {
  const accepted = createAcceptedTools(own);
  expect(await accepted.among([PAY, LOOK])).toEqual([]);
  await createToolPins(own).add([PAY, LOOK]);
  expect(await accepted.among([PAY_TWICE, LOOK, PAY])).toEqual([LOOK, PAY]);
  await createToolPins(db.pool).accept([PAY_TWICE], []);
  expect(await accepted.among([PAY, PAY_TWICE])).toEqual([PAY_TWICE]);
});
