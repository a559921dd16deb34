import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, UnsecuredJWT } from 'jose';
import { loadDevelopmentSecrets, type DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { decisionBody, type OpenRequest } from '../support/decisions.ts';
import { post, send, sendUntilAnswered, type Sent } from '../support/gateway-wire.ts';
import { resigned as resignedToken } from '../support/signed-tokens.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { openWork, tracesIn } from '../support/traces.ts';
import { waitFor } from '../support/wait-for.ts';

const INSIDE = /\bat .*:\d+|node_modules|<html|Zod|postgres|canary/i;

let stack!: Stack;
let secrets!: DevelopmentSecrets;
let token!: string;
beforeAll(async () => {
  stack = await startStack({ parts: 'here' });
  secrets = await loadDevelopmentSecrets(stack.stateDir);
  token = await stack.token('agent');
});
afterAll(() => stack?.stop());

const TOOL = 'files__write_file';
const gateway = () => ({ mcpUrl: stack.config.urls.mcp });
const into = (name: string) => join(stack.files, name);
const call = (params: object, options: Parameters<typeof send>[3] = {}) =>
  sendUntilAnswered(gateway(), 'tools/call', { ...params }, { token, ...options });
const look = (options = {}) => call({ name: 'files__list_allowed_directories', arguments: {} }, options);

/** Expects of a refusal: one short error without internals, no trace anywhere, and service for the next call. */
async function refused(ask: () => Promise<Sent>): Promise<Sent> {
  const before = await tracesIn(stack);
  const answer = await ask();
  expect(answer.text).not.toMatch(INSIDE);
  expect(answer.text.length).toBeLessThan(600);
  expect(await tracesIn(stack)).toEqual(before);
  expect((await look()).body.result).toMatchObject({ resultType: 'complete' });
  return answer;
}

describe('an invalid request', () => {
  const message = (changes: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', ...changes });
  it.each([
    ['broken JSON', '{"jsonrpc":"2.0","canary":', -32_700],
    ['an empty body', '', -32_600],
    ['a bare text', '"canary"', -32_600],
    ['params as a text', message({ params: 'canary' }), -32_600],
    ['params as a list', message({ params: ['canary'] }), -32_600],
    ['a number as the method', message({ method: 7 }), -32_600],
    ['no method', message({ method: undefined }), -32_600],
    ['an object as the id', message({ id: { canary: 1 } }), -32_600],
    ['another protocol', message({ jsonrpc: '1.0' }), -32_600],
  ])('is refused: %s', async (_case, body, code) => {
    const authorization = `Bearer ${token}`;
    const revision = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' };
    const answer = await refused(() => post(gateway(), body, { authorization, ...revision }));
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.objectContaining({ jsonrpc: '2.0', error: { code, message: expect.stringMatching(/request|JSON/) } }),
    ]);
  });

  it.each([
    ['without a name', { arguments: {} }],
    ['with a number for a name', { name: 5, arguments: {} }],
    ['with a text for arguments', { name: TOOL, arguments: 'canary' }],
    ['with a list for arguments', { name: TOOL, arguments: ['canary'] }],
  ])('is refused: a call %s', async (_case, params) => {
    const answer = await refused(() => call(params));
    expect([answer.status, answer.body.error?.code]).toEqual([200, -32_602]);
    expect(answer.body.error?.message).toMatch(/Invalid tools\/call request/);
  });

  it('is refused: a call whose headers name another tool', async () => {
    const answer = await refused(() => call({ name: TOOL, arguments: {} }, { headers: { 'mcp-name': 'other' } }));
    expect([answer.status, answer.body.error?.code]).toEqual([400, -32_020]);
  });

  it('is refused with the limit: a body of five megabytes', async () => {
    const answer = await refused(() =>
      call({ name: TOOL, arguments: { path: into('big'), content: 'x'.repeat(5 << 20) } }),
    );
    const error = { code: -32_600, message: 'Invalid request: the body is too large' };
    expect([answer.status, answer.body.error]).toEqual([413, error]);
  });
});

describe('a call that does not fit any tool', () => {
  it.each([
    ['names no tool of an upstream that exists', 'files__canary', () => ({})],
    ['names no upstream that exists', 'canary__write_file', () => ({})],
    ['names a tool without its prefix', 'write_file', () => ({ path: into('a'), content: 'a' })],
    ['names a member of every object', '__proto__', () => ({})],
  ])('is refused when it %s', async (_case, name, args) => {
    const answer = await refused(() => call({ name, arguments: args() }));
    expect([answer.status, answer.body.error]).toEqual([200, { code: -32_602, message: 'Unknown tool' }]);
  });

  it.each([
    ['lacks an argument', () => ({ path: into('a') }), /must have required property 'content'/],
    ['has an argument of the wrong type', () => ({ path: into('a'), content: 5 }), /arguments\/content must be string/],
    ['has no arguments', () => ({}), /must have required property/],
  ])('is refused without an approver when it %s', async (_case, args, problem) => {
    const answer = await refused(() => call({ name: TOOL, arguments: args() }));
    expect(answer.status).toBe(200);
    expect(answer.body.result).toMatchObject({ resultType: 'complete', isError: true });
    for (const words of [/The tool did not run\. Its arguments are not valid/, problem])
      expect(answer.text).toMatch(words);
  });
});

it('a call with half a character is answered with its id, and reaches no approver', async () => {
  const answer = await refused(() => call({ name: TOOL, arguments: { path: into('a'), content: '\ud800' } }));
  expect([answer.status, answer.body.error?.code]).toEqual([200, -32_602]);
  expect(answer.body.error?.message).toMatch(/half a character/);
});

describe('an access token', () => {
  const resigned = (claims: object) => resignedToken(secrets, token, claims);
  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

  it("that is signed again with the issuer's key is accepted, which proves the method of the next tests", async () => {
    expect((await look({ token: await resigned({ exp: inSeconds(60) }) })).status).toBe(200);
  });

  it.each([
    ['that has expired', () => resigned({ iat: inSeconds(-7_200), exp: inSeconds(-3_600) })],
    ['of another issuer', () => resigned({ iss: 'https://issuer.test' })],
    ['without an expiry', () => resigned({ exp: undefined })],
    ['for another audience', () => stack.token('agent', 'approvals')],
    ['with a broken signature', () => Promise.resolve(`${token.slice(0, -8)}AAAAAAAA`)],
    ['without a signature', () => Promise.resolve(new UnsecuredJWT(decodeJwt(token)).encode())],
    ['that is not a token', () => Promise.resolve('canary')],
  ])('%s is refused, and the client learns where to get another', async (_case, make) => {
    const bad = await make();
    const answer = await refused(() =>
      call({ name: TOOL, arguments: { path: into('a'), content: 'a' } }, { token: bad }),
    );
    expect([answer.status, answer.body.result]).toEqual([401, undefined]);
    const challenge = answer.headers.get('www-authenticate') ?? '';
    expect(challenge).toMatch(/^Bearer .*error="invalid_token"/);
    expect(challenge).toContain(
      `resource_metadata="${stack.config.urls.gateway}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect(JSON.parse(answer.text)).toMatchObject({ error: 'invalid_token' });
    expect(answer.text).not.toContain(bad);
  });

  it('that is missing is asked for', async () => {
    const answer = await refused(() => post(gateway(), '{}', {}));
    expect(answer.status).toBe(401);
    const challenge = answer.headers.get('www-authenticate') ?? '';
    const [, metadataUrl = ''] = /resource_metadata="([^"]*)"/.exec(challenge) ?? [];
    const metadata = (await (await fetch(metadataUrl)).json()) as object;
    expect(metadata).toMatchObject({
      resource: stack.config.urls.mcp,
      authorization_servers: [stack.config.urls.issuer],
    });
  });
});

describe('a decision by webhook', () => {
  let count = 0;
  let path: string;
  let taskId: string;
  let request: OpenRequest;
  /** Bob may request and approve, but may not approve his own requests. */
  const asAsker = async () => ({ token: await stack.token('bob') });
  const hold = async () => {
    path = into(`held-${(count += 1)}.txt`);
    const before = await tracesIn(stack);
    const { body } = await call({ name: TOOL, arguments: { path, content: path } }, await asAsker());
    taskId = String(body.result?.['taskId']);
    [request] = (await stack.openRequests(1)) as [OpenRequest];
    const opened = { 'gateway.gated_call': count, 'pdp.evaluation': count, 'approvals.access_request': count };
    expect(await tracesIn(stack)).toMatchObject({ ...opened, files: before.files });
  };
  const status = async () => (await send(gateway(), 'tasks/get', { taskId }, await asAsker())).body.result?.['status'];
  const ended = () => waitFor(async () => ((await status()) === 'working' ? undefined : status()));
  const writes = () => stack.upstreamCalls().filter((call) => call.arguments['path'] === path).length;
  const approval = (changes: object = {}) =>
    JSON.stringify({ ...JSON.parse(decisionBody(request, { verdict: 'approve' })), ...changes });
  const denial = () => decisionBody(request, { verdict: 'deny' });
  const deliver = (body: string, of: Partial<Parameters<Stack['postDecision']>[1]> = {}) =>
    stack.postDecision(body, { id: `msg_${randomUUID()}`, ...of });
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);

  describe('that is refused', () => {
    beforeAll(hold);
    const right = () => ({});
    const secret = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`;
    const callDigest = `sha-256:${'0'.repeat(64)}`;

    it.each([
      ['is signed with another secret', {}, () => ({ secret }), '401 The signature is not valid'],
      ['was a denial when it was signed', {}, () => ({ signed: denial() }), '401 The signature is not valid'],
      ['is ten minutes old', {}, () => ({ at: ago(600) }), '401 The clock differs by N seconds'],
      ['is dated ten minutes from now', {}, () => ({ at: ago(-600) }), '401 The clock differs by N seconds'],
      ['is about other arguments', { callDigest }, right, '409 The decision is about another call'],
      ['is about another generation', { generation: 2 }, right, '409 The decision is about another call'],
      ['is about a request that does not exist', { requestId: 'arq_none' }, right, '404 There is no such request'],
      ['names an unknown approver', { approver: { subject: 'mallory' } }, right, '403 This approver is not known'],
      ['names the requester', { approver: { subject: 'bob' } }, right, '403 You requested this yourself'],
      ['has an unknown verdict', { verdict: 'canary' }, right, '400 This is not a decision'],
    ])('because it %s leaves the call waiting', async (_case, changes, signing, expected) => {
      const before = await tracesIn(stack);
      const answer = await deliver(approval(changes), signing());
      const text = await answer.text();
      const title = String(JSON.parse(text).title).replace(/by \d+/, 'by N');
      expect(`${answer.status} ${title}`).toBe(expected);
      expect(text).not.toMatch(INSIDE);
      expect(await tracesIn(stack)).toEqual(before);
      expect(await stack.openRequests(1)).toEqual([request]);
      expect([await status(), writes(), existsSync(path)]).toEqual(['working', 0, false]);
    });

    it('does not prevent a valid one, which runs the call once', async () => {
      expect((await deliver(approval())).status).toBe(200);
      expect([await ended(), writes(), readFileSync(path, 'utf8')]).toEqual(['completed', 1, path]);
    });
  });

  it('counts once, for any number and form of repetitions', async () => {
    await hold();
    const message = { id: `msg_${randomUUID()}`, at: new Date() };
    const first = await Promise.all(Array.from({ length: 5 }, () => deliver(approval(), message)));
    const texts = await Promise.all(first.map((answer) => answer.text()));
    expect(texts.filter((text) => text.includes('"outcome":"counted"'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('"outcome":"repeated"'))).toHaveLength(4);
    expect(await ended()).toBe('completed');
    await waitFor(async () => (await openWork(stack)).length === 0);

    const after = await tracesIn(stack);
    const again = await deliver(approval(), message);
    expect(await again.json()).toEqual({ outcome: 'repeated', request: { id: request.id, status: 'approved' } });
    const old = await deliver(approval(), { ...message, at: ago(600) });
    const reused = await deliver(denial(), message);
    const changed = await deliver(denial());
    expect([again, old, reused, changed].map((answer) => answer.status)).toEqual([200, 401, 409, 409]);
    expect(await tracesIn(stack)).toEqual(after);
    expect([writes(), readFileSync(path, 'utf8')]).toEqual([1, path]);
    expect(await stack.record(taskId)).toMatchObject({ disposition: 'approved-executed', sealIntact: true });
  });
});
