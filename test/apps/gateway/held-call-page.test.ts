import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, REQUEST_REF, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { metaOf, send, transfer } from '../../support/gateway-wire.ts';

const INBOX = 'https://approvals.test/requests/canary-request-id';
const gateway = new GatewayUnderTest();
const naming = new GatewayUnderTest({ heldCallPage: 'name' });
const off = new GatewayUnderTest({ heldCallPage: 'off' });
const all = [gateway, naming, off];
beforeAll(() => Promise.all(all.map((one) => one.start())));
afterAll(() => Promise.all(all.map((one) => one.stop())));
beforeEach(() => {
  for (const one of all) {
    one.reset();
    one.world.decision = requestable();
    one.world.view = aView({ approvalPage: INBOX });
  }
});

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const OPENS = { ...TASKS, elicitation: { form: {}, url: {} } };
const get = async (at = gateway, capabilities: object = OPENS) =>
  (await send(at, 'tasks/get', { taskId: TASK_ID }, { capabilities })).body.result ?? {};
const update = (inputResponses: object, at = gateway, capabilities: object = OPENS) =>
  send(at, 'tasks/update', { taskId: TASK_ID, inputResponses }, { capabilities });
const pageOf = (at: GatewayUnderTest, reference = REQUEST_REF) => `${at.url}/calls/${reference}`;
const open = (address: string, init: RequestInit = {}) =>
  fetch(address, { redirect: 'manual', headers: { accept: 'text/html' }, ...init });

it('a call becomes a task by what it declares itself, and not by what another request of its client declares', async () => {
  const answers = [];
  for (const [others, own] of [
    [TASKS, {}],
    [{}, TASKS],
  ] as const) {
    for (const method of ['server/discover', 'tools/list']) await send(gateway, method, {}, { capabilities: others });
    answers.push((await send(gateway, 'tools/call', transfer(), { capabilities: own })).body.result?.['resultType']);
  }
  expect(answers).toEqual(['complete', 'task']);
});

describe('a task that waits for a person', () => {
  it('names the page of its call from its first answer on, and no address or id of the access request service', async () => {
    for (const at of [gateway, naming])
      for (const capabilities of [TASKS, OPENS]) {
        const created = (await send(at, 'tools/call', transfer(), { capabilities })).body.result ?? {};
        for (const task of [created, await get(at, capabilities)]) {
          expect(task['statusMessage']).toBe(
            `Waiting for an authorization decision. The tool has not run. A person decides on the page ${pageOf(at)}`,
          );
          expect(JSON.stringify(task)).not.toMatch(/approvals\.test|canary/);
        }
        expect(metaOf(created)['io.modelcontextprotocol/model-immediate-response']).toContain(
          `Tell your user that a person has to approve this call, on the page ${pageOf(at)}`,
        );
      }
  });

  it('asks a client that opens addresses to open it, and only such a client', async () => {
    expect(await get()).toMatchObject({
      status: 'input_required',
      inputRequests: {
        approval_page: {
          method: 'elicitation/create',
          params: { mode: 'url', url: pageOf(gateway), message: expect.stringContaining('decides nothing') },
        },
      },
    });
    for (const task of [
      await get(gateway, TASKS),
      await get(gateway, { ...TASKS, elicitation: {} }),
      await get(gateway, { ...TASKS, elicitation: { form: {} } }),
      await get(naming),
    ]) {
      expect(task).toMatchObject({ status: 'working' });
      expect(task).not.toHaveProperty('inputRequests');
    }
  });

  it.each([
    ['accept', { action: 'accept' }],
    ['decline', { action: 'decline' }],
    ['cancel', { action: 'cancel' }],
    ['what is no answer', {}],
    ['a text', 'yes'],
  ])('goes back to working on any answer, which decides nothing: %s', async (_what, answer) => {
    await get();
    expect((await update({ approval_page: answer })).body.result).toMatchObject({ resultType: 'complete' });
    expect(await get()).toMatchObject({ status: 'working', statusMessage: expect.stringContaining(pageOf(gateway)) });
    const { pagesAnswered, answered, cancelled } = gateway.world;
    expect([pagesAnswered.length, answered, cancelled]).toEqual([1, [], []]);
    await update({ approval_page: answer });
    expect(gateway.world.pagesAnswered).toHaveLength(1);
  });

  it('keeps asking after answers to other questions, and takes no answer where it does not ask', async () => {
    await update({ another: { action: 'accept' } });
    expect(await get()).toMatchObject({ status: 'input_required' });
    await update({ approval_page: { action: 'accept' } }, naming);
    expect([gateway.world.pagesAnswered, naming.world.pagesAnswered]).toEqual([[], []]);
  });

  it.each(['granted', 'claimed', 'executed', 'denied'] as const)(
    'names and asks nothing once it is %s',
    async (state) => {
      gateway.world.view = aView({ state, approvalPage: INBOX });
      const task = await get();
      expect(task['status']).toBe(state === 'granted' || state === 'claimed' ? 'working' : 'completed');
      expect(JSON.stringify(task)).not.toMatch(/\/calls\/|approvals\.test/);
    },
  );

  it('names and asks nothing where its service has no page, or the operator wants none', async () => {
    gateway.world.view = aView();
    for (const task of [await get(), await get(off)]) {
      expect(task).toMatchObject({ status: 'working' });
      expect(JSON.stringify(task)).not.toContain('/calls/');
    }
  });

  it('is followed more slowly the longer it waits', async () => {
    const pauses = [];
    for (const seconds of [0, 5, 20, 155, 299, 301, 600_000]) {
      naming.world.view = aView({ inStateMs: seconds * 1_000 });
      pauses.push((await get(naming))['pollIntervalMs']);
    }
    // The first pause of this gateway is 250 ms.
    expect(pauses).toEqual([250, 250, 2_000, 15_000, 29_000, 30_000, 30_000]);
  });
});

describe('the page of a held call', () => {
  it('needs no sign-in, says where the call is, leads on to the request, and shows nothing of the call', async () => {
    gateway.world.view = aView({ approvalPage: INBOX, decideBy: '2026-11-28T09:00:00.000Z' });
    const answer = await open(pageOf(gateway));
    const html = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(html).toContain(`href="${INBOX}"`);
    expect(html).toContain('It waits until 2026-11-28 09:00 UTC.');
    expect(html).not.toMatch(/transfer|alice|tsk_|req_|<script|<form|<img|<link/);
    expect(gateway.world.lookups).toEqual([]);
  });

  it('runs nothing, is kept by no cache, framed by no site, and tells no site its address', async () => {
    const { headers } = await open(pageOf(gateway));
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('opens for a browser that comes from any site, and for no other name of the host', async () => {
    expect((await open(pageOf(gateway), { headers: { origin: 'https://other.example' } })).status).toBe(200);
    const posted = await open(pageOf(gateway), { method: 'POST' });
    expect([posted.status, gateway.world.pagesAnswered]).toEqual([404, []]);
  });

  it.each([
    ['granted', 'This call goes on'],
    ['claimed', 'This call goes on'],
    ['input_required', 'This call needs more information'],
    ['executed', 'This call has ended'],
    ['denied', 'This call has ended'],
    ['cancelled', 'This call has ended'],
    ['failed', 'This call has ended'],
  ] as const)('does not tell how a call ended: %s', async (state, title) => {
    gateway.world.view = aView({ state, result: '{"content":[]}' });
    const html = await (await open(pageOf(gateway))).text();
    expect(html).toContain(`<h1>${title}</h1>`);
    expect(html).not.toMatch(/href|denied|refused|executed/i);
  });

  it('quotes no address as markup', async () => {
    gateway.world.view = aView({ approvalPage: 'https://approvals.test/"><script>alert(1)</script>' });
    const html = await (await open(pageOf(gateway))).text();
    expect(html).not.toContain('<script');
    expect(html).toContain('href="https://approvals.test/&quot;>');
  });

  it('gives an unknown reference and a text that is none the same answer, and looks only for a reference', async () => {
    const texts = [];
    for (const reference of [`req_${'0'.repeat(32)}`, TASK_ID, 'req_1', '%00', '..%2f..', REQUEST_REF.toUpperCase()]) {
      const answer = await open(pageOf(gateway, reference));
      texts.push([answer.status, await answer.text()]);
    }
    expect(new Set(texts.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(texts[0]?.[0]).toBe(404);
    expect(gateway.world.atPages).toEqual([`req_${'0'.repeat(32)}`]);
  });

  it('says that it cannot be read now while the database is away', async () => {
    gateway.world.failure = new CountersignError('ERR_DATABASE_UNAVAILABLE', 'canary');
    const answer = await open(pageOf(gateway));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answer.text()).not.toContain('canary');
  });

  it('does not exist where the operator wants none', async () => {
    expect((await open(pageOf(off))).status).toBe(404);
    expect(off.world.atPages).toEqual([]);
  });
});
