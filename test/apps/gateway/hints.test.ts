import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Effect, Sensitivity, ToolSettings } from '../../../workflows/domain/tools/tool-facts.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { metaOf, send, textOf } from '../../support/gateway-wire.ts';
import { aTool } from '../../support/tools.ts';

const open = new GatewayUnderTest();
const guarded = new GatewayUnderTest({
  redactAbove: 'internal',
  tools: { bank__gone: { resultSensitivity: 'public' } },
});
beforeAll(() => Promise.all([open.start(), guarded.start()]));
afterAll(() => Promise.all([open.stop(), guarded.stop()]));
beforeEach(() => [open, guarded].forEach((gateway) => gateway.reset()));

const READ_OBJECT = { name: 'look', inputSchema: { type: 'object' } } as const;
const tool = (meta: Record<string, never> | object = {}, settings: ToolSettings = {}) =>
  aTool({ ...READ_OBJECT, _meta: meta as never, outputSchema: { type: 'object' } }, { settings });
const sensitive = (resultSensitivity?: Sensitivity) =>
  resultSensitivity === undefined ? {} : { 'mcp.dev/resultSensitivity': resultSensitivity };
const call = (gateway: GatewayUnderTest) => send(gateway, 'tools/call', { name: 'bank__look', arguments: {} });
const listed = async (gateway: GatewayUnderTest) =>
  ((await send(gateway, 'tools/list')).body.result?.['tools'] as Record<string, unknown>[])[0];
const SECRET = 'canary-secret';
const secretResult = { content: [{ type: 'text', text: SECRET }], structuredContent: { SECRET }, _meta: { SECRET } };

describe('the list of tools', () => {
  it('has the hints of upstream and operator, and matching annotations [HINT-002, HINT-006]', async () => {
    open.world.listed = [
      tool(
        { 'mcp.dev/effect': 'write', 'mcp.dev/idempotent': 'perhaps', 'mcp.dev/other': 1 },
        { effect: 'delete', requiresConfirmation: true },
      ),
    ];
    expect(await listed(open)).toEqual({
      ...READ_OBJECT,
      name: 'bank__look',
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: false, destructiveHint: true },
      _meta: { 'mcp.dev/other': 1, 'mcp.dev/effect': 'delete', 'mcp.dev/requiresConfirmation': true },
    });
  });

  it('has no output schema for withheld results', async () => {
    guarded.world.listed = [tool(sensitive('confidential'))];
    expect(await listed(guarded)).not.toHaveProperty('outputSchema');
    guarded.world.listed = [tool(sensitive('internal'))];
    expect(await listed(guarded)).toHaveProperty('outputSchema');
  });
});

describe('hints', () => {
  it('are the same under any policy, and cause no question to it [HINT-015]', async () => {
    open.world.listed = [tool({ 'mcp.dev/effect': 'write' }, { requiresConfirmation: true })];
    const lists = [];
    for (const decision of [{ kind: 'allow' }, { kind: 'deny' }, requestable()] as const) {
      open.world.decision = decision;
      await call(open);
      lists.push(await listed(open));
    }
    expect(lists[0]?.['_meta']).toEqual({ 'mcp.dev/effect': 'write', 'mcp.dev/requiresConfirmation': true });
    expect(lists.slice(1)).toEqual([lists[0], lists[0]]);
    expect(open.world.evaluations).toHaveLength(3);
  });

  it.each([
    ['the upstream', tool({ 'mcp.dev/requiresConfirmation': true })],
    ['the operator', tool({}, { requiresConfirmation: true })],
  ])('that ask for a confirmation, from %s, hold no call and open no request [HINT-014]', async (_case, asking) => {
    open.world.listed = [asking];
    expect((await call(open)).body.result).toMatchObject({ content: [{ text: 'booked' }] });
    expect([open.world.invocations.length, open.world.openings]).toEqual([1, []]);
  });
});

describe('an allowed call', () => {
  it.each([
    ['read', 20],
    ['write', 30],
    ['external', 30],
    ['delete', 40],
  ] as const)(
    'of a tool with the effect %s from the operator is logged at level %i, without its content [HINT-009]',
    async (effect: Effect, level) => {
      open.world.listed = [tool({}, { effect })];
      open.world.invocation = { kind: 'result', isError: true, result: secretResult };
      await call(open);
      const lines = open.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.filter(({ audit }) => audit === 'allowed_call')).toEqual([
        expect.objectContaining({
          level,
          tool: 'bank__look',
          effect,
          subject: 'alice',
          clientId: 'agent-7',
          outcome: 'tool_error',
        }),
      ]);
      expect(open.logged.join('')).not.toContain(SECRET);
    },
  );

  it.each([
    ['public', undefined, false],
    ['internal', undefined, false],
    ['confidential', undefined, true],
    ['restricted', undefined, true],
    [undefined, undefined, false],
    ['public', 'restricted', true],
    ['restricted', 'public', false],
  ] as const)(
    'whose result is %s to the upstream and %s to the operator is withheld: %s [HINT-012]',
    async (declared, own, isWithheld) => {
      guarded.world.listed = [tool(sensitive(declared), { resultSensitivity: own })];
      guarded.world.invocation = { kind: 'result', isError: false, result: secretResult };
      const { text, body } = await call(guarded);
      expect(text.includes(SECRET)).toBe(!isWithheld);
      expect(body.result).toHaveProperty('content');
      if (isWithheld) expect(textOf(body.result)).toMatch(/^The tool ran\. Its result is withheld/);
      expect(guarded.world.invocations).toHaveLength(1);
    },
  );

  it('returns any result where no ceiling is set', async () => {
    open.world.listed = [tool(sensitive('restricted'))];
    open.world.invocation = { kind: 'result', isError: false, result: secretResult };
    expect((await call(open)).text).toContain(SECRET);
  });

  it('still fails when its result is withheld, and loses only the error text', async () => {
    guarded.world.listed = [tool(sensitive('restricted'))];
    guarded.world.invocation = { kind: 'result', isError: true, result: { ...secretResult, isError: true } };
    expect((await call(guarded)).body.result).toMatchObject({ isError: true });
    guarded.world.invocation = { kind: 'error', code: -32_602, message: SECRET, data: { SECRET } };
    const { body, text } = await call(guarded);
    expect([body.error?.code, text.includes(SECRET)]).toEqual([-32_602, false]);
    expect(body.error).not.toHaveProperty('data');
  });
});

describe('the result of a task', () => {
  const read = async (name: string) => {
    const result = JSON.stringify(secretResult);
    guarded.world.view = aView({ tool: name, state: 'executed', result, outcomeRef: 'out_1' });
    const { text, body } = await send(guarded, 'tasks/get', { taskId: TASK_ID });
    const inner = body.result?.['result'] as Record<string, unknown>;
    expect(metaOf(inner)['io.modelcontextprotocol/tool-approval-disposition']).toBe('approved-executed');
    expect(textOf(inner)).toMatch(/The tool ran once/);
    return text.includes(SECRET);
  };

  it('is withheld like that of a call', async () => {
    guarded.world.listed = [tool(sensitive('restricted'))];
    expect(await read('bank__look')).toBe(false);
    guarded.world.listed = [tool(sensitive('internal'))];
    expect(await read('bank__look')).toBe(true);
  });

  it('is withheld while its tool differs from the accepted one, unless the operator set its sensitivity', async () => {
    guarded.world.listed = [tool(sensitive('public'))];
    guarded.world.isAccepted = false;
    expect(await read('bank__look')).toBe(false);
    expect(await read('bank__gone')).toBe(true);
  });

  it('is withheld while its tool is unknown, unless the operator set its sensitivity', async () => {
    expect(await read('bank__unheard_of')).toBe(false);
    expect(await read('bank__gone')).toBe(true);
    guarded.world.findFails = new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'away');
    expect(await read('bank__look')).toBe(false);
    expect(await read('bank__gone')).toBe(true);
  });
});
