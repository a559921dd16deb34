import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { requestable } from '../../support/gateway-world.ts';
import { TRANSFER } from '../../support/tools.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { AUTHORIZATION, metaOf, textOf, send, transfer } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const call = (params = transfer(), options = {}) => send(gateway, 'tools/call', params, options);

describe('a call that cannot be decided', () => {
  it('ends in an error, and no tool runs', async () => {
    world.decision = new CountersignError('ERR_PDP_UNAVAILABLE', 'canary http://pdp');
    const { status, body, text } = await call();
    expect(status).toBe(200);
    expect(body.error?.code).toBe(-32_603);
    expect(body.error?.message).toMatch(/did not run/);
    expect(text).not.toContain('canary');
    expect([world.invocations, world.openings]).toEqual([[], []]);
  });

  it('ends in a general error after an unexpected failure, which is logged', async () => {
    world.decision = () => Promise.reject(new Error('canary secret'));
    const { body, text } = await call();
    expect(body.error).toEqual({ code: -32_603, message: 'Internal error' });
    expect(text).not.toContain('canary');
    expect(gateway.logged.join('')).toContain('canary secret');
  });
});

describe('an invalid call', () => {
  it('names an unknown tool [TOOL-006]', async () => {
    for (const name of ['bank__none', 'transfer', '__proto__', '']) {
      expect((await call(transfer({ name }))).body.error).toMatchObject({ code: -32_602 });
    }
    expect(world.evaluations).toEqual([]);
  });

  it.each([
    ['lacks a member', { to: 'x' }, /amount/],
    ['has a wrong type', { to: 'x', amount: '5' }, /amount must be integer/],
    ['has one member too many', { to: 'x', amount: 1, extra: 1 }, /additional properties \(extra\)/],
  ])('%s: no policy is asked and no tool runs [TOOL-006, TOOL-008]', async (_case, args, problem) => {
    const { body } = await call(transfer({ arguments: args }));
    expect(body.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(body.result)).toMatch(/did not run/);
    expect(textOf(body.result)).toMatch(problem);
    expect(metaOf(body.result)[AUTHORIZATION]).toBeUndefined();
    expect([world.evaluations, world.invocations, world.openings]).toEqual([[], [], []]);
  });

  it('of a tool whose schema is costly to check is decided on first, and checked only if it may be made', async () => {
    const members = Array.from({ length: 400 }, (_, n) => [
      `n${n}`,
      { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    ]);
    const inputSchema = { type: 'object', properties: Object.fromEntries(members) as JsonObject };
    world.listed = [{ ...TRANSFER, definition: { ...TRANSFER.definition, inputSchema } }];
    const unfit = transfer({ arguments: { n1: 'x' } });
    world.decision = { kind: 'deny' };
    expect(textOf((await call(unfit)).body.result)).toMatch(/Policy does not allow/);
    for (const decision of [{ kind: 'allow' }, requestable()] as const) {
      world.decision = decision;
      expect(textOf((await call(unfit)).body.result)).toMatch(/did not run.*arguments\/n1 must be integer/);
    }
    expect(world.evaluations).toHaveLength(3);
    expect([world.invocations, world.openings]).toEqual([[], []]);
  });

  it('has half of a character: it is not parsed, and no tool runs', async () => {
    const { body } = await call(transfer({ arguments: { to: '\ud800', amount: 1 } }));
    expect(body.error).toMatchObject({ code: -32_602, message: expect.stringContaining('half a character') });
    expect([world.evaluations, world.invocations, world.openings]).toEqual([[], [], []]);
  });

  it('has arguments that are not an object, or no name', async () => {
    for (const params of [transfer({ arguments: [] }), transfer({ arguments: 'x' }), { arguments: {} }]) {
      expect((await call(params as never)).body.error?.code).toBe(-32_602);
    }
    expect(world.evaluations).toEqual([]);
  });

  it.each([
    [150, /did not run.*levels deep/],
    [50_000, /more than 200 levels/],
  ])('nests its arguments %i levels deep', async (levels, answer) => {
    const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const frame = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'bank__anything',
        arguments: '@@',
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 't', version: '0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }).replace('"@@"', deep);
    const response = await fetch(gateway.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: 'Bearer token-of-alice',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'bank__anything',
      },
      body: frame,
    });
    const text = await response.text();
    expect(text).toMatch(answer);
    expect(text).not.toMatch(/ at .*\.[cm]?[jt]s/);
    expect(world.invocations).toEqual([]);
    expect((await call()).status).toBe(200);
  });
});
