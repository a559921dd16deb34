import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import { anApproval, gatedCallFixture } from '../../support/gated-calls.ts';
import { send, type Sent } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { subscribe } from '../../support/subscriber.ts';

let real: Awaited<ReturnType<typeof startRealGateway>>;
let token: string;
beforeAll(async () => {
  real = await startRealGateway({ maxOpenPerCaller: 100 });
  token = await real.authority.token({ aud: real.mcpUrl });
});
afterAll(() => real.stop());

/** Every member and word of the authority side: the answers of its stub, and the words of its protocol. */
const OF_THE_AUTHORITY = /canary|binding_token|evaluation_id|access_request|access\/v1|arq_|apr_/i;

function headersOf({ headers }: Sent): string {
  const lines: string[] = [];
  headers.forEach((value, name) => lines.push(`${name}: ${value}`));
  return lines.join('\n');
}

/** A task with canaries in its denial, handle and approval. It passes through all states, and a client reads and hears each. */
async function follow(n: number, states: readonly GatedCallState[]) {
  real.reset();
  const { accept } = real.authority;
  real.authority.accept = () => {
    const { status, body } = accept() as { status: number; body: { task: object } };
    return { status, body: { task: { ...body.task, links: { ticket: `${real.authority.url}/canary-page` } } } };
  };
  const { lifecycle, calls, claim, endExecution } = gatedCallFixture(real.database.pool);
  const { text, body } = await real.send('tools/call', { name: 'files__pid', arguments: { n } }, token);
  const taskId = String(body.result?.['taskId']);
  const find = 'SELECT id FROM gateway.gated_call WHERE task_id = $1';
  const { rows } = await real.database.pool.query<{ id: string }>(find, [taskId]);
  const gatedCallId = rows[0]?.id ?? 'none';
  const subscriber = await subscribe(real, { taskIds: [taskId] }, { token });
  const call = { gatedCallId, claimId: randomUUID(), invocationId: randomUUID(), upstreamKey: randomUUID() };
  const settle = async (isError: boolean) => {
    await lifecycle.beginInvocation(call);
    const result = JSON.stringify({ content: [{ type: 'text', text: 'done' }], ...(isError && { isError }) });
    await lifecycle.settleResult({ ...call, cause: 'result' }, { isError, text: result });
  };
  const steps: Partial<Record<GatedCallState, () => Promise<unknown>>> = {
    granted: () => lifecycle.grant(gatedCallId, 1, anApproval({ id: `canary-approval-${n}`, state: 'canary-state' })),
    claimed: () => claim(gatedCallId, call.claimId),
    executed: () => settle(false),
    execution_error: () => settle(true),
    outcome_unknown: async () => {
      await lifecycle.beginInvocation(call);
      await endExecution(call);
    },
    denied: () => lifecycle.end(gatedCallId, 'denied', 'resolution_denied', 'resolution'),
    failed: () => lifecycle.end(gatedCallId, 'failed', 'resolution_failed', 'resolution'),
    cancelled: () => calls.cancel(gatedCallId),
  };
  const texts = [text];
  const shown: string[] = [];
  try {
    for (const state of states) {
      await steps[state]?.();
      const got = await real.send('tasks/get', { taskId }, token);
      const status = String(got.body.result?.['status']);
      await subscriber.shown(status);
      texts.push(got.text, headersOf(got));
      shown.push(status);
    }
  } finally {
    subscriber.leave();
  }
  return { shown, texts: [...texts, JSON.stringify(subscriber.messages), JSON.stringify(subscriber.headers)] };
}

it('no state of a task reveals the authority side, by tasks/get or by a subscription [AT-6, APPR-215, ARAP-SEC-05]', async () => {
  const lives: GatedCallState[][] = [
    ['pending', 'granted', 'claimed', 'executed'],
    ['pending', 'granted', 'claimed', 'execution_error'],
    ['pending', 'granted', 'claimed', 'outcome_unknown'],
    ['pending', 'denied'],
    ['pending', 'failed'],
    ['pending', 'cancelled'],
  ];
  const seen = [];
  for (const [n, states] of lives.entries()) seen.push(await follow(n, states));
  expect(seen.map(({ shown }) => shown.at(-1))).toEqual([
    ...['completed', 'completed', 'completed', 'completed', 'failed', 'cancelled'],
  ]);
  // The canaries reached the gateway, so they could have leaked. A client without tasks reads the address of the page.
  const call = { name: 'files__pid', arguments: { n: lives.length } };
  const plain = await send(real, 'tools/call', call, { capabilities: {}, token });
  expect(plain.text).toContain(`on the page ${real.authority.url}/canary-page.`);
  expect(JSON.stringify(real.authority.submissions())).toMatch(/canary-token/);
  for (const { texts } of seen) for (const text of texts) expect(text).not.toMatch(OF_THE_AUTHORITY);
});

it('no error reveals the authority side [AT-6]', async () => {
  const call = () => real.send('tools/call', { name: 'files__pid', arguments: { n: 'error' } }, token);
  real.reset();
  const answers = [];
  real.authority.accept = () => ({ status: 503, body: { detail: 'canary', access_request: 'canary' } });
  answers.push(await call());
  real.authority.accept = () => ({ status: 400, body: { title: 'canary' } });
  answers.push(await call());
  real.authority.decide = () => ({ decision: false, context: { reason: 'canary', evaluation_id: 'canary' } });
  answers.push(await call());
  real.authority.decide = () => 'canary: not an answer';
  answers.push(await call());
  for (const answer of answers) {
    const { text } = answer;
    expect(text).toMatch(/did not run|error/);
    expect(text + headersOf(answer)).not.toMatch(OF_THE_AUTHORITY);
  }
});
