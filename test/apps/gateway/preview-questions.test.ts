import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { signedHeaders } from '../../../apps/shared/http/webhook-signature.ts';
import type { InvocationResult } from '../../../workflows/domain/upstream-ports.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { CALLBACK_SECRET, requestable } from '../../support/gateway-world.ts';
import { send, transfer } from '../../support/gateway-wire.ts';
import { aTool } from '../../support/tools.ts';
import { waitFor } from '../../support/wait-for.ts';

const properties = { to: { type: 'string' }, amount: { type: 'integer' }, dryRun: { type: 'boolean' } };
const TRANSFER = aTool({ name: 'transfer', inputSchema: { type: 'object', properties } }, { digest: 'sha-256:4444' });
const tools = { bank__transfer: { preview: { dryRun: { argument: 'dryRun' } } } };
const NO_ANSWER: InvocationResult = { kind: 'no_answer', cause: 'reset' };
const says = (text: string): InvocationResult => ({
  kind: 'result',
  isError: false,
  result: { content: [{ type: 'text', text }] },
});

const gateway = new GatewayUnderTest({ tools, maxOpenPerCaller: 100 });
const few = new GatewayUnderTest({ tools, maxSubmissionsPerMinute: 2 });
beforeAll(() => Promise.all([gateway.start(), few.start()]));
afterAll(() => Promise.all([gateway.stop(), few.stop()]));
beforeEach(() => {
  for (const one of [gateway, few]) {
    one.reset();
    one.world.decision = requestable();
    one.world.listed = [TRANSFER];
  }
  gateway.change({ tools });
});

describe('a question of the access request service for the preview', () => {
  const webhook = new Webhook(CALLBACK_SECRET);
  const ask = async (body = '{"task":{"id":"arq_1"}}', { id = `msg_${randomUUID()}`, signed = body } = {}) => {
    const headers = signedHeaders(webhook, { id, at: new Date(), body: signed });
    const response = await fetch(`${gateway.url}/callbacks/previews`, { method: 'POST', body, headers });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  /** A call that waits, which no other test asks about. */
  const wait = async () => {
    await send(gateway, 'tools/call', transfer({ arguments: { to: 'acct-1', amount: 50 } }));
    const [opening] = gateway.world.openings;
    if (opening === undefined) throw new Error('nothing was opened');
    gateway.world.waiting = { gatedCallId: randomUUID(), binding: opening.binding, previews: 1 };
    gateway.world.invocations.length = 0;
  };
  beforeEach(wait);

  it('is answered with a fresh one, as it is taken at the opening, and goes on record without its content', async () => {
    gateway.world.invocation = says('60 would be moved');
    const { status, body } = await ask();
    expect([status, body]).toMatchObject([
      200,
      { preview: { tool: 'bank__transfer', is_error: false, parts: [{ text: '60 would be moved' }] } },
    ]);
    expect(gateway.world.invocations).toEqual([
      expect.objectContaining({
        ...{ upstreamTool: 'transfer', arguments: { to: 'acct-1', amount: 50, dryRun: true } },
        meta: { 'dev.countersign/preview': true },
      }),
    ]);
    expect(Object.keys(gateway.world.invocations[0] ?? {})).not.toContain('caller');
    const { digest } = body['preview'] as { digest: string };
    expect(gateway.world.previews).toEqual([
      { tool: 'bank__transfer', takenAt: expect.any(String), said: { isError: false, bytes: 56, digest } },
    ]);
    expect(gateway.world.callbacks).toEqual([
      { webhookId: expect.stringMatching(/^msg_/), accessRequestId: 'arq_1', bodyDigest: expect.any(String) },
    ]);
  });

  /** Asks twice about a call, for another call if the machine stood still meanwhile: two times so far apart show nothing. */
  const askTwice = () =>
    waitFor(async () => {
      await wait();
      const began = performance.now();
      const statuses = [(await ask()).status, (await ask()).status];
      return performance.now() - began < 9_000 ? statuses : undefined;
    });

  it('is answered once in ten seconds for each call', async () => {
    expect(await askTwice()).toEqual([200, 429]);
    expect(gateway.world.invocations).toHaveLength(1);
    await wait();
    expect((await ask()).status).toBe(200);
  });

  it('does not count for the limit of the caller', async () => {
    few.world.opened = { kind: 'too_many' };
    for (let n = 0; n < 3; n += 1) await send(few, 'tools/call', transfer({ arguments: { to: `acct-${n}` } }));
    few.world.waiting = gateway.world.waiting;
    few.world.invocations.length = 0;
    const body = '{"task":{"id":"arq_1"}}';
    const headers = signedHeaders(webhook, { id: 'msg_few', at: new Date(), body });
    expect((await fetch(`${few.url}/callbacks/previews`, { method: 'POST', body, headers })).status).toBe(200);
    expect(few.world.invocations).toHaveLength(1);
  });

  it.each([
    ['the server gives none', 200, { fault: 'unreachable' }, (): void => void (gateway.world.invocation = NO_ANSWER)],
    ['the tool has no preview any more', 409, {}, () => void gateway.change({ tools: {} })],
    ['no call waits for the request', 404, {}, () => void (gateway.world.waiting = undefined)],
    ['the call ended meanwhile', 409, {}, () => void (gateway.world.previewVerdict = 'over')],
    ['another gateway was faster', 409, {}, () => void (gateway.world.previewVerdict = 'taken')],
  ])('has no preview and no record if %s', async (_what, status, body, arrange) => {
    arrange();
    const answer = await ask();
    expect([answer.status, answer.body]).toMatchObject([status, body]);
    expect(answer.body).not.toHaveProperty('preview');
    expect(gateway.world.previews).toEqual([]);
  });

  it.each([
    ['that is not signed for its body', '{"task":{"id":"arq_2"}}', 401, '{"task":{"id":"arq_1"}}'],
    ['that is a callback', '{"task":{"id":"arq_1","status":"approved"}}', 400],
    ['that is no JSON', 'x', 400],
  ])('%s is refused, and no server is asked', async (_what, body, status, signed = body) => {
    expect((await ask(body, { signed })).status).toBe(status);
    expect([gateway.world.callbacks, gateway.world.invocations]).toEqual([[], []]);
  });
});
