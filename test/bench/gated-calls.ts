import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sealedDatabase } from '../support/artefacts.ts';
import { requestOf } from '../support/sealed-calls.ts';
import type { Stack } from '../support/stack.ts';
import type { Ledger } from './ledger-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { openGatedCall } from './mcp-caller.ts';
import { measure, summariseEach, type Sample } from './stats.ts';

/**
 * By then the first look is over and the second is far away: a wait consists almost entirely of the pause between two
 * looks.
 */
const WAITING_MS = 33_000;

const note = () => ({ name: 'ledger__note', arguments: { id: randomUUID() } });

/** From `tools/call` to the task handle, one caller at a time. */
export async function measureHandle(stack: Stack, count: number): Promise<Sample> {
  const token = await stack.token('agent');
  return measure({ count, callers: 1 }, () => openGatedCall(stack.config.urls.mcp, token, note()));
}

/** Opens calls and cancels them again, so that compilers are warm and these calls need no look later. */
export async function warmUpOpening(stack: Stack, agents: readonly string[], count: number): Promise<void> {
  const tokens = await Promise.all(agents.map((name) => stack.token(name)));
  const { mcp } = stack.config.urls;
  await measure({ count, callers: tokens.length }, async (_index, caller) => {
    const token = tokens[caller] ?? '';
    const { body } = await stack.rpc(token, 'tasks/cancel', { taskId: await openGatedCall(mcp, token, note()) });
    if (body.result === undefined) throw new Error(`a call could not be cancelled: ${JSON.stringify(body)}`);
  });
  await allStarted(stack);
}

export interface Opening extends Sample {
  /** Milliseconds from the last handle until every call's workflow had started. */
  readonly lagMs: number;
}

/** Gated calls opened by agents that all work at once, one call each. `perSecond` is the figure. */
export async function measureOpening(stack: Stack, agents: readonly string[], count: number): Promise<Opening> {
  const tokens = await Promise.all(agents.map((name) => stack.token(name)));
  const sample = await measure({ count, callers: tokens.length }, (_index, caller) =>
    openGatedCall(stack.config.urls.mcp, tokens[caller] ?? '', note()),
  );
  const last = performance.now();
  await allStarted(stack);
  return { ...sample, lagMs: performance.now() - last };
}

async function allStarted(stack: Stack): Promise<void> {
  const database = await stack.database();
  await waitFor(async () => (await database.query('SELECT FROM gateway.outbox LIMIT 1')).rowCount === 0, {
    timeoutMs: 120_000,
  });
}

/**
 * From the moment the approver's webhook is sent to the arrival of the call at the upstream. Calls are measured one at a
 * time, and have been waiting: a person does not answer in the instant the call is made.
 */
export async function measureApprovalToTool(stack: Stack, ledger: Ledger, count: number): Promise<Sample> {
  const token = await stack.token('agent');
  const calls: { id: string; taskId: string }[] = [];
  for (let index = 0; index < count; index += 1) {
    const call = note();
    calls.push({ id: call.arguments.id, taskId: await openGatedCall(stack.config.urls.mcp, token, call) });
  }
  await pause(WAITING_MS);
  const durations: number[] = [];
  for (const { id, taskId } of calls) {
    const request = await requestOf(await sealedDatabase(stack), taskId);
    const arrived = ledger.arrival(id);
    const sent = performance.now();
    await stack.decide(request, { verdict: 'approve' });
    durations.push((await arrived) - sent);
  }
  return summariseEach(durations);
}
