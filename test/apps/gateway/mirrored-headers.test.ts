import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable } from '../../support/gateway-world.ts';
import { ACCEPTS, requestOf, send, textOf } from '../../support/gateway-wire.ts';
import { aTool } from '../../support/tools.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());

const QUERY = aTool({
  name: 'query',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limits: { type: ['object', 'null'], properties: { rows: { type: 'integer', 'x-mcp-header': 'Rows' } } },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      text: { type: 'string' },
    },
  },
});
beforeEach(() => {
  gateway.reset();
  world.listed = [QUERY];
});

const query = (args: JsonObject, headers: Record<string, string> = {}) =>
  send(gateway, 'tools/call', { name: 'bank__query', arguments: args }, { headers });
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const taken = async (args: JsonObject, headers: Record<string, string> = {}) =>
  (await query(args, headers)).status === 200;

/** Such a call causes no question to policy, no access request and no call of the tool. */
async function isRefused(args: JsonObject, headers: Record<string, string> = {}): Promise<void> {
  const { status, body } = await query(args, headers);
  expect([status, body.error?.code, body.id]).toEqual([400, -32_020, 'r-1']);
  expect([world.evaluations, world.invocations, world.openings]).toEqual([[], [], []]);
}

describe('a header that repeats an argument', () => {
  it.each<[string, JsonObject, Record<string, string>]>([
    ['unencoded', { region: 'eu west' }, { 'Mcp-Param-Region': 'eu west' }],
    ['in any case of its name', { region: 'eu' }, { 'MCP-PARAM-REGION': 'eu' }],
    ['encoded', { region: 'Zürich ' }, { 'mcp-param-region': encoded('Zürich ') }],
    ['with a value that only looks encoded', { region: '=?base64?ZZ' }, { 'mcp-param-region': '=?base64?ZZ' }],
    [
      'with a value that begins with a byte order mark',
      { region: '\ufeffeu' },
      { 'mcp-param-region': encoded('\ufeffeu') },
    ],
    ['for a member of a nested object', { limits: { rows: -7 } }, { 'mcp-param-rows': '-7' }],
    ['for a boolean', { dry: false }, { 'mcp-param-dry': 'false' }],
    ['or left out for an argument that the call lacks', { text: 'eu' }, {}],
    ['or left out for null', { limits: null, text: 'eu' }, {}],
  ])('is accepted %s [HTTP-014, HTTP-016]', async (_case, args, headers) => {
    expect(await taken(args, headers)).toBe(true);
  });

  it('is compared as a number where the argument is one [HTTP-017]', async () => {
    expect(await taken({ limits: { rows: 42 } }, { 'mcp-param-rows': '42.0' })).toBe(true);
    expect(await taken({ limits: { rows: 42 } }, { 'mcp-param-rows': '42.5' })).toBe(false);
    expect(await taken({ limits: { rows: 42 } }, { 'mcp-param-rows': '0x2a' })).toBe(false);
  });

  it.each<[string, JsonObject, Record<string, string>]>([
    ['missing', { region: 'eu' }, {}],
    ['missing, for an empty argument', { region: '' }, {}],
    ['another', { region: 'eu' }, { 'mcp-param-region': 'us' }],
    ['different only in case', { region: 'eu' }, { 'mcp-param-region': 'EU' }],
    ['different after decoding', { region: 'eu' }, { 'mcp-param-region': encoded('us') }],
    ['present without an argument', { text: 'eu' }, { 'mcp-param-region': 'us' }],
    ['wrong beside a correct one', { region: 'eu', dry: true }, { 'mcp-param-region': 'eu', 'mcp-param-dry': '1' }],
  ])('is refused when it is %s, before any decision [HTTP-016]', (_case, args, headers) => isRefused(args, headers));

  it('is refused when it occurs twice', async () => {
    const params = { name: 'bank__query', arguments: { region: 'eu' } };
    const { body, headers } = requestOf('tools/call', params, {});
    const sent = [...Object.entries({ ...ACCEPTS, ...headers, host: 'localhost' }).flat()];
    const status = await new Promise((resolve, reject) => {
      const twice = ['mcp-param-region', 'eu', 'mcp-param-region', 'us'];
      const request = httpRequest(gateway.mcpUrl, { method: 'POST', headers: [...sent, ...twice] as never }, (answer) =>
        resolve(answer.resume().statusCode),
      );
      request.on('error', reject).end(body);
    });
    expect([status, world.evaluations]).toEqual([400, []]);
  });

  it.each([
    ['bytes beyond ASCII, even if the argument has the same', 'Z\u00fcrich', { 'mcp-param-region': 'Z\u00fcrich' }],
    ['Base64 without its padding', 'eu', { 'mcp-param-region': '=?base64?ZXU?=' }],
    ['another Base64 alphabet', '\u00fb\u00ff', { 'mcp-param-region': '=?base64?w7vDvw__?=' }],
    ['encoded bytes that are not text', '\ufffd', { 'mcp-param-region': '=?base64?/w==?=' }],
  ])('is refused when it has %s [HTTP-014, HTTP-015]', (_case, region, headers) => isRefused({ region }, headers));

  it('is named in the refusal, without its value in the refusal or the log', async () => {
    const { body } = await query({ region: 'canary-argument' }, { 'mcp-param-region': 'canary-header' });
    expect(body.error?.message).toMatch(/Mcp-Param-Region/);
    expect(JSON.stringify(body) + gateway.logged.join('')).not.toMatch(/canary/);
  });

  it('is not checked for a tool that is not accepted', async () => {
    world.isAccepted = false;
    expect(textOf((await query({ region: 'eu' })).body.result)).toMatch(/operator of this gateway accepted/);
  });

  it('has no effect: policy and the tool get the argument [HTTP-020]', async () => {
    expect(
      await taken({ region: 'eu' }, { 'mcp-param-region': 'eu', 'mcp-param-other': 'us', 'mcp-param-text': 'us' }),
    ).toBe(true);
    expect(world.invocations).toMatchObject([{ arguments: { region: 'eu' } }]);
    expect(JSON.stringify(world.evaluations)).not.toMatch(/us"/);
  });

  it('is required of calls that need an approval too', async () => {
    world.decision = requestable();
    await isRefused({ region: 'eu' });
    const { body } = await query({ region: 'eu' }, { 'mcp-param-region': 'eu' });
    expect(body.result).toMatchObject({ resultType: 'task' });
  });
});

describe('the official client', () => {
  const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };

  it('sends the required headers', async () => {
    const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
    try {
      await client.listTools();
      const args = { region: ' Z\u00fcrich', limits: { rows: 3 }, dry: true };
      expect(textOf(await client.callTool({ name: 'bank__query', arguments: args }))).toBe('booked');
    } finally {
      await client.close();
    }
  });

  it('of earlier revisions sends no such headers, and is accepted', async () => {
    const client = new EarlierClient({ name: 'test', version: '0' });
    await client.connect(new EarlierTransport(new URL(gateway.mcpUrl), { requestInit }));
    try {
      const answer = await client.callTool({ name: 'bank__query', arguments: { region: 'eu' } });
      expect(textOf(answer as never)).toBe('booked');
    } finally {
      await client.close();
    }
  });
});
