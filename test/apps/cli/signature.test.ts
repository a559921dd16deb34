import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createDescriptionStore } from '../../../activities/stores/accepted-descriptions.ts';
import { startChangingUpstream, TEMPLATE, type Description } from '../../support/changing-upstream.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { Desk } from './run.ts';

const ORIGINAL: Description = { description: 'Pays.', properties: {}, annotations: {} };
const CHANGED: Description = { ...ORIGINAL, description: 'Pays \u202Etwice\n.' };
/** No server listens there. */
const AWAY = { url: 'http://127.0.0.1:1/mcp' };

let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
let db!: TestDatabase;
beforeAll(async () => {
  bank = await startChangingUpstream(ORIGINAL);
  db = await createTestDatabase();
});
afterAll(async () => {
  await bank.close();
  await db.drop();
});
beforeEach(async () => {
  bank.described = ORIGINAL;
  await db.pool.query('DELETE FROM gateway.accepted_description');
});

function run(args: readonly string[], of: { answer?: string; servers?: object } = {}) {
  const desk = new Desk({ mcpServers: { bank: { url: bank.url }, ...of.servers } });
  const answer = of.answer === undefined ? {} : { answer: of.answer };
  return desk.run(['signature', ...args], { env: { DATABASE_URL: db.url }, ...answer });
}
const accepted = async () =>
  (await createDescriptionStore(db.pool).all()).map(({ name, definition }) => [name, definition['description']]);

describe('countersign signature', () => {
  it('diff shows new tools in full, and fails', async () => {
    const { code, out, err } = await run(['diff']);
    expect([code, err]).toEqual([
      1,
      'countersign: changed: 1; review the list above, then run `countersign signature accept`',
    ]);
    expect(out.split('\n')).toEqual(
      expect.arrayContaining(['new     tool bank__pay', '  + name: "pay"', '  + description: "Pays."']),
    );
    expect(await accepted()).toEqual([]);
  });

  it('accept takes the current description, and diff then finds no change', async () => {
    expect(await run(['accept', 'bank__pay', '--yes'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Accepted: bank__pay\nSignature: sha-256:[0-9a-f]{64}$/),
    });
    expect(await accepted()).toEqual([['bank__pay', 'Pays.']]);
    expect(await run(['diff'])).toMatchObject({ code: 0, out: 'All descriptions are as accepted.' });
  });

  it('diff shows each change before and after, without control characters', async () => {
    await run(['accept', '--all', '--yes']);
    bank.described = CHANGED;
    const { code, out } = await run(['diff']);
    expect(code).toBe(1);
    expect(out).toBe(
      ['changed tool bank__pay', '  - description: "Pays."', '  + description: "Pays \\u{202e}twice\\n."'].join('\n'),
    );
  });

  it('accept asks for a confirmation, and accepts exactly the tools that it showed', async () => {
    await run(['accept', '--all', '--yes']);
    bank.described = CHANGED;
    const refused = await run(['accept', 'bank__pay'], { answer: 'n' });
    expect([refused.code, await accepted()]).toEqual([1, [['bank__pay', 'Pays.']]]);
    const { code, err, questions } = await run(['accept', 'bank__pay'], { answer: 'y' });
    expect([code, await accepted()]).toEqual([0, [['bank__pay', CHANGED.description]]]);
    expect(err).toContain('  + description: "Pays \\u{202e}twice\\n."');
    expect(questions).toEqual([expect.stringContaining('Go on?')]);
  });

  it('accept refuses to run without a name, with an unknown name, or without a confirmation', async () => {
    expect(await run(['accept'])).toMatchObject({ code: 2 });
    expect(await run(['accept', 'bank__pay', '--all', '--yes'])).toMatchObject({ code: 2 });
    expect(await run(['accept', 'bank__pay', 'bank__other', '--yes'])).toMatchObject({ code: 2 });
    expect(await run(['accept', 'bank__pay'])).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect(await accepted()).toEqual([]);
  });

  it('accept forgets removed tools, except those of an upstream that does not answer', async () => {
    const [pay] = await payAfterAccept();
    const away = { ...pay, name: 'shop__sell', upstream: 'shop' };
    const gone = { ...pay, name: 'bank__lend', upstreamName: 'lend' };
    const removed = { ...pay, name: 'old__look', upstream: 'old' };
    await createDescriptionStore(db.pool).add([away, gone, removed]);
    const { code, err, out } = await run(['accept', '--all', '--yes', '--json'], { servers: { shop: AWAY } });
    expect([code, err]).toEqual([0, expect.stringContaining('shop cannot be reached')]);
    expect(JSON.parse(out)).toMatchObject({
      accepted: [
        { change: 'gone', kind: 'tool', name: 'bank__lend' },
        { change: 'gone', kind: 'tool', name: 'old__look' },
      ],
    });
    expect((await accepted()).map(([name]) => name)).toEqual(['bank__pay', 'shop__sell']);
  });

  it('covers prompts, resources and templates as well, by kind', async () => {
    bank.described = { ...ORIGINAL, items: { prompt: 'Asks.', resource: 'A paper.', template: 'A drawer.', size: 5 } };
    const { code, out } = await run(['diff']);
    expect(code).toBe(1);
    const things = ['prompt bank__ask', 'tool bank__pay', 'resource desk://1', `resource_template ${TEMPLATE}`];
    expect(out.split('\n')).toEqual(expect.arrayContaining(things.map((thing) => `new     ${thing}`)));
    expect(out).not.toContain('size');
    expect(await run(['accept', '--all', '--kind', 'prompt', '--yes'])).toMatchObject({
      out: expect.stringMatching(/^Accepted: bank__ask\n/),
    });
    await run(['accept', 'desk://1', TEMPLATE, '--yes']);
    expect((await accepted()).map(([name]) => name)).toEqual(['bank__ask', 'desk://1', TEMPLATE]);
    bank.described = { ...ORIGINAL, items: { prompt: 'Asks.', resource: 'Papers.', template: 'A drawer.', size: 9 } };
    const changed = await run(['diff', '--json']);
    expect((JSON.parse(changed.out) as { drift: object[] }).drift).toMatchObject([
      { change: 'new', kind: 'tool', name: 'bank__pay' },
      { change: 'changed', kind: 'resource', name: 'desk://1', members: ['description'] },
    ]);
    expect(await run(['accept', '--kind', 'all', '--all', '--yes'])).toMatchObject({ code: 2 });
  });

  it('accept asks for the kind when a name belongs to several kinds', async () => {
    const [pay] = await payAfterAccept();
    const gone = { ...pay, name: 'old__look', upstream: 'old' };
    await createDescriptionStore(db.pool).add([gone, { ...gone, kind: 'prompt' }]);
    const asked = await run(['accept', 'old__look', '--yes']);
    expect(asked).toMatchObject({ code: 2, err: expect.stringContaining('say which with --kind') });
    expect(await accepted()).toHaveLength(3);
    expect(await run(['accept', 'old__look', '--kind', 'prompt', '--yes'])).toMatchObject({ code: 0 });
    expect((await createDescriptionStore(db.pool).all()).map(({ kind, name }) => [kind, name])).toEqual([
      ['tool', 'bank__pay'],
      ['tool', 'old__look'],
    ]);
  });

  it('accept keeps a kind that its upstream no longer lists, and says so', async () => {
    const [pay] = await payAfterAccept();
    await createDescriptionStore(db.pool).add([{ ...pay, kind: 'prompt', name: 'bank__ask', upstreamName: 'ask' }]);
    const { code, err } = await run(['accept', '--all', '--yes']);
    expect([code, err]).toEqual([0, expect.stringMatching(/^bank cannot be reached, or lists no prompts/)]);
    expect((await accepted()).map(([name]) => name)).toEqual(['bank__ask', 'bank__pay']);
  });

  it('show prints the whole document and its digest', async () => {
    await run(['accept', '--all', '--yes']);
    const { out } = await run(['show', '--json']);
    const { digest, signature } = JSON.parse(out) as { digest: string; signature: { tools: object[] } };
    expect(signature).toMatchObject({
      tools: [{ name: 'bank__pay', description: 'Pays.' }, { name: 'get_request_status' }, { name: 'request_access' }],
      prompts: [],
      resources: [{ uri: 'ui://countersign/held-call' }],
    });
    // Canonical JSON orders members by name.
    const text = JSON.stringify(signature);
    expect(digest).toBe(`sha-256:${createHash('sha256').update(text).digest('hex')}`);
    const lines = (await run(['show'])).out.split('\n');
    expect(lines[0]).toMatch(/^KIND +NAME +UPSTREAM +DESCRIPTION$/);
    expect(lines.slice(1)).toEqual([expect.stringMatching(/^tool +bank__pay +bank +sha-256:/), `Signature: ${digest}`]);
  });
});

async function payAfterAccept() {
  await run(['accept', '--all', '--yes']);
  const [pay] = await createDescriptionStore(db.pool).all();
  if (pay === undefined) throw new Error('nothing was accepted');
  return [pay] as const;
}
