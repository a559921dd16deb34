import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { signedHeaders } from '../../../apps/shared/http/webhook-signature.ts';
import { startChangingUpstream } from '../../support/changing-upstream.ts';
import { CALLBACK_SECRET } from '../../support/gateway-world.ts';
import { send } from '../../support/gateway-wire.ts';
import { REQUESTABLE, startRealGateway } from '../../support/real-gateway.ts';

let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
let real!: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  bank = await startChangingUpstream({ description: 'Pays.', properties: {}, annotations: {} });
  real = await startRealGateway({}, { mcpServers: { bank: { url: bank.url } } });
});
afterAll(async () => {
  await real?.stop();
  await bank?.close();
});
beforeEach(() => {
  real.reset();
  bank.calls = 0;
});

let amount = 0;
const pay = async () =>
  (await real.send('tools/call', { name: 'bank__pay', arguments: { amount: (amount += 1) } })).body;
const count = async (what: string) =>
  (await real.database.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM gateway.${what}`)).rows[0]?.n;
const MAY_BE_REPEATED = {
  code: -32_603,
  message: expect.stringMatching(/did not run\. The call may be repeated later/),
};

describe('a call, before a policy decision point that lies', () => {
  it.each([
    ['a text', { decision: 'true' }],
    ['a number', { decision: 1 }],
    ['null', { decision: null }],
    ['nothing', {}],
    ['a list', [{ decision: true }]],
    ['a permit with an invalid approval expiry', { decision: true, context: { approval: { approved_until: 'soon' } } }],
  ])('is not forwarded and opens no request for %s, and may be repeated', async (_what, body) => {
    const before = await count('gated_call');
    real.authority.decide = () => body;
    expect((await pay()).error).toMatchObject(MAY_BE_REPEATED);
    expect([bank.calls, await count('gated_call'), real.authority.submissions()]).toEqual([0, before, []]);
  });

  it('is forwarded for a permit that also offers an approval, without a request [ARAP-DEN-04]', async () => {
    real.authority.decide = () => ({ ...REQUESTABLE, decision: true });
    const before = await count('gated_call');
    expect((await pay()).result).not.toHaveProperty('taskId');
    expect([bank.calls, await count('gated_call'), real.authority.submissions()]).toEqual([1, before, []]);
  });

  const { context } = REQUESTABLE;
  const { access_request: offer } = context;
  it.each([
    ['names another service', { ...context, access_request: { ...offer, endpoint: 'http://169.254.169.254/' } }],
    [
      'names a schema at another host',
      { ...context, access_request: { ...offer, request_schema_url: 'http://127.1:1/' } },
    ],
    ['has no name and no token', { access_request: { expires_at: offer.expires_at } }],
    ['has no expiry', { ...context, access_request: { binding_token: 'x' } }],
    ['asks to retry without an approval to wait for', { next_action: 'retry', retry_after: 0 }],
  ])('is denied for good by a denial that %s', async (_what, odd) => {
    const before = await count('gated_call');
    real.authority.decide = () => ({ decision: false, context: odd });
    expect((await pay()).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('did not run') }],
    });
    expect([bank.calls, await count('gated_call'), real.authority.submissions()]).toEqual([0, before, []]);
  });
});

describe('a call that needs an approval, before an access request service that lies', () => {
  const task = (more: object) => ({
    task: {
      id: `arq_${randomUUID()}`,
      status: 'pending',
      status_endpoint: `${real.authority.url}/access/v1/requests/1`,
      ...more,
    },
  });

  it.each([
    [
      'a status address at another host',
      () => ({ status: 202, body: task({ status_endpoint: 'http://[::ffff:127.0.0.1]:1/' }) }),
    ],
    ['no handle', () => ({ status: 202, body: { ok: true } })],
    ['an immediate approval without a handle', () => ({ status: 200, body: { result: { mode: 'reevaluate' } } })],
    ['an unknown error', () => ({ status: 500, body: {} })],
    ['a refused credential', () => ({ status: 401, body: {} })],
  ])('gets no task for %s, and may be repeated', async (_what, accept) => {
    real.authority.accept = accept;
    expect((await pay()).error).toMatchObject(MAY_BE_REPEATED);
    expect(bank.calls).toBe(0);
  });

  it.each([302, 308, 400, 404])('is denied when it is refused (%i)', async (status) => {
    real.authority.accept = () => ({ status, body: {} });
    expect((await pay()).result).toMatchObject({ isError: true });
    expect(bank.calls).toBe(0);
  });

  it.each<[string, () => string, string]>([
    ['of the service is one to open', () => `${real.authority.url}/requests/1`, 'input_required'],
    ['at another host is not shown', () => 'https://evil.test/requests/1', 'complete'],
    ['with a user is not shown', () => real.authority.url.replace('://', '://evil.test@'), 'complete'],
    ['of another scheme is not shown', () => `javascript:evil()//${real.authority.url}`, 'complete'],
  ])('waits, and a page %s', async (_what, ticket, resultType) => {
    real.authority.accept = () => ({ status: 202, body: task({ links: { ticket: ticket() } }) });
    const capabilities = { elicitation: { url: {} } };
    const token = await real.authority.token({ aud: real.mcpUrl });
    const params = { name: 'bank__pay', arguments: { amount: (amount += 1) } };
    const { body, text } = await send(real, 'tools/call', params, { capabilities, token });
    expect(body.result).toMatchObject({ resultType });
    expect([text.includes(ticket()), text.includes('evil'), bank.calls]).toEqual([
      resultType === 'input_required',
      false,
      0,
    ]);
  });

  it('keeps waiting despite a callback that is forged, repeated, or about another request [PRJ-16]', async () => {
    const body = task({});
    real.authority.accept = () => ({ status: 202, body });
    const taskId = (await pay()).result?.['taskId'];
    // Of open calls: those of the tests above that have no request are given up after a minute.
    const isOpen = 'subject_id IN (SELECT id::text FROM gateway.gated_call WHERE ended_at IS NULL)';
    const outbox = () => count(`outbox WHERE ${isOpen}`);
    const before = Number(await outbox());
    const claim = JSON.stringify({
      task: { ...body.task, status: 'approved' },
      result: { mode: 'reevaluate', approval: { id: 'apr_1', state: 'forged' } },
    });
    const call = async (headers: Record<string, string>, text = claim) =>
      (await request(real.callbackUrl, { method: 'POST', headers, body: text })).statusCode;
    const signed = (secret: string, id: string, text = claim) =>
      signedHeaders(new Webhook(secret), { id, body: text, at: new Date() });
    const forged = `whsec_${Buffer.from('another secret of 24 byte').toString('base64')}`;
    expect(await call({ 'content-type': 'application/json' })).toBe(401);
    expect(await call(signed(forged, 'msg_1'))).toBe(401);
    expect(await call(signed(CALLBACK_SECRET, 'msg_1'), claim.replace('apr_1', 'apr_2'))).toBe(401);
    const old = signedHeaders(new Webhook(CALLBACK_SECRET), {
      id: 'msg_1',
      body: claim,
      at: new Date(Date.now() - 600_000),
    });
    expect(await call(old)).toBe(401);
    expect(await outbox()).toBe(before);
    // An authentic one makes the worker poll once. Its claims have no effect.
    const authentic = signed(CALLBACK_SECRET, 'msg_1');
    expect([await call(authentic), await call(authentic)]).toEqual([204, 204]);
    expect(await outbox()).toBe(before + 1);
    const unknown = JSON.stringify({ task: { ...body.task, id: 'arq_unknown' } });
    expect(await call(signed(CALLBACK_SECRET, 'msg_2', unknown), unknown)).toBe(204);
    expect(await outbox()).toBe(before + 1);
    expect((await real.send('tasks/get', { taskId })).body.result).toMatchObject({ status: 'working' });
    expect([bank.calls, await count('approval'), await count('execution_claim')]).toEqual([0, 0, 0]);
  });
});
