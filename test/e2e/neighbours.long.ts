import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { timesLogged } from '../support/artefacts.ts';
import { heldCalls } from '../support/held-calls.ts';
import { DEPLOYABLES, type Part, startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

// What each process says of a neighbour that is gone: to a probe, and to the operator who reads the log.
let stack!: Stack;
const { hold, approve, end } = heldCalls(() => stack);
beforeAll(async () => {
  stack = await startStack({ parts: 'apart', timeLimitFactor: 1 });
});
afterAll(() => stack?.stop());

type Process = (typeof DEPLOYABLES)[number];
const SERVING = DEPLOYABLES.filter((part) => part !== 'worker');

/** The answer of a process to its probe: its status, and why. */
async function probe(part: Process) {
  const answer = await fetch(`${stack.config.urls[part as 'gateway']}/readyz`);
  const { problems = [], concerns = [] } = (await answer.json()) as { problems?: string[]; concerns?: string[] };
  return { status: answer.status, problems: problems.join(), concerns: concerns.join() };
}

const untilReady = () =>
  waitFor(async () => {
    const found = await Promise.all(SERVING.map(probe));
    return found.every(({ status, concerns }) => status === 200 && concerns === '') ? true : undefined;
  });

/** Waits until these processes raise the alarm, each of them once. */
async function alarmOf(alarm: string, parts: readonly string[], before: Record<string, number>) {
  const raised = (part: string) => timesLogged(stack, `"alarm":"${alarm}"`, part) - (before[part] ?? 0);
  await waitFor(() => (parts.every((part) => raised(part) === 1) ? true : undefined), { timeoutMs: 120_000 });
}
const countOf = (alarm: string) =>
  Object.fromEntries(DEPLOYABLES.map((part) => [part, timesLogged(stack, `"alarm":"${alarm}"`, part)]));

const setReadOnly = async (mode: 'on' | 'off') => {
  const database = await stack.database();
  await database.query(`ALTER SYSTEM SET default_transaction_read_only = ${mode}`);
  await database.query('SELECT pg_reload_conf()');
};

describe('a database', () => {
  it.each([
    ['that is dead', () => stack.kill('postgres'), () => stack.startPart('postgres'), /does not answer/],
    ['that accepts no changes', () => setReadOnly('on'), () => setReadOnly('off'), /read-only/],
  ])('%s makes every process unready and raises the alarm in each', async (_how, lose, recover, words) => {
    const before = countOf('database_unusable');
    await lose();
    // The auditors' application reads on while nothing can be written.
    const unready = SERVING.filter((part) => words.source !== 'read-only' || part !== 'audit');
    for (const part of unready) {
      const found = await waitFor(async () => {
        const now = await probe(part);
        return now.status === 503 ? now : undefined;
      });
      expect([part, found.problems]).toEqual([part, expect.stringMatching(words)]);
    }
    await alarmOf('database_unusable', [...unready, 'worker'], before);
    await recover();
    await untilReady();
  });
});

it('a policy decision point that is dead is a concern of the gateway, which still shows tasks', async () => {
  const before = countOf('pdp_unusable');
  await stack.kill('pdp');
  const path = join(stack.files, 'undecided.txt');
  await stack.rpcOnce(await stack.token('agent'), 'tools/call', {
    name: 'files__write_file',
    arguments: { path, content: 'x' },
  });
  const found = await waitFor(async () => {
    const now = await probe('gateway');
    return now.concerns === '' ? undefined : now;
  });
  expect(found).toMatchObject({ status: 200, concerns: expect.stringMatching(/gives no answer; no call is allowed/) });
  await alarmOf('pdp_unusable', ['gateway'], before);
  await stack.startPart('pdp');
  await untilReady();
});

it('an engine that is dead raises an alarm in the worker', async () => {
  const before = countOf('engine_unusable');
  await stack.kill('temporal');
  await alarmOf('engine_unusable', ['worker'], before);
  await stack.startPart('temporal');
  const { taskId, request } = await hold();
  await approve(request);
  expect(await end(taskId)).toMatchObject({ disposition: 'approved-executed' });
});

it('workers that are all dead are a concern of the gateway as soon as work waits for one', async () => {
  const { taskId, request } = await hold();
  const before = countOf('work_not_taken');
  const worker: Part = 'worker';
  await stack.kill(worker);
  await approve(request);
  const found = await waitFor(
    async () => {
      const now = await probe('gateway');
      return now.concerns === '' ? undefined : now;
    },
    { timeoutMs: 120_000 },
  );
  expect(found).toMatchObject({
    status: 200,
    concerns: expect.stringMatching(/no worker takes the work of held calls/),
  });
  await alarmOf('work_not_taken', ['gateway'], before);
  await stack.startPart(worker);
  expect(await end(taskId)).toMatchObject({ disposition: 'approved-executed' });
  await untilReady();
});
