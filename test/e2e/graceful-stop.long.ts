import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { openGatedCall } from '../bench/mcp-caller.ts';
import { sealedDatabase } from '../support/artefacts.ts';
import { heldCalls } from '../support/held-calls.ts';
import { requestOf } from '../support/sealed-calls.ts';
import { startStack, type Part, type Stack } from '../support/stack.ts';
import { patiently, waitFor } from '../support/wait-for.ts';

const CALLS = 50;
/** Longer than a stop without any call at a tool. */
const SLOW_MS = 6_000;

let stack!: Stack;
const { end, writes } = heldCalls(() => stack);
beforeAll(async () => {
  stack = await startStack({
    parts: 'apart',
    config: {
      gateway: { maxOpenPerCaller: CALLS },
      worker: { resolutionPollMinSeconds: 30, resolutionPollMaxSeconds: 600 },
    },
  });
});
afterAll(() => stack?.stop());

const indices = Array.from({ length: CALLS }, (_, index) => index);
const pathOf = (run: string, index: number) => join(stack.files, `${run}-${index}.txt`);

/** Approved calls that wait for their tool's answer. */
async function callsInFlight(run: string): Promise<string[]> {
  const token = await stack.token('agent');
  const write = (index: number) => ({
    name: 'files__write_file',
    arguments: { path: pathOf(run, index), content: run },
  });
  const taskIds = await Promise.all(
    indices.map((index) => patiently(() => openGatedCall(stack.config.urls.mcp, token, write(index)))),
  );
  const of = await sealedDatabase(stack);
  stack.holdUpstream();
  for (const taskId of taskIds) await stack.decide(await requestOf(of, taskId), { verdict: 'approve' });
  await waitFor(() => indices.every((index) => writes(pathOf(run, index)) === 1), { timeoutMs: 150_000 });
  return taskIds;
}

it.each([
  ['of the worker', ['worker'], SLOW_MS],
  ['of every part', ['gateway', 'worker', 'pdp', 'approvals', 'audit'], 0],
] as const)(
  `a stop %s with ${CALLS} calls at their tool waits for their results`,
  async (run, parts: readonly Part[], toolMs) => {
    const taskIds = await callsInFlight(run);
    for (const part of parts) stack.signal(part, 'SIGTERM');
    const answersAt = performance.now() + toolMs;
    await waitFor(() => performance.now() >= answersAt);
    stack.releaseUpstream();
    await waitFor(() => parts.every((part) => !stack.isRunning(part)));
    for (const part of parts) await stack.startPart(part);
    const ends = await Promise.all(taskIds.map((taskId) => end(taskId)));
    expect(ends).toEqual(indices.map(() => ({ status: 'completed', disposition: 'approved-executed' })));
    expect(indices.map((index) => writes(pathOf(run, index)))).toEqual(indices.map(() => 1));
  },
);
