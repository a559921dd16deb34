import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { TASK_ID } from '../../support/gateway-world.ts';
import { post, send, ACCEPTS } from '../../support/gateway-wire.ts';
import { aMappedTool, coaz, WIRE_TRANSFER } from '../../support/mapped-tools.ts';
import { TRANSFER } from '../../support/tools.ts';

const strict = new GatewayUnderTest(coaz({ everyMethod: true, denials: 'error', callDetails: false }));
const passing = new GatewayUnderTest(coaz({ everyMethod: true, initialize: 'pass', serverId: 'urn:bank' }));
const usual = new GatewayUnderTest();
const delegated = new GatewayUnderTest(coaz({ identityClaim: 'on_behalf_of', callDetails: false }));
const gateways = [strict, passing, usual, delegated];
beforeAll(() => Promise.all(gateways.map((gateway) => gateway.start())));
afterAll(() => Promise.all(gateways.map((gateway) => gateway.stop())));
beforeEach(() => {
  for (const gateway of gateways) {
    gateway.reset();
    gateway.world.claims = { aud: ['https://elsewhere.test', gateway.mcpUrl], on_behalf_of: 'bea' };
  }
});

const SUBJECT = { type: 'identity', id: 'alice' };
const here = (gateway = strict) => ({ type: 'mcp_server', id: gateway.mcpUrl });
const deny = (gateway: GatewayUnderTest) => {
  gateway.world.decision = { kind: 'deny', reason: 'canary-reason' };
};
/** A message of an earlier revision, unchanged. */
const earlier = (gateway: GatewayUnderTest, message: object) =>
  post(gateway, JSON.stringify({ jsonrpc: '2.0', ...message }), { ...ACCEPTS, authorization: 'Bearer token-of-alice' });
const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '0' } },
};

describe('a gateway that asks about every method', () => {
  const server = () => here();
  it.each([
    ['tools/list', {}, server],
    ['resources/list', {}, server],
    ['prompts/list', {}, server],
    ['tasks/list', {}, server],
    ['resources/templates/list', {}, server],
    ['server/discover', {}, server],
    ['subscriptions/listen', { notifications: {} }, server],
    ['signature', {}, server],
    ['resources/subscribe', { uri: 'x://1' }, () => ({ type: 'resource', id: 'x://1' })],
    ['resources/unsubscribe', { uri: 'x://1' }, () => ({ type: 'resource', id: 'x://1' })],
    ['tasks/result', { taskId: 'tsk_1' }, () => ({ type: 'task', id: 'tsk_1' })],
  ])(
    'asks about %s before it does anything [COAZ-DF-01] [COAZ-DF-02] [COAZ-DF-04] [COAZ-DF-06] [COAZ-DF-10] [COAZ-DF-11] [COAZ-DF-12] [PRJ-20]',
    async (method, params, resource) => {
      deny(strict);
      const { body } = await send(strict, method, params, { id: 'r-9' });
      expect(body).toEqual({
        ...{ jsonrpc: '2.0', id: 'r-9' },
        error: { code: -32_001, message: 'Policy does not allow this request.' },
      });
      expect(strict.world.evaluations).toEqual([
        { subject: SUBJECT, action: { name: method }, resource: resource(), context: { agent: 'agent-7' } },
      ]);
    },
  );

  it("asks the binding's question about a tool call, and adds no details when they are off [COAZ-DF-05] [COAZ-DF-02] [PRJ-17]", async () => {
    strict.world.listed = [TRANSFER, aMappedTool(WIRE_TRANSFER)];
    await send(strict, 'tools/call', { name: 'bank__transfer', arguments: { to: 'x', amount: 1 } });
    await send(strict, 'tools/call', { name: 'bank__wire', arguments: { to: 'x', amount: 1 } });
    const [byDefault, mapped] = strict.world.evaluations;
    expect(byDefault).toEqual({
      ...{ subject: SUBJECT, action: { name: 'tools/call' } },
      ...{ resource: { type: 'tool', id: 'bank__transfer' }, context: { agent: 'agent-7' } },
    });
    expect(mapped?.context).toEqual({ agent: 'agent-7', amount: 1 });
  });

  it('continues when the answer is yes', async () => {
    expect((await send(strict, 'tools/list')).body.result).toHaveProperty('tools');
    expect(strict.world.evaluations).toHaveLength(1);
  });

  it('denies an unknown method without a question [COAZ-DF-16] [COAZ-FW-18] [PRJ-20]', async () => {
    const { body } = await send(strict, 'foo/bar');
    expect([body.error?.code, strict.world.evaluations]).toEqual([-32_001, []]);
  });

  it('passes ping and notifications [COAZ-DF-15]', async () => {
    deny(strict);
    expect((await earlier(strict, { id: 3, method: 'ping' })).text).toContain('"result":{}');
    expect((await earlier(strict, { method: 'notifications/initialized' })).status).toBe(202);
    expect(strict.world.evaluations).toEqual([]);
  });

  it('asks about initialize with the revision, or passes it if configured [COAZ-DF-03] [COAZ-DF-14] [PRJ-19]', async () => {
    expect((await earlier(strict, INITIALIZE)).text).toContain('protocolVersion');
    expect(strict.world.evaluations).toMatchObject([
      {
        action: { name: 'initialize' },
        resource: here(),
        context: { agent: 'agent-7', protocol_version: '2025-06-18' },
      },
    ]);
    deny(passing);
    expect((await earlier(passing, INITIALIZE)).text).toContain('protocolVersion');
    expect(passing.world.evaluations).toEqual([]);
    await send(passing, 'tools/list');
    expect(passing.world.evaluations).toMatchObject([{ resource: { type: 'mcp_server', id: 'urn:bank' } }]);
  });

  it('asks about a log level [COAZ-DF-09]', async () => {
    await earlier(strict, { id: 4, method: 'logging/setLevel', params: { level: 'error' } });
    expect(strict.world.evaluations).toMatchObject([
      { action: { name: 'logging/setLevel' }, resource: here(), context: { level: 'error' } },
    ]);
  });

  it.each(['tasks/get', 'tasks/cancel', 'tasks/update'])(
    "asks about %s only for the task's owner [COAZ-DF-10] [PRJ-21]",
    async (method) => {
      const foreign = await send(
        strict,
        method,
        { taskId: TASK_ID, inputResponses: {} },
        { token: 'token-of-mallory' },
      );
      expect([foreign.body.error?.code, strict.world.evaluations]).toEqual([-32_602, []]);
      expect((await send(strict, method, { taskId: TASK_ID, inputResponses: {} })).body).toHaveProperty('result');
      expect(strict.world.evaluations).toMatchObject([
        { action: { name: method }, resource: { type: 'task', id: TASK_ID } },
      ]);
      deny(strict);
      expect((await send(strict, method, { taskId: TASK_ID, inputResponses: {} })).body.error?.code).toBe(-32_001);
    },
  );

  it.each([
    ['names another server', { aud: ['https://elsewhere.test'] }],
    ['names none', {}],
  ])(
    'refuses a token for another server without a question: it %s [COAZ-DF-12] [COAZ-DF-13]',
    async (_what, claims) => {
      strict.world.claims = claims;
      const { body } = await send(strict, 'tools/list');
      expect([body.error?.code, strict.world.evaluations]).toEqual([-32_602, []]);
    },
  );

  it('refuses a request that cannot be decided [COAZ-ER-07] [COAZ-FW-22]', async () => {
    strict.world.decision = new CountersignError('ERR_PDP_UNAVAILABLE', 'canary');
    const { body } = await send(strict, 'tools/list');
    expect(body).toMatchObject({ error: { code: -32_603, message: expect.not.stringContaining('canary') } });
  });
});

describe('a denied call', () => {
  const call = (gateway: GatewayUnderTest) =>
    send(gateway, 'tools/call', { name: 'bank__transfer', arguments: { to: 'x', amount: 1 } });

  it('is a tool result by default [COAZ-ER-05] [PRJ-18]', async () => {
    deny(usual);
    expect((await call(usual)).body.result).toMatchObject({ isError: true });
  });

  it('is an error without the reason for clients that follow only COAZ [COAZ-ER-03] [COAZ-ER-04] [COAZ-ER-06] [PRJ-18]', async () => {
    deny(strict);
    const { body } = await call(strict);
    expect(body.error).toEqual({ code: -32_001, message: expect.stringMatching(/^The tool did not run\. Policy/) });
    expect(strict.world.invocations).toEqual([]);
  });
});

it('tasks can be read while policy does not answer, because by default only upstream items need a decision [PRJ-21]', async () => {
  usual.world.decision = new CountersignError('ERR_PDP_UNAVAILABLE', 'away');
  expect((await send(usual, 'tools/list')).body).toHaveProperty('result');
  expect((await send(usual, 'tasks/get', { taskId: TASK_ID })).body).toHaveProperty('result');
});

describe('a configured claim for the subject', () => {
  const asks = (mapping?: object) => {
    delegated.world.listed = [mapping === undefined ? TRANSFER : aMappedTool(mapping as never)];
    const name = mapping === undefined ? 'bank__transfer' : 'bank__wire';
    return send(delegated, 'tools/call', { name, arguments: { to: 'x', amount: 1 } });
  };
  it('is the subject everywhere, and the agent stays the agent [COAZ-IM-05] [COAZ-IM-06] [COAZ-IM-08]', async () => {
    await asks();
    await asks({ evaluation: { ...WIRE_TRANSFER.evaluation, subject: { id: '$token.on_behalf_of' } } });
    const { subject: _subject, ...others } = WIRE_TRANSFER.evaluation;
    await asks({ evaluation: others });
    expect(delegated.world.evaluations.map(({ subject }) => subject.id)).toEqual(['bea', 'bea', 'bea']);
    expect(delegated.world.evaluations.map(({ context }) => context['agent'])).toEqual([
      'agent-7',
      'agent-7',
      'agent-7',
    ]);
  });

  it('is compared with mappings, and has to be present [COAZ-IM-06] [COAZ-SU-02]', async () => {
    expect((await asks(WIRE_TRANSFER)).body.error?.code).toBe(-32_602);
    delegated.world.claims = {};
    expect((await asks()).body.error?.code).toBe(-32_602);
    expect(delegated.world.evaluations).toEqual([]);
  });
});
