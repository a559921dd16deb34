import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { evaluationRequestOf } from '../../../apps/gateway/mcp/authorize.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE } from '../../support/gateway-world.ts';
import { send } from '../../support/gateway-wire.ts';
import { aMappedTool, WIRE_TRANSFER } from '../../support/mapped-tools.ts';
import { startRealGateway } from '../../support/real-gateway.ts';

const gateway = new GatewayUnderTest();
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const call = (args?: object) =>
  send(gateway, 'tools/call', { name: 'bank__wire', ...(args !== undefined && { arguments: args }) });
const declare = (mapping: object) => {
  gateway.world.listed = [aMappedTool(mapping as never)];
};

it('a call is checked in order: what it is about, its mapping, the decision, its tool [COAZ-PP-01]', async () => {
  declare({});
  gateway.world.decision = new CountersignError('ERR_PDP_UNAVAILABLE', 'away');
  gateway.world.isAccepted = false;
  expect((await call({ to: 'a', amount: 1 })).text).toContain('as the operator of this gateway accepted it');
  gateway.world.isAccepted = true;
  expect((await call({ to: 'a', amount: 1 })).body.error?.code).toBe(-32_602);
  declare(WIRE_TRANSFER);
  expect((await call({ to: 'a', amount: 1 })).body.error?.code).toBe(-32_603);
  expect([gateway.world.evaluations.length, gateway.world.invocations]).toEqual([1, []]);
  gateway.world.decision = { kind: 'allow' };
  await call({ to: 'a', amount: 1 });
  expect([gateway.world.evaluations.length, gateway.world.invocations.length]).toEqual([2, 1]);
});

it('a mapping sees the original call under its public name, always with arguments [COAZ-PP-05]', async () => {
  declare({
    evaluation: {
      action: { name: 'use' },
      resource: { type: 'thing', id: '$params.name' },
      context: { given: '$params.arguments' },
    },
  });
  await call();
  expect(gateway.world.evaluations).toMatchObject([{ resource: { id: 'bank__wire' }, context: { given: {} } }]);
  expect(gateway.world.invocations).toMatchObject([{ upstreamTool: 'wire', arguments: {} }]);
});

describe('the default evaluation request', () => {
  const config = parseConfig({}, { baseDir: '/', stateDir: '/' });
  const asked = (method: string, params: object) =>
    evaluationRequestOf(config, { caller: ALICE, claims: {} }, { method, params: params as never });

  it('has the name and the arguments of a prompt [COAZ-DF-07]', () => {
    expect(asked('prompts/get', { name: 'bank__ask', arguments: { city: 'Oslo' } })).toEqual({
      ...{ subject: { type: 'identity', id: 'alice' }, action: { name: 'prompts/get' } },
      resource: { type: 'prompt', id: 'bank__ask' },
      context: { agent: 'agent-7', arguments: { city: 'Oslo' } },
    });
  });

  it('has the address of a resource [COAZ-DF-06]', () => {
    expect(asked('resources/read', { uri: 'x://1' })).toMatchObject({ resource: { type: 'resource', id: 'x://1' } });
  });

  it.each([
    [
      { type: 'ref/prompt', name: 'ask' },
      { type: 'prompt', id: 'ask' },
    ],
    [
      { type: 'ref/resource', uri: 'x://{id}' },
      { type: 'resource', id: 'x://{id}' },
    ],
  ])('about a completion of %j is %j [COAZ-DF-08] [COAZ-EX-05]', (ref, resource) => {
    expect(asked('completion/complete', { ref })).toMatchObject({ resource });
  });

  it('fails for a method without a name [COAZ-FW-12]', () => {
    for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete', 'tasks/get']) {
      expect(() => asked(method, {})).toThrow(expect.objectContaining({ code: 'ERR_MAPPING_FAILED' }));
    }
  });
});

describe('a token in a COAZ request', () => {
  let real: Awaited<ReturnType<typeof startRealGateway>>;
  beforeAll(async () => {
    real = await startRealGateway({});
  });
  afterAll(() => real.stop());
  /** The decision point's question about the call. */
  const asked = () => real.authority.seen.filter(({ body }) => body.includes('files__pid'));

  it('supplies its claims when it is valid [COAZ-IM-04]', async () => {
    real.reset();
    await real.send('tools/call', { name: 'files__pid', arguments: {} });
    expect(asked().length).toBeGreaterThan(0);
  });

  it.each([
    ['of another server', { aud: 'https://elsewhere.test' }],
    ['of another issuer', { iss: 'https://elsewhere.test' }],
    ['that has expired', { exp: 1 }],
  ])('%s supplies no claims [COAZ-IM-04] [COAZ-SE-01]', async (_what, claims) => {
    real.reset();
    const token = await real.authority.token({ aud: real.mcpUrl, ...claims });
    expect((await real.send('tools/call', { name: 'files__pid', arguments: {} }, token)).status).toBe(401);
    expect(asked()).toEqual([]);
  });

  it('with a changed signature supplies no claims [COAZ-IM-04] [COAZ-SE-01]', async () => {
    real.reset();
    const [header, , signature] = (await real.authority.token({ aud: real.mcpUrl })).split('.');
    const [, payload] = (await real.authority.token({ aud: real.mcpUrl, sub: 'mallory' })).split('.');
    const token = [header, payload, signature].join('.');
    expect((await real.send('tools/call', { name: 'files__pid', arguments: {} }, token)).status).toBe(401);
    expect(asked()).toEqual([]);
  });
});
