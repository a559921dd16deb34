import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { wordsOf } from '../../support/pages.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Webhook } from 'standardwebhooks';

const service = new ApprovalsUnderTest();
let alice: Browser;
beforeAll(async () => {
  await service.start();
  alice = await service.signIn('alice');
});
afterAll(() => service.stop());

const text = async (browser: Browser, path: string) => (await browser.go(path)).text();

const DIGEST = `sha-256:${'ab'.repeat(32)}`;
const TAKEN = '2026-11-21T16:51:00.000Z';
const said = { is_error: false, digest: DIGEST, bytes: 90_000, is_cut: false };
const preview = (of: object) => ({ tool: 'files__edit', arguments: { dryRun: true }, taken_at: TAKEN, ...of });
const open = (sent: unknown, more: { subject?: string; agent?: string } = {}) => {
  const { subject = 'agent', agent = subject } = more;
  const source = { generation: 1, preview: sent };
  const client = { id: 'mcp-gateway', actor: { id: agent, type: 'ai_agent' }, source };
  return service.open({ ...more, body: { client } });
};

describe('a preview of the call', () => {
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

describe('a preview that is taken again', () => {
  const AGAIN = `sha-256:${'cd'.repeat(32)}`;
  const again = (of: object = {}) => preview({ ...said, digest: AGAIN, taken_at: '2026-11-21T17:30:00.000Z', ...of });
  const answers = (status: number, body: unknown) => void (service.previewAnswer = { status, body });
  const opened = () => open(preview({ ...said, parts: [{ text: 'as it was' }] }));
  const take = (name: string, { id }: { id: string }) =>
    service.asPerson(name, `/requests/${id}/preview`, { method: 'POST', body: '{}' });
  const stored = async ({ id }: { id: string }) =>
    (await service.database.pool.query('SELECT FROM approvals.preview WHERE access_request_id = $1', [id])).rowCount;
  beforeEach(() => {
    service.previewQuestions.length = 0;
    answers(200, { preview: again({ parts: [{ text: 'as it is now' }] }) });
  });

  it('is asked for by a signed question that names the request alone', async () => {
    const request = await opened();
    await take('alice', request);
    const [{ headers, body } = { headers: {}, body: '' }] = service.previewQuestions;
    expect(body).toBe(JSON.stringify({ task: { id: request.id } }));
    const webhook = new Webhook(service.secrets.callbackSecret);
    expect(() => webhook.verify(body, headers as Record<string, string>)).not.toThrow();
  });

  it('is shown with its time and the approver who asked, before the earlier one', async () => {
    const request = await opened();
    const page = await text(alice, `/requests/${request.id}`);
    const [, csrfToken = ''] = /name="csrfToken" value="([^"]+)"/.exec(page) ?? [];
    const pressed = await alice.go(`/requests/${request.id}/preview`, { csrfToken });
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, `/requests/${request.id}#preview`]);
    const words = wordsOf(await text(await service.signIn('bob'), `/requests/${request.id}`));
    expect(words).toMatch(/17:30 UTC.*something else than at 21 Nov 2026, 16:51 UTC.*as it is now.*Alice Approver/s);
    expect(words).not.toContain('as it was');
    expect(words).toMatch(/The earlier preview.*21 Nov 2026, 16:51 UTC/s);
    const { body } = await service.asPerson('bob', `/requests/${request.id}`);
    expect(body.request).toMatchObject({
      preview: { digest: AGAIN, askedBy: 'Alice Approver' },
      earlierPreviews: [{ digest: DIGEST }],
    });
  });

  it('says that the server says the same', async () => {
    const request = await opened();
    answers(200, { preview: again({ digest: DIGEST, parts: [{ text: 'as it was' }] }) });
    expect((await take('alice', request)).status).toBe(200);
    expect(wordsOf(await text(alice, `/requests/${request.id}`))).toContain('The server says the same as at');
  });

  it('goes into the statement with each vote that was cast beside it, and no vote names another', async () => {
    const request = await opened();
    await take('alice', request);
    const foreign = await service.vote('bob', request, 'approve', { preview: `sha-256:${'0'.repeat(64)}` });
    expect([foreign.status, foreign.body.title]).toEqual([409, 'The request has no such preview']);
    expect((await service.vote('bob', request, 'approve', { preview: AGAIN })).status).toBe(200);
    const { body } = await service.asGateway(`/access/v1/requests/${request.id}/resolution`);
    expect(body.votes).toMatchObject([{ approver: { subject: 'bob' }, preview: AGAIN }]);
  });

  it('is taken once in ten seconds for all approvers of a request', async () => {
    const request = await opened();
    const answers = [await take('alice', request)];
    expect(answers[0]?.status).toBe(200);
    // Ten seconds may pass before the next one. Then it is taken too, and the other approver follows.
    const { status, body } = await waitFor(async () => {
      answers.push(await take(answers.length % 2 === 1 ? 'bob' : 'alice', request));
      return answers.find((one) => one.status !== 200);
    });
    expect([status, body.title]).toEqual([429, 'The preview was taken a moment ago']);
    expect(service.previewQuestions).toHaveLength(answers.length - 1);
    expect((await take('bob', await opened())).status).toBe(200);
  });

  it.each<[string, number, unknown, readonly [number, string]]>([
    ['the server answered late', 200, { fault: 'late' }, [502, 'There is no new preview']],
    ['the gateway knows no such call', 404, { error: 'unknown' }, [409, 'The gateway gave no preview of this call']],
    ['another process was faster', 429, { error: 'soon' }, [429, 'The preview was taken a moment ago']],
    ['the gateway fails', 500, {}, [502, 'The gateway did not answer with a preview']],
    ['its answer cannot be read', 200, { preview: { tool: 'x' } }, [502, 'The gateway did not answer with a preview']],
    [
      'its answer is none',
      200,
      { preview: preview({ fault: 'late' }) },
      [502, 'The gateway did not answer with a preview'],
    ],
  ])('changes nothing if %s, and says what to do', async (_what, gatewayStatus, answer, expected) => {
    const request = await opened();
    answers(gatewayStatus, answer);
    const refused = await take('alice', request);
    expect([refused.status, refused.body.title]).toEqual(expected);
    expect(refused.body.detail).toMatch(/Try again|Decide by the call itself|press the button again/);
    expect(await stored(request)).toBe(0);
    expect((await service.asPerson('alice', `/requests/${request.id}`)).body.request.preview.digest).toBe(DIGEST);
  });

  it('is not for others than the approvers of an open request that has a preview', async () => {
    const own = await open(preview({ ...said, parts: [] }), { subject: 'alice' });
    expect((await take('alice', own)).status).toBe(403);
    const without = await open(undefined);
    expect((await take('alice', without)).body.title).toBe('This request has no preview');
    const over = await opened();
    await service.vote('bob', over, 'deny');
    expect((await take('alice', over)).body.title).toBe('This request has ended');
    expect(await text(alice, `/requests/${over.id}`)).not.toContain('Take the preview again');
    expect(service.previewQuestions).toEqual([]);
  });

  it('is not kept if the request ended meanwhile', async () => {
    const request = await opened();
    const { rows } = await service.database.pool.query(
      `SELECT approvals.keep_preview($1, '{}', 'i', 'alice', NULL) AS first, approvals.cancel_access_request($1, NULL, '{}') AS ended,
         approvals.keep_preview($1, '{}', 'i', 'alice', NULL) AS second`,
      [request.id],
    );
    expect(rows).toEqual([{ first: 'kept', ended: 'cancelled', second: 'final' }]);
    await expect(service.database.pool.query("UPDATE approvals.preview SET preview = '[]'")).rejects.toMatchObject({
      code: 'CS002',
    });
  });
});
