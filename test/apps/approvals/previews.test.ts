import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { wordsOf } from '../../support/pages.ts';

const service = new ApprovalsUnderTest();
let alice: Browser;
beforeAll(async () => {
  await service.start();
  alice = await service.signIn('alice');
});
afterAll(() => service.stop());

const text = async (browser: Browser, path: string) => (await browser.go(path)).text();

describe('a preview of the call', () => {
  const DIGEST = `sha-256:${'ab'.repeat(32)}`;
  const said = { is_error: false, digest: DIGEST, bytes: 90_000, is_cut: false };
  const preview = (of: object) => ({ tool: 'files__edit', arguments: { dryRun: true }, taken_at: TAKEN, ...of });
  const TAKEN = '2026-11-21T16:51:00.000Z';
  const open = (sent: unknown, more: { subject?: string; agent?: string } = {}) => {
    const { subject = 'agent', agent = subject } = more;
    const source = { generation: 1, preview: sent };
    const client = { id: 'mcp-gateway', actor: { id: agent, type: 'ai_agent' }, source };
    return service.open({ ...more, body: { client } });
  };

  it('is shown apart from the call, as the word of the server, with its time and digest', async () => {
    const { id } = await open(preview({ ...said, parts: [{ text: '-two\n+2nd' }, { type: 'image', characters: 9 }] }));
    const page = await text(alice, `/requests/${id}`);
    const words = wordsOf(page);
    expect(page).toMatch(/<section class="card" aria-labelledby="preview"><h2 id="preview">Preview</);
    expect(words).toMatch(/the server of the tool says would happen.*was not checked/s);
    for (const shown of [
      '-two\n+2nd',
      'files__edit with {&quot;dryRun&quot;:true}',
      '21 Nov 2026, 16:51 UTC',
      DIGEST,
      'image',
    ])
      expect(words).toContain(shown);
    expect(words).not.toMatch(/beginning only|Look closely/);
    const { body } = await service.asPerson('alice', `/requests/${id}`);
    expect(body).toMatchObject({ request: { preview: { tool: 'files__edit', digest: DIGEST } } });
  });

  it('is text only, marks what deceives, and says what is cut', async () => {
    const parts = [{ text: '<script>alert(1)</script>\n\u202e\u200b\u0000\u0430cct </pre><h2>Approved</h2>' }];
    const { id } = await open(preview({ ...said, is_error: true, is_cut: true, parts }));
    const page = await text(alice, `/requests/${id}`);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/[\u202e\u200b]|<h2>Approved/);
    for (const shown of [
      '\\u202e',
      '\\u200b',
      '\\u0000',
      'Look closely.',
      'This is the beginning only.',
      '90,000 bytes',
    ])
      expect(page).toContain(shown);
    expect(page).toMatch(/answered with an error.*<mark[^>]*>\u0430cct<\/mark>/s);
  });

  it('says why there is none', async () => {
    const { id } = await open(preview({ fault: 'late' }));
    expect(wordsOf(await text(alice, `/requests/${id}`))).toMatch(/No preview\. The server gave none in time\./);
  });

  it('is not shown to a requester who cannot decide', async () => {
    const { id } = await open(preview({ ...said, parts: [{ text: 'canary' }] }), { subject: 'alice' });
    const page = await text(alice, `/requests/${id}`);
    expect(page).toContain(id);
    expect(page).not.toMatch(/canary|aria-labelledby="preview"/);
    expect(JSON.stringify((await service.asPerson('alice', `/requests/${id}`)).body)).not.toContain('canary');
    expect(await text(await service.signIn('bob'), `/requests/${id}`)).toContain('canary');
  });

  it.each([
    ['another thing of a foreign client', 'see attachment'],
    ['neither an answer nor a reason', preview({ parts: [{ text: 'canary' }] })],
    ['both', preview({ ...said, fault: 'late' })],
    ['more text than one page should draw', preview({ ...said, parts: [{ text: 'canary'.repeat(20_000) }] })],
  ])('is ignored if it is %s', async (_what, sent) => {
    const { id } = await open(sent);
    expect(await text(alice, `/requests/${id}`)).not.toMatch(/canary|aria-labelledby="preview"/);
  });
});
