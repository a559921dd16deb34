import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { startChangingUpstream } from '../../support/changing-upstream.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { metaOf, post, send } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { aTool } from '../../support/tools.ts';

const DIGEST = 'dev.countersign/signature-digest';

const gateway = new GatewayUnderTest({ redactAbove: 'internal' });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const WITHHELD = aTool(
  { name: 'look', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } },
  { settings: { resultSensitivity: 'restricted', effect: 'read', preprocessor: true } },
);
const card = (headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/signature`, { headers: { authorization: 'Bearer token-of-alice', ...headers } });
const toolsOf = (result: Record<string, unknown> | undefined) => result?.['tools'] as JsonObject[];
/** Asks like an earlier revision, whose answers are events. */
async function legacy(method: string, params: object = {}) {
  const asked = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const { text } = await post(gateway, asked, { authorization: 'Bearer token-of-alice' });
  const data = text.split('\n').findLast((line) => line.startsWith('data: '));
  return JSON.parse(data?.slice('data: '.length) ?? text) as Awaited<ReturnType<typeof send>>['body'];
}

describe('the method signature', () => {
  it('is announced by a capability, and answers in every revision [SIG-001, SIG-003]', async () => {
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '0' } };
    const { body: discovered } = await send(gateway, 'server/discover');
    for (const { result } of [discovered, await legacy('initialize', initialize)]) {
      expect(result?.['capabilities']).toMatchObject({ signature: {} });
    }
    const { result: present } = (await send(gateway, 'signature')).body;
    expect(present).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
    const { result: earlier } = await legacy('signature');
    expect(toolsOf(present).map(({ name }) => name)).toEqual([
      ...['bank__anything', 'bank__transfer'],
      ...['get_request_status', 'request_access'],
    ]);
    for (const list of ['tools', 'prompts', 'resources', 'resourceTemplates']) {
      expect(earlier?.[list]).toEqual(present?.[list]);
    }
    expect(earlier).not.toHaveProperty('resultType');
  });

  it('describes each tool like the list, member for member [SIG-010, SIG-011, SIG-021]', async () => {
    world.listed = [...world.listed, WITHHELD];
    const { result: signature } = (await send(gateway, 'signature')).body;
    const { result: list } = (await send(gateway, 'tools/list')).body;
    const byName = new Map(toolsOf(signature).map((tool) => [tool['name'], tool]));
    expect(toolsOf(list)).toHaveLength(5);
    for (const tool of toolsOf(list)) expect(byName.get(tool['name'])).toEqual(tool);
    expect(byName.get('bank__transfer')).toMatchObject({ execution: { requirements: ['env:test'] } });
    expect(byName.get('bank__look')).toMatchObject({ preprocessor: true, annotations: { readOnlyHint: true } });
    expect(byName.get('bank__look')).not.toHaveProperty('outputSchema');
  });

  it('gives no permission: policy decides about each call of a tool in it [SIG-020]', async () => {
    world.decision = { kind: 'deny' };
    const { body } = await send(gateway, 'tools/call', { name: 'bank__anything', arguments: {} });
    expect([body.result?.['isError'], world.evaluations.length, world.invocations]).toEqual([true, 1, []]);
  });
});

describe('the signature card', () => {
  it("equals the method's result, byte for byte under its digest [SIG-014, SIG-015]", async () => {
    const { result } = (await send(gateway, 'signature')).body;
    const answer = await card();
    const text = await answer.text();
    const { tools, prompts, resources, resourceTemplates } = result ?? {};
    expect(JSON.parse(text)).toEqual({ tools, prompts, resources, resourceTemplates });
    const digest = `sha-256:${createHash('sha256').update(text).digest('hex')}`;
    expect(metaOf(result)[DIGEST]).toBe(digest);
    expect(answer.headers.get('etag')).toBe(`"${digest}"`);
    expect(answer.headers.get('cache-control')).toBe('private, no-cache');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('is not sent again to a client that has it, and changes with any change of a tool', async () => {
    const before = (await card()).headers.get('etag') ?? '';
    const same = await card({ 'if-none-match': before });
    expect([same.status, await same.text(), same.headers.get('etag')]).toEqual([304, '', before]);
    expect((await card({ 'if-none-match': `"sha-256:0", W/${before}` })).status).toBe(304);
    world.listed = [aTool({ name: 'anything', inputSchema: { type: 'object' }, title: 'Anything' })];
    const changed = await card({ 'if-none-match': before });
    expect([changed.status, changed.headers.get('etag') === before]).toEqual([200, false]);
  });

  it('is refused without a token, or without the scopes of the gateway', async () => {
    expect((await card({ authorization: 'Bearer forged' })).status).toBe(401);
    world.scopes = [];
    expect((await card()).status).toBe(403);
  });

  it('reports an error when it cannot be read, instead of an empty card', async () => {
    world.failure = new CountersignError('ERR_DATABASE_UNAVAILABLE', 'away');
    const answer = await card();
    expect([answer.status, answer.headers.get('etag'), answer.headers.get('retry-after')]).toEqual([503, null, '5']);
    expect((await send(gateway, 'signature')).body.error?.message).toMatch(/cannot reach its records/);
  });
});

describe('the signature over real parts', () => {
  let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
  let real!: Awaited<ReturnType<typeof startRealGateway>>;
  beforeAll(async () => {
    bank = await startChangingUpstream({ description: 'Pays.', properties: {}, annotations: {} });
    real = await startRealGateway({}, { mcpServers: { bank: { url: bank.url } } });
  });
  afterAll(async () => {
    await real.stop();
    await bank.close().catch(() => undefined);
  });

  it('is the same at every gateway, and includes tools of upstreams that do not answer [SIG-005, SIG-012]', async () => {
    const token = await real.authority.token({ aud: [real.mcpUrl] });
    const first = (await real.send('signature', {}, token)).body.result;
    expect(toolsOf(first)).toMatchObject([
      { name: 'bank__pay', description: 'Pays.' },
      { name: 'get_request_status' },
      { name: 'request_access' },
    ]);
    const listed = toolsOf((await real.send('tools/list', {}, token)).body.result);
    expect(new Set(listed)).toEqual(new Set(toolsOf(first)));
    await bank.close();
    const other = await real.another();
    const ask = async (method: string) =>
      (await send(other, method, {}, { token: await real.authority.token({ aud: other.mcpUrl }) })).body.result;
    expect(toolsOf(await ask('tools/list'))).not.toContainEqual(expect.objectContaining({ name: 'bank__pay' }));
    expect(await ask('signature')).toEqual(first);
    expect(metaOf(first)[DIGEST]).toMatch(/^sha-256:[0-9a-f]{64}$/);
  });
});
