import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { refusalOf, toolFacts, type ToolSettings } from '../../../workflows/domain/tools/tool-facts.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable } from '../../support/gateway-world.ts';
import { AUTHORIZATION, metaOf, send } from '../../support/gateway-wire.ts';
import { aTool } from '../../support/tools.ts';

const gateway = new GatewayUnderTest({ requestTools: false });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const READS = { 'mcp.dev/effect': 'read' };
const tool = (more: JsonObject, settings: ToolSettings = {}) =>
  aTool({ name: 'recall', inputSchema: { type: 'object' }, _meta: READS, ...more }, { settings });
const listed = async () => ((await send(gateway, 'tools/list')).body.result?.['tools'] as Record<string, unknown>[])[0];
const call = (options = {}) => send(gateway, 'tools/call', { name: 'bank__recall', arguments: {} }, options);
const MIRROR = 'dev.countersign/preprocessor';

describe('the flag of a preprocessor', () => {
  it('is listed, with a copy where official clients keep it [PRE-001, PRE-007]', async () => {
    world.listed = [tool({ preprocessor: true })];
    expect(await listed()).toMatchObject({ preprocessor: true, _meta: { [MIRROR]: true, ...READS } });
  });

  it.each([
    [{}, {}],
    [{ preprocessor: false }, {}],
    [{ preprocessor: 'true' }, {}],
    [{ preprocessor: 1 }, {}],
    [{ preprocessor: true }, { preprocessor: false }],
    [{ _meta: { ...READS, [MIRROR]: true } }, {}],
  ])('is absent for %j with %j [PRE-001]', async (definition, settings) => {
    world.listed = [tool(definition, settings)];
    const shown = await listed();
    expect(shown).not.toHaveProperty('preprocessor');
    expect(shown?.['_meta']).toEqual(READS);
  });

  it('can be set by the operator', async () => {
    world.listed = [tool({}, { preprocessor: true })];
    expect(await listed()).toMatchObject({ preprocessor: true });
  });
});

it('a preprocessor is an ordinary tool to a client that does not know the flag [PRE-006]', async () => {
  world.listed = [tool({ preprocessor: true })];
  const client = new EarlierClient({ name: 'earlier', version: '0' });
  const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
  await client.connect(new EarlierTransport(new URL(gateway.mcpUrl), { requestInit }));
  try {
    expect((await client.listTools()).tools).toMatchObject([{ name: 'bank__recall', inputSchema: { type: 'object' } }]);
    expect(await client.callTool({ name: 'bank__recall', arguments: {} })).toMatchObject({
      content: [{ text: 'booked' }],
    });
  } finally {
    await client.close();
  }
});

it('the parameters of a preprocessor are its inputSchema, and nothing else [PRE-008]', async () => {
  const properties = { query: { type: 'string' } };
  const present = { name: 'recall', preprocessor: true, inputSchema: { type: 'object', properties }, _meta: READS };
  world.listed = [aTool(present, { digest: 'sha-256:present' })];
  expect(await listed()).toMatchObject({ inputSchema: { type: 'object', properties } });
  const ask = (query: unknown) => send(gateway, 'tools/call', { name: 'bank__recall', arguments: { query } });
  expect((await ask(5)).body.result).toMatchObject({ isError: true });
  expect(world.invocations).toEqual([]);
  expect((await ask('x')).body.result).toMatchObject({ content: [{ text: 'booked' }] });
  // The name of the first draft has no effect.
  const early = { name: 'recall', preprocessor: true, parameters: properties, _meta: READS };
  world.listed = [aTool(early, { digest: 'sha-256:early' })];
  expect((await ask('x')).body.result).toMatchObject({ isError: true });
  expect(world.invocations).toHaveLength(1);
});

describe('a call of a preprocessor', () => {
  beforeEach(() => void (world.listed = [tool({ preprocessor: true })]));

  it('is decided by policy like any other', async () => {
    expect((await call()).body.result).toMatchObject({ content: [{ text: 'booked' }] });
    expect(world.evaluations).toHaveLength(1);
  });

  it.each([[undefined], [{}]])(
    'that needs an approval is denied, to clients with tasks and without [PRE-009]',
    async (capabilities) => {
      world.decision = requestable();
      const { result } = (await call({ capabilities })).body;
      expect(result).toMatchObject({ resultType: 'complete', isError: true });
      expect(metaOf(result)[AUTHORIZATION]).toEqual({
        reason: 'insufficient_authorization',
        remediation: 'unavailable',
      });
      expect(metaOf(result)).not.toHaveProperty('dev.countersign/next-step');
      expect([world.openings, world.invocations]).toEqual([[], []]);
    },
  );
});

describe('a tool declared as a preprocessor', () => {
  const refusal = (definition: JsonObject, settings: ToolSettings = {}) =>
    refusalOf(toolFacts({ preprocessor: true, ...definition }, settings));

  it('is offered when it only reads [PRE-010]', () => {
    expect(refusal({ _meta: READS })).toBeUndefined();
    expect(refusal({ annotations: { readOnlyHint: true } })).toBeUndefined();
    expect(refusal({}, { effect: 'read' })).toBeUndefined();
    expect(refusal({ _meta: READS, annotations: { readOnlyHint: true } })).toBeUndefined();
    expect(refusal({ annotations: { readOnlyHint: false } }, { effect: 'read' })).toBeUndefined();
    expect(refusal({ preprocessor: false, _meta: { 'mcp.dev/effect': 'delete' } })).toBeUndefined();
  });

  it.each([
    [{}, {}],
    [{ annotations: { readOnlyHint: true, destructiveHint: true } }, {}],
    [{ _meta: READS, annotations: { readOnlyHint: false } }, {}],
    [{ _meta: READS, annotations: { readOnlyHint: 'true' } }, {}],
    [{ _meta: { 'mcp.dev/effect': 'write' }, annotations: { readOnlyHint: true } }, {}],
    [{ _meta: READS }, { effect: 'external' as const }],
    [{ preprocessor: false }, { preprocessor: true }],
  ])('is not offered as %j with %j [PRE-010]', (definition, settings) => {
    expect(refusal(definition as JsonObject, settings)).toMatch(/does not only read.*set `effect: read`/);
  });
});
