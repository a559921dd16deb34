import { existsSync, readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { heldCalls } from './held-calls.ts';
import type { Part, Stack } from './stack.ts';
import { waitFor } from './wait-for.ts';

/**
 * Kills parts of the product while three calls are under way, starts them again, and expects that each call ran once:
 * one is at its tool, which does not answer; one waits for an approval; one is approved and waits for the policy
 * decision. `meanwhile` happens while the parts are dead.
 */
export async function killAmidCalls(
  stack: Stack,
  parts: readonly Part[],
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  const { hold, approve, end, endExecution, writes } = heldCalls(() => stack);
  const isGranted = async (taskId: string) => {
    const text = `SELECT FROM gateway.gated_call WHERE task_id = $1 AND state = 'granted'`;
    return (await (await stack.database()).query(text, [taskId])).rowCount === 1;
  };

  const running = await hold();
  stack.holdUpstream();
  await approve(running.request);
  await waitFor(() => writes(running.path) === 1);
  const waiting = await hold();
  const approved = await hold([waiting.request]);
  stack.signal('pdp', 'SIGSTOP');
  await approve(approved.request);
  await waitFor(() => isGranted(approved.taskId));

  await Promise.all(parts.map((part) => stack.kill(part)));
  await meanwhile();
  stack.signal('pdp', 'SIGCONT');
  stack.releaseUpstream();
  // The engine first: the worker does not start without it.
  for (const part of [...parts].sort((a, b) => Number(b === 'temporal') - Number(a === 'temporal')))
    await stack.startPart(part);

  await approve(waiting.request);
  for (const { taskId, path } of [waiting, approved]) {
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, path]);
  }
  const workerDied = parts.includes('worker');
  if (workerDied) await endExecution(running.taskId);
  const { disposition } = await end(running.taskId);
  expect(disposition).toBe(workerDied ? 'outcome-unknown' : 'approved-executed');
  expect([writes(running.path), workerDied || existsSync(running.path)]).toEqual([1, true]);
}
