import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomInt, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { decisionBody } from '../support/decisions.ts';
import { everySoOften } from '../support/postgres-faults.ts';
import { inParallel, times } from '../support/regime.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { sealedDatabase } from '../support/artefacts.ts';
import { requestOf, type SealedDatabase } from '../support/sealed-calls.ts';
import { patiently, waitFor } from '../support/wait-for.ts';

const MINUTE_MS = 60_000;

let stack!: Stack;
/** Looked up once: who looks for the server while it restarts would start another one. */
let sealed!: SealedDatabase;
beforeAll(async () => {
  stack = await startStack({
    parts: 'apart',
    config: { gateway: { maxOpenPerCaller: 10_000, executionTimeoutSeconds: 30 } },
  });
  sealed = await sealedDatabase(stack);
}, 180_000);
afterAll(() => stack?.stop());

const pathOf = (name: string) => join(stack.files, `${name}.txt`);
/** As a client does: the same again while it is told to repeat it. Any other error fails the test. */
const rpc = async (method: string, params: Record<string, unknown>) => {
  const token = await stack.token('agent');
  return waitFor(
    async () => {
      const { body, status, text } = await stack.rpc(token, method, params);
      if (body.result !== undefined) return body.result;
      expect([status, text]).toEqual([200, expect.stringMatching(/may be repeated later/)]);
      return undefined;
    },
    { timeoutMs: 2 * MINUTE_MS, everyMs: 200 },
  );
};
const requestBehind = (taskId: string) => patiently(() => requestOf(sealed, taskId), { timeoutMs: MINUTE_MS });

/** Makes a call that has to wait for an approval. */
async function hold(name: string): Promise<{ taskId: string; path: string }> {
  const path = pathOf(name);
  const held = await rpc('tools/call', { name: 'files__write_file', arguments: { path, content: name } });
  return { taskId: String(held['taskId']), path };
}

/** The approver repeats the same message until it is counted. */
async function approve(taskId: string): Promise<void> {
  const body = decisionBody(await requestBehind(taskId), { verdict: 'approve' });
  const message = { id: `msg_${randomUUID()}`, at: new Date() };
  await waitFor(async () => (await stack.postDecision(body, message)).ok, { timeoutMs: MINUTE_MS, everyMs: 200 });
}

async function hasRunOnce({ taskId, path }: { taskId: string; path: string }): Promise<void> {
  const ended = await waitFor(
    async () => {
      const task = await rpc('tasks/get', { taskId });
      return task['status'] === 'working' ? undefined : task;
    },
    { timeoutMs: 3 * MINUTE_MS, everyMs: 200 },
  );
  const result = ended['result'] as { _meta?: Record<string, unknown> };
  expect(result._meta?.['io.modelcontextprotocol/tool-approval-disposition']).toBe('approved-executed');
  const writes = stack.upstreamCalls().filter((call) => call.arguments['path'] === path);
  expect([writes.length, existsSync(path)]).toEqual([1, true]);
}

/** One call from its request to its end. */
async function life(name: string): Promise<string> {
  const held = await hold(name);
  await approve(held.taskId);
  await hasRunOnce(held);
  return held.taskId;
}

it('immediate restarts of Postgres under the whole product: every call runs once, and nobody is told otherwise', async () => {
  const tasks: string[] = [];
  const restarts = everySoOften(
    async () => {
      await stack.kill('postgres');
      await pause(randomInt(0, 1_500));
      await stack.startPart('postgres');
    },
    { fromMs: 1_500, toMs: 4_000 },
  );
  try {
    await inParallel(times(60, 1_000), 6, async (index) => void tasks.push(await life(`restart-${index}`)));
    // However fast the machine was with these, it is not over before there were some.
    while (restarts.count() < 2) tasks.push(await life(`restart-${tasks.length}`));
  } finally {
    await restarts.stop();
  }
  expect(new Set(tasks).size).toBe(tasks.length);
  const database = await stack.database();
  // The first question may go out on a connection that the last restart broke.
  const toDo = () => database.query('SELECT FROM gateway.outbox LIMIT 1').catch(() => undefined);
  await waitFor(async () => (await toDo())?.rowCount === 0, { timeoutMs: 2 * MINUTE_MS });
  await expectInvariants(database, { seenTaskIds: tasks });
}, 1_800_000);

it('a task can be read every time while Temporal, the worker, policy, approvals and the tool are all gone', async () => {
  const done = await life('done-before');
  const held = await hold('waits');
  const [cancelled, overdue] = [await hold('cancelled'), await hold('overdue')];
  const gone = ['temporal', 'worker', 'pdp', 'approvals'] as const;
  await Promise.all(gone.map((part) => stack.kill(part)));
  stack.holdUpstream();
  const token = await stack.token('agent');
  const read = async (taskId: string) => (await stack.rpc(token, 'tasks/get', { taskId })).body.result?.['status'];
  const seen: unknown[] = [];
  await inParallel(times(600, 10_000), 10, async () => void seen.push(await read(held.taskId), await read(done)));
  expect(seen.filter((status) => status === 'working')).toHaveLength(times(600, 10_000));
  expect(seen.filter((status) => status === 'completed')).toHaveLength(times(600, 10_000));
  // Cancellations and deadlines need nobody else either.
  expect((await stack.rpc(token, 'tasks/cancel', { taskId: cancelled.taskId })).body.result).toBeDefined();
  expect(await read(cancelled.taskId)).toBe('cancelled');
  const past = 'UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE task_id = $1';
  await (await stack.database()).query(past, [overdue.taskId]);
  expect(await read(overdue.taskId)).toBe('completed');
  stack.releaseUpstream();
  for (const part of gone) await stack.startPart(part);
  await approve(held.taskId);
  await hasRunOnce(held);
  await expectInvariants(await stack.database());
}, 300_000);
