import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { InvocationResult } from '../../../workflows/domain/upstream-ports.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable, TASK_ID } from '../../support/gateway-world.ts';
import { send, transfer } from '../../support/gateway-wire.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aTool } from '../../support/tools.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

const DEFINITION = {
  name: 'transfer',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string' }, amount: { type: 'integer' }, dryRun: { type: 'boolean' } },
    required: ['to'],
  },
};
const TRANSFER = aTool(DEFINITION, { digest: 'sha-256:4444' });
const READS = {
  name: 'balance',
  inputSchema: { type: 'object', properties: { account: { type: 'string' } }, required: ['account'] },
};
const BALANCE = aTool(READS, { digest: 'sha-256:5555' });

const dry = { dryRun: { argument: 'dryRun' } };
const reading = { tool: 'bank__balance', copy: { account: 'to' } };
const tools = (preview: object, others: object = {}) => ({
  bank__transfer: { preview },
  bank__balance: { effect: 'read', ...others },
});
const clock = new ManualClock(Date.now());
const gateway = new GatewayUnderTest({ tools: tools(dry), redactAbove: 'internal', maxOpenPerCaller: 100, clock });
const few = new GatewayUnderTest({ tools: tools(dry), maxSubmissionsPerMinute: 2 });
beforeAll(() => Promise.all([gateway.start(), few.start()]));
afterAll(() => Promise.all([gateway.stop(), few.stop()]));
beforeEach(() => {
  for (const one of [gateway, few]) {
    one.reset();
    one.world.decision = requestable();
    one.world.listed = [TRANSFER, BALANCE];
  }
  gateway.change({ tools: tools(dry) });
  gateway.world.invocation = says('50 would be moved');
});

const says = (...texts: string[]): InvocationResult => ({
  kind: 'result',
  isError: false,
  result: { content: texts.map((text) => ({ type: 'text', text })) },
});
const digestOf = (value: Json) => `sha-256:${createHash('sha256').update(canonicalJson(value)).digest('hex')}`;

/** What the last submission says of the preview. */
function submitted(): Record<string, unknown> | undefined {
  const { body = '{}' } = gateway.world.openings.at(-1)?.submission ?? {};
  const { client } = JSON.parse(body) as { client: { source: { preview?: Record<string, unknown> } } };
  return client.source.preview;
}

const call = (args: JsonObject = { to: 'acct-1', amount: 50 }) =>
  send(gateway, 'tools/call', transfer({ arguments: args }));

describe('a preview by a dry run', () => {
  it('goes to the approvers with its digest, and to the record without its content', async () => {
    const answer = await call();
    expect(answer.body.result).toMatchObject({ taskId: TASK_ID });
    const said = {
      is_error: false,
      bytes: 56,
      digest: digestOf({ content: [{ type: 'text', text: '50 would be moved' }] }),
    };
    expect(submitted()).toEqual({
      ...{ tool: 'bank__transfer', arguments: { dryRun: true }, taken_at: expect.any(String), ...said },
      ...{ parts: [{ text: '50 would be moved' }], is_cut: false },
    });
    const [{ preview } = { preview: undefined }] = gateway.world.openings;
    expect(preview).toEqual({
      tool: 'bank__transfer',
      takenAt: submitted()?.['taken_at'],
      said: { isError: false, bytes: 56, digest: said.digest },
    });
  });

  it('asks with the arguments of the call, a mark, and neither a key nor a caller', async () => {
    await call();
    expect(gateway.world.invocations).toEqual([
      {
        ...{ upstream: 'bank', upstreamTool: 'transfer', toolDigest: TRANSFER.digest },
        ...{ arguments: { to: 'acct-1', amount: 50, dryRun: true }, meta: { 'dev.countersign/preview': true } },
      },
    ]);
  });

  it('never reaches the agent, nor the question to policy, nor the binding', async () => {
    gateway.world.invocation = says('canary-preview');
    const answer = await call();
    expect(JSON.stringify(answer.body)).not.toContain('canary-preview');
    const { binding } = gateway.world.openings[0] ?? {};
    expect(JSON.stringify([gateway.world.evaluations, binding])).not.toContain('canary-preview');
    expect(JSON.parse(binding?.arguments ?? '')).toEqual({ to: 'acct-1', amount: 50 });
    expect(gateway.logged.join()).not.toContain('canary-preview');
  });

  it('is logged as a preview, and not as an allowed call', async () => {
    await call();
    const audits = gateway.logged.map((line) => JSON.parse(line) as { audit?: string; outcome?: string });
    expect(audits.filter(({ audit }) => audit !== undefined)).toEqual([
      expect.objectContaining({ audit: 'preview', tool: 'bank__transfer', of: 'bank__transfer', outcome: 'result' }),
    ]);
  });

  it('is not undone by the arguments of the caller', async () => {
    await call({ to: 'acct-1', dryRun: false });
    expect(gateway.world.invocations.map((one) => one.arguments)).toEqual([{ to: 'acct-1', dryRun: true }]);
    expect(gateway.world.openings[0]?.binding.arguments).toBe('{"dryRun":false,"to":"acct-1"}');
    await call({ to: 'acct-1', DryRun: false });
    expect(gateway.world.invocations).toHaveLength(1);
    expect(submitted()).toMatchObject({ fault: 'no_dry_run' });
  });

  it('is not taken if the description does not name the argument', async () => {
    const properties = { to: { type: 'string' } };
    gateway.world.listed = [
      aTool({ ...DEFINITION, inputSchema: { type: 'object', properties } }, { digest: 'sha-256:7777' }),
    ];
    await call({ to: 'acct-1' });
    expect(gateway.world.invocations).toEqual([]);
    expect(submitted()).toMatchObject({ fault: 'no_dry_run' });
  });

  it('is not taken for a call that policy allows, denies, or that joins an open one', async () => {
    gateway.world.decision = { kind: 'deny' };
    await call();
    expect(gateway.world.invocations).toEqual([]);
    gateway.world.decision = requestable();
    gateway.world.input.joined = { taskId: TASK_ID, gatedCallId: 'open' };
    await call();
    expect(gateway.world.invocations).toEqual([]);
    gateway.world.decision = { kind: 'allow' };
    await call();
    expect(gateway.world.invocations.map(({ meta }) => meta)).toEqual([undefined]);
  });

  it('is not taken for a client that cannot have the call held', async () => {
    const asking = new GatewayUnderTest({ tools: tools(dry), requestByItself: false });
    await asking.start();
    try {
      asking.world.decision = requestable();
      asking.world.listed = [TRANSFER];
      await send(asking, 'tools/call', transfer(), { capabilities: {} });
      expect([asking.world.invocations, asking.world.openings]).toEqual([[], []]);
    } finally {
      await asking.stop();
    }
  });

  it('is left out for a tool whose preview the operator does not configure', async () => {
    gateway.change({ tools: {} });
    await call();
    expect([gateway.world.invocations, submitted()]).toEqual([[], undefined]);
    expect(gateway.world.openings[0]).not.toHaveProperty('preview');
  });
});

describe('a preview by another tool', () => {
  beforeEach(() => void gateway.change({ tools: tools(reading) }));

  it('gets the named arguments only', async () => {
    await call();
    expect(gateway.world.invocations.map(({ upstreamTool, arguments: args }) => [upstreamTool, args])).toEqual([
      ['balance', { account: 'acct-1' }],
    ]);
    expect(submitted()).toMatchObject({ tool: 'bank__balance', arguments: {} });
  });

  it.each([
    ['not_accepted', 'that is not there', [TRANSFER]],
    ['not_accepted', 'of another server', [TRANSFER, { ...BALANCE, upstream: 'other' }]],
    [
      'unfit',
      'that its arguments do not fit',
      [TRANSFER, aTool({ ...READS, inputSchema: { type: 'object', required: ['x'] } }, { digest: 'sha-256:6666' })],
    ],
    [
      'withheld',
      'whose results are withheld',
      [TRANSFER, aTool(READS, { digest: 'sha-256:5555', settings: { resultSensitivity: 'restricted' } })],
    ],
  ])('is %s for a tool %s', async (fault, _what, listed) => {
    gateway.world.listed = listed;
    const { body } = await call();
    expect(body.result).toMatchObject({ taskId: TASK_ID });
    expect([gateway.world.invocations, submitted()]).toMatchObject([[], { fault }]);
  });

  it('is not taken if a requirement of that tool is not met', async () => {
    gateway.world.listed = [
      TRANSFER,
      aTool(READS, { digest: 'sha-256:5555', settings: { requirements: ['env:test'] } }),
    ];
    gateway.world.verdict = { unmet: ['env:test'], undecided: [] };
    await call();
    expect([gateway.world.invocations, submitted()]).toMatchObject([[], { fault: 'unmet' }]);
  });
});

describe('a hostile answer', () => {
  it('is cut when it is huge, and its digest is over all of it', async () => {
    const text = 'ä\u0000🙂'.repeat(60_000);
    gateway.world.invocation = says('first', text, 'never shown');
    await call();
    const {
      parts,
      digest,
      is_cut: isCut,
      bytes,
    } = submitted() as { parts: { text: string }[] } & Record<string, unknown>;
    expect(parts.map((part) => part.text.slice(0, 5))).toEqual(['first', 'ä\u0000🙂ä']);
    expect(text.startsWith(parts[1]?.text ?? '-')).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(parts))).toBeLessThan(65 * 1024);
    expect(parts[1]?.text.isWellFormed()).toBe(true);
    const content = ['first', text, 'never shown'].map((one) => ({ type: 'text', text: one }));
    expect([digest, isCut, bytes]).toEqual([
      digestOf({ content }),
      true,
      Buffer.byteLength(canonicalJson({ content })),
    ]);
  });

  it('names content that is not text, and shows a structured result without text', async () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    gateway.world.invocation = {
      kind: 'result',
      isError: false,
      result: { content: [image], structuredContent: { b: 1, a: 2 } },
    };
    await call();
    expect(submitted()?.['parts']).toEqual([
      { type: 'image', characters: canonicalJson(image).length },
      { text: '{"a":2,"b":1}' },
    ]);
  });

  it('is shown as an error when it is one', async () => {
    gateway.world.invocation = {
      kind: 'result',
      isError: true,
      result: { content: [{ type: 'text', text: 'no such account' }], isError: true },
    };
    await call();
    expect(submitted()).toMatchObject({ is_error: true, parts: [{ text: 'no such account' }] });
    gateway.world.invocation = { kind: 'error', code: -32_602, message: 'bad', data: { why: 1 } };
    await call();
    expect(submitted()).toMatchObject({
      is_error: true,
      parts: [{ text: 'bad' }],
      digest: digestOf({ code: -32_602, message: 'bad', data: { why: 1 } }),
    });
  });

  it.each<[string, InvocationResult]>([
    ['unreadable', says('\ud800')],
    ['unreadable', { kind: 'error', code: 1, message: 'our words', isOurs: true }],
    ['unreachable', { kind: 'not_sent', cause: 'no connection' }],
    ['unreachable', { kind: 'no_answer', cause: 'reset' }],
    ['not_accepted', { kind: 'not_sent', cause: 'ERR_CALL_BINDING_MISMATCH' }],
  ])('is %s, and the call is held without it', async (fault, invocation) => {
    gateway.world.invocation = invocation;
    const { body } = await call();
    expect(body.result).toMatchObject({ taskId: TASK_ID });
    expect(submitted()).toMatchObject({ fault });
    expect(gateway.world.openings[0]?.preview).toMatchObject({ fault });
  });

  it('that never comes delays the call no longer than the limit', async () => {
    gateway.world.invocation = new Promise(() => undefined) as never;
    const answer = call();
    await waitFor(() => gateway.world.invocations.length === 1);
    expect(gateway.world.openings).toEqual([]);
    await clock.advance(5_000 * PATIENT_FACTOR);
    expect((await answer).body.result).toMatchObject({ taskId: TASK_ID });
    expect(submitted()).toMatchObject({ fault: 'late' });
  });

  it('is not asked for without end by one caller', async () => {
    // No call is opened, so none counts against the limit on openings.
    few.world.opened = { kind: 'too_many' };
    for (let n = 0; n < 3; n += 1) await send(few, 'tools/call', transfer({ arguments: { to: `acct-${n}` } }));
    expect(few.world.invocations).toHaveLength(2);
  });
});
