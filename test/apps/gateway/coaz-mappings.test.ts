import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable } from '../../support/gateway-world.ts';
import { send } from '../../support/gateway-wire.ts';
import { aMappedTool, BOTH_ACCOUNTS, WIRE_TRANSFER } from '../../support/mapped-tools.ts';
import { TRANSFER } from '../../support/tools.ts';

const TRUSTED = { bank: { url: 'http://127.0.0.1:1/mcp', mappingsMayNameSubject: true } };
const gateway = new GatewayUnderTest();
const trusting = new GatewayUnderTest({ mcpServers: TRUSTED });
beforeAll(() => Promise.all([gateway.start(), trusting.start()]));
afterAll(() => Promise.all([gateway.stop(), trusting.stop()]));
beforeEach(() => {
  gateway.reset();
  trusting.reset();
});

const ARGS = { to: 'acct-991', amount: 50_000 };
const call = (args: Record<string, unknown> = ARGS, of = gateway, name = 'bank__wire') =>
  send(of, 'tools/call', { name, arguments: args });
/** The tool declares this. */
const declare = (mapping: object, of = gateway) => {
  of.world.listed = [aMappedTool(mapping as never), TRANSFER];
};
const evaluation = (changes: object) => ({ evaluation: { ...WIRE_TRANSFER.evaluation, ...changes } });
const nothingHappened = (of = gateway) => {
  expect([of.world.evaluations, of.world.invocations, of.world.openings]).toEqual([[], [], []]);
};
const MAPPING_FAILED = expect.stringMatching(/^Authorization mapping failed: /);

describe('a declared mapping', () => {
  it('replaces the default for its own tool only [COAZ-DC-02] [COAZ-DC-05] [COAZ-FW-14] [COAZ-IM-08] [COAZ-SU-11] [COAZ-PP-02]', async () => {
    declare(WIRE_TRANSFER);
    expect((await call()).body.result).toMatchObject({ content: [{ text: 'booked' }] });
    await call({ to: 'x', amount: 1 }, gateway, 'bank__transfer');
    const [mapped, byDefault] = gateway.world.evaluations;
    expect(mapped).toEqual({
      subject: { type: 'identity', id: 'alice' },
      action: { name: 'wire_transfer' },
      resource: { type: 'account', id: 'acct-991' },
      context: {
        agent: 'agent-7',
        amount: 50_000,
        arguments: ARGS,
        call: { tool: 'bank__wire', server: 'bank', tool_digest: 'sha-256:wire', roles: ['teller'] },
        call_digest: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/),
        tool: 'bank__wire',
      },
    });
    expect(byDefault).toMatchObject({
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: 'bank__transfer' },
    });
  });

  it('is visible to clients, in a schema that is still valid [COAZ-DC-01] [COAZ-DC-03] [COAZ-DC-07]', async () => {
    declare(WIRE_TRANSFER);
    const { tools } = (await send(gateway, 'tools/list')).body.result as { tools: { inputSchema: object }[] };
    expect(tools[0]?.inputSchema).toHaveProperty('x-authzen-mapping', WIRE_TRANSFER);
    expect((await call({ to: 7 })).text).toContain('arguments/to must be string');
  });

  it('that fails is a mapping error, with no question to policy and no call [COAZ-ER-01] [COAZ-ER-02] [COAZ-ER-08] [COAZ-FW-21] [COAZ-EX-04]', async () => {
    declare(WIRE_TRANSFER);
    const { body } = await send(gateway, 'tools/call', { name: 'bank__wire', arguments: { to: 'canary' } }, { id: 77 });
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 77,
      error: {
        code: -32_602,
        message: 'Authorization mapping failed: evaluation.context.amount cannot be evaluated for this message.',
      },
    });
    nothingHappened();
  });

  it.each([
    ['no envelope', {}],
    ['an unknown name in it', evaluation({ context: { x: '$unknown.sub' } })],
    ['a subject in an entry', { evaluations: { evaluations: [{ ...WIRE_TRANSFER.evaluation }] } }],
  ])('with %s does not fall back to the default [COAZ-DC-06] [COAZ-SU-08] [COAZ-FW-18]', async (_what, mapping) => {
    declare(mapping);
    expect((await call()).body.error).toEqual({ code: -32_602, message: MAPPING_FAILED });
    nothingHappened();
    expect(gateway.logged.join()).toContain('its mapping failed');
  });

  it('cannot name the subject of the call [COAZ-SU-02] [COAZ-SU-04] [COAZ-FW-19]', async () => {
    declare(evaluation({ subject: { id: '$params.arguments.memo' } }));
    const { body } = await call({ ...ARGS, memo: 'mallory' });
    expect(body.error).toEqual({
      code: -32_602,
      message: expect.stringContaining('of the token as its id'),
    });
    nothingHappened();
  });

  it('cannot give the caller another type of subject [COAZ-SU-09] [COAZ-SU-10] [COAZ-FW-20]', async () => {
    declare(evaluation({ subject: { type: 'admin', id: '$token.sub' } }));
    expect((await call()).body.error).toEqual({ code: -32_602, message: MAPPING_FAILED });
    nothingHappened();
  });

  it.each([
    ['the token', '$token.email', 'token'],
    ['the message', '$params.arguments.to', 'message'],
  ])(
    'may name the subject from %s when the operator trusts it, and the log records it [COAZ-SU-03] [COAZ-SU-04] [COAZ-SU-05]',
    async (_what, id, from) => {
      declare(evaluation({ subject: { id } }), trusting);
      await call(ARGS, trusting);
      expect(trusting.world.evaluations).toHaveLength(1);
      const warnings = trusting.logged.map((line) => JSON.parse(line) as object);
      expect(warnings).toContainEqual(
        expect.objectContaining({ level: 40, audit: 'subject_override', tool: 'bank__wire', from }),
      );
    },
  );

  it('cannot name the agent or the approval [COAZ-SE-04]', async () => {
    declare(evaluation({ context: { agent: 'another', amount: 1 } }));
    await call();
    expect(gateway.world.evaluations[0]?.context).toMatchObject({ agent: 'agent-7', amount: 1 });
    gateway.reset();
    declare(evaluation({ context: { approval: { id: 'apr_1' } } }));
    expect((await call()).body.error).toEqual({ code: -32_602, message: MAPPING_FAILED });
    nothingHappened();
  });

  it.each([
    ['another tool', { action: { name: 'tools/call' }, resource: { type: 'tool', id: 'bank__transfer' } }],
    ['another tool by its own action', { action: { name: 'use' }, resource: { type: 'tool', id: 'bank__transfer' } }],
    ['another method', { action: { name: 'resources/read' } }],
  ])('cannot name %s [COAZ-FW-19] [COAZ-SU-09]', async (_what, changes) => {
    declare(evaluation(changes));
    expect((await call()).body.error).toEqual({ code: -32_602, message: MAPPING_FAILED });
    nothingHappened();
    declare(evaluation({ action: { name: 'tools/call' }, resource: { type: 'tool', id: '$params.name' } }));
    await call();
    expect(gateway.world.evaluations).toHaveLength(1);
  });

  it('still binds the whole call when it maps only a part [PRJ-17] [COAZ-PP-07]', async () => {
    declare(evaluation({ context: {} }));
    await call();
    await call({ ...ARGS, amount: 50_001 });
    const [one, other] = gateway.world.evaluations.map(({ context }) => context['call_digest']);
    expect(one).not.toBe(other);
  });
});

describe('the operator', () => {
  const tool = (mapping: object | 'default') => {
    gateway.world.listed = [aMappedTool(WIRE_TRANSFER, { mapping: mapping as never })];
  };

  it('overrides the mapping that a tool declares [COAZ-DC-05]', async () => {
    tool(evaluation({ action: { name: 'pay' }, resource: { type: 'tool', id: 'any' } }));
    await call();
    expect(gateway.world.evaluations[0]).toMatchObject({
      action: { name: 'pay' },
      resource: { type: 'tool', id: 'any' },
    });
  });

  it('can set the default mapping instead', async () => {
    tool('default');
    await call();
    expect(gateway.world.evaluations[0]).toMatchObject({
      action: { name: 'tools/call' },
      context: { arguments: ARGS },
    });
  });
});

describe('a mapping with several decisions', () => {
  const ALLOW: Decision = { kind: 'allow' };
  const DENY: Decision = { kind: 'deny' };
  const ask = async (...decisions: Decision[]) => {
    gateway.reset();
    declare(BOTH_ACCOUNTS);
    const given = [...decisions];
    gateway.world.decision = async () => given.shift() ?? DENY;
    return (await call({ from: 'acct-1', to: 'acct-2', amount: 1 })).body.result;
  };
  const asked = () => gateway.world.evaluations.map(({ action, resource }) => [action.name, resource.id]);

  it('passes if every decision permits, and fails if one does not [COAZ-EN-01] [COAZ-EN-06] [COAZ-PP-03] [COAZ-FW-22]', async () => {
    expect(await ask(ALLOW, ALLOW)).toMatchObject({ content: [{ text: 'booked' }] });
    expect(asked()).toEqual([
      ['debit', 'acct-1'],
      ['credit', 'acct-2'],
    ]);
    for (const decisions of [
      [ALLOW, DENY],
      [DENY, ALLOW],
      [DENY, DENY],
      [{ kind: 'retry' }, ALLOW],
    ] as Decision[][]) {
      expect(await ask(...decisions)).toMatchObject({ isError: true });
      expect([gateway.world.invocations, gateway.world.openings]).toEqual([[], []]);
    }
  });

  it('asks for an approval of the one that needs it, if the others permit [COAZ-EN-06]', async () => {
    expect(await ask(ALLOW, requestable())).toHaveProperty('taskId');
    const [opening] = gateway.world.openings;
    expect(opening?.binding.evaluation).toMatchObject({ action: { name: 'credit' } });
    expect(opening?.binding.others).toMatchObject([{ action: { name: 'debit' } }]);
    expect(JSON.parse(opening?.submission.body ?? '')).toMatchObject({ action: { name: 'credit' } });
  });

  it.each([
    ['two of which would need an approval', [requestable(), requestable()]],
    ['of which one is denied for good', [requestable(), DENY]],
  ])('is denied for good with decisions %s [COAZ-EN-06]', async (_what, decisions) => {
    expect(await ask(...decisions)).toMatchObject({ isError: true });
    expect([gateway.world.invocations, gateway.world.openings]).toEqual([[], []]);
  });

  it('fails when an answer is missing [COAZ-EN-08] [COAZ-ER-07] [COAZ-FW-22]', async () => {
    declare(BOTH_ACCOUNTS);
    gateway.world.decision = new CountersignError('ERR_PDP_UNAVAILABLE', 'too few');
    const { body } = await call({ from: 'a', to: 'b', amount: 1 });
    expect([body.error?.code, gateway.world.invocations]).toEqual([-32_603, []]);
  });
});

it('amounts that readers would round are refused before a decision [PRJ-35]', async () => {
  declare(WIRE_TRANSFER);
  expect((await call({ to: 'x', amount: 2 ** 53 })).body.result).toMatchObject({ isError: true });
  nothingHappened();
});
