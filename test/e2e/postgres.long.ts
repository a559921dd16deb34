import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomInt, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { withOption } from '../../apps/shared/database/pool.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { endOf } from '../soak/lives.ts';
import { decisionBody } from '../support/decisions.ts';
import { allowFileServer, loseFileServer } from '../support/file-server.ts';
import { outboxesAreEmpty } from '../support/outboxes.ts';
import { everySoOften, setting } from '../support/postgres-faults.ts';
import { inParallel, times } from '../support/regime.ts';
import { shortenLeases } from '../support/shorten-leases.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { sealedDatabase } from '../support/artefacts.ts';
import { requestOf, type SealedDatabase } from '../support/sealed-calls.ts';
import { patiently, waitFor } from '../support/wait-for.ts';

const MINUTE_MS = 60_000;
const ONLY_READS = `SELECT WHERE current_setting('transaction_read_only') = 'on'`;
const LATER = expect.stringMatching(/The tool did not run\. The call may be repeated later\.$/);

let stack!: Stack;
/** Found once, because a search during a restart would start another server. */
let sealed!: SealedDatabase;
beforeAll(async () => {
  stack = await startStack({ parts: 'apart', timeLimitFactor: 1, config: { gateway: { maxOpenPerCaller: 10_000 } } });
  sealed = await sealedDatabase(stack);
});
afterAll(() => stack?.stop());

/** Two people who make calls. */
const OWNERS = ['agent', 'bob'] as const;
type Owner = (typeof OWNERS)[number];
interface Held {
  readonly taskId: string;
  readonly path: string;
  readonly owner: Owner;
}

const pathOf = (name: string) => join(stack.files, `${name}.txt`);
const writing = (name: string) => ({
  name: 'files__write_file',
  arguments: { path: pathOf(name), content: name },
});
const ask = async (method: string, params: Record<string, unknown>, owner: Owner = 'agent') =>
  stack.rpcOnce(await stack.token(owner), method, params);
/** Repeats the request, like a client, while it is told to. Any other error fails the test. */
const rpc = (...request: Parameters<typeof ask>) =>
  waitFor(
    async () => {
      const { body, text } = await ask(...request);
      if (body.result !== undefined) return body.result;
      expect(text).toMatch(/may be repeated later/);
      return undefined;
    },
    { timeoutMs: 2 * MINUTE_MS, everyMs: 200 },
  );
/** The answer to its owner about a task, asked once. */
const read = async ({ taskId, owner }: Held): Promise<Record<string, unknown>> => {
  const { result, error } = (await ask('tasks/get', { taskId }, owner)).body;
  return result ?? { error };
};
const requestBehind = (taskId: string) => patiently(() => requestOf(sealed, taskId), { timeoutMs: MINUTE_MS });

/** Makes a call that waits for an approval. */
async function hold(name: string, owner: Owner = 'agent'): Promise<Held> {
  const held = await rpc('tools/call', writing(name), owner);
  return { taskId: String(held['taskId']), path: pathOf(name), owner };
}

/** The approver repeats the same message until it is counted. */
async function decide({ taskId }: Held, verdict: 'approve' | 'deny' = 'approve'): Promise<void> {
  const body = decisionBody(await requestBehind(taskId), { verdict });
  const message = { id: `msg_${randomUUID()}`, at: new Date() };
  await waitFor(async () => (await stack.postDecision(body, message)).ok, { timeoutMs: MINUTE_MS, everyMs: 200 });
}

const ended = ({ taskId, owner }: Held) =>
  waitFor(
    async () => {
      const task = await rpc('tasks/get', { taskId }, owner);
      return task['status'] === 'working' ? undefined : task;
    },
    { timeoutMs: 3 * MINUTE_MS, everyMs: 200 },
  );

async function hasRunOnce(held: Held): Promise<void> {
  const task = await ended(held);
  expect({ ...task, end: endOf(task) }).toMatchObject({ end: 'approved-executed' });
  const writes = stack.upstreamCalls().filter((call) => call.arguments['path'] === held.path);
  expect([writes.length, existsSync(held.path)]).toEqual([1, true]);
}

/** One call from its request to its end. */
async function life(name: string): Promise<string> {
  const held = await hold(name);
  await decide(held);
  await hasRunOnce(held);
  return held.taskId;
}

/** A call with the answer to its owner before the faults. */
interface Known extends Held {
  readonly told: Record<string, unknown>;
}

/** For each owner, a waiting call, an executed one, a denied one and a cancelled one. */
async function callsInEveryState(name: string): Promise<Known[]> {
  const bring: Readonly<Record<string, (held: Held) => Promise<unknown>>> = {
    working: () => Promise.resolve(),
    'approved-executed': async (held) => {
      await decide(held);
      await hasRunOnce(held);
    },
    'denied-not-executed': async (held) => {
      await decide(held, 'deny');
      await ended(held);
    },
    cancelled: ({ taskId, owner }) => rpc('tasks/cancel', { taskId }, owner),
  };
  const calls = OWNERS.flatMap((owner) =>
    Object.entries(bring).map(async ([state, act]) => {
      const held = await hold(`${name}-${state}-${owner}`, owner);
      await act(held);
      const told = await read(held);
      expect(endOf(told)).toBe(state);
      return { ...held, told };
    }),
  );
  return Promise.all(calls);
}

/** Reads them all repeatedly: their owners get the same answer each time. */
async function readAgainAndAgain(calls: readonly Known[], count: number): Promise<void> {
  const different: unknown[] = [];
  await inParallel(count, 10, async (index) => {
    const known = calls[index % calls.length] as Known;
    const began = performance.now();
    let answer = await read(known);
    // The gateway gives its database up after five seconds. After such a standstill, the test asks once more.
    if ('error' in answer && performance.now() - began > 4_000) answer = await read(known);
    if (!isDeepStrictEqual(answer, known.told)) different.push({ answer, told: known.told });
  });
  expect([different.length, different[0]]).toEqual([0, undefined]);
}

it('every call runs once during immediate restarts of Postgres, and no client is told otherwise', async () => {
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
    await inParallel(times(30, 1_000), 6, async (index) => void tasks.push(await life(`restart-${index}`)));
    // On a fast machine, continues until there were some restarts.
    while (restarts.count() < 2) tasks.push(await life(`restart-${tasks.length}`));
  } finally {
    await restarts.stop();
  }
  expect(new Set(tasks).size).toBe(tasks.length);
  const database = await stack.database();
  await outboxesAreEmpty(database, { timeoutMs: 2 * MINUTE_MS });
  await expectInvariants(database, { seenTaskIds: tasks });
}, 1_800_000);

describe('while the database is read-only', () => {
  const url = () => sealed.database.options.connectionString ?? '';
  const readOnly = (value?: 'on') => setting(url(), 'default_transaction_read_only', value);
  const restartGateway = async (databaseUrl?: string) => {
    await stack.kill('gateway');
    await stack.startPart('gateway', databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl });
  };

  /** Tasks are shown as before, and no new task is opened. */
  async function nothingIsBegun(calls: readonly Known[], names: readonly string[]): Promise<void> {
    const reading = readAgainAndAgain(calls, times(200, 2_000));
    await inParallel(times(12, 120), 12, async (index) => {
      const { body } = await ask('tools/call', writing(names[index % names.length] ?? ''));
      expect([body.result, body.error]).toEqual([undefined, { code: -32_603, message: LATER }]);
    });
    await reading;
  }

  /** Earlier waiting calls and refused calls are approved and run once. */
  async function allIsDone(calls: readonly Known[], names: readonly string[]): Promise<string[]> {
    const waiting = calls.filter(({ told }) => told['status'] === 'working');
    const held = [...waiting, ...(await Promise.all(names.map((name) => hold(name))))];
    await Promise.all(held.map((one) => decide(one)));
    await Promise.all(held.map(hasRunOnce));
    return [...calls, ...held].map(({ taskId }) => taskId);
  }

  it('every task is shown, every new call must be repeated, and each runs once afterwards', async () => {
    const { database } = sealed;
    const [calls, names] = [await callsInEveryState('only-reads'), ['refused-1', 'refused-2', 'refused-3']];
    // At any step when it begins.
    const onTheirWay = Promise.all(Array.from({ length: 10 }, (_, index) => life(`on-its-way-${index}`)));
    await readOnly('on');
    try {
      await waitFor(async () => (await database.query(ONLY_READS)).rowCount === 1);
      await nothingIsBegun(calls, names);
    } finally {
      await readOnly();
    }
    const leases = everySoOften(() => shortenLeases(database), { fromMs: 500, toMs: 500 });
    const seenTaskIds = [...(await allIsDone(calls, names)), ...(await onTheirWay)];
    await leases.stop();
    await expectInvariants(database, { seenTaskIds });
  }, 600_000);

  // Otherwise each call ends at the policy decision point, which cannot record its decision.
  it("the same holds when only the gateway's connection is read-only", async () => {
    const [calls, names] = [await callsInEveryState('gateway-only-reads'), ['refused-4', 'refused-5', 'refused-6']];
    await restartGateway(withOption(url(), 'default_transaction_read_only=on'));
    try {
      await nothingIsBegun(calls, names);
    } finally {
      await restartGateway();
    }
    await expectInvariants(sealed.database, { seenTaskIds: await allIsDone(calls, names) });
  }, 600_000);
});

it('a task can be read while Temporal, the worker, policy, approvals and the tool are all gone', async () => {
  const calls = await callsInEveryState('all-gone');
  const [cancelled, overdue] = [await hold('cancelled'), await hold('overdue')];
  const gone = ['temporal', 'worker', 'pdp', 'approvals'] as const;
  await Promise.all([...gone.map((part) => stack.kill(part)), loseFileServer(stack)]);
  await readAgainAndAgain(calls, times(400, 20_000));
  // Cancellations and deadlines need no other actor either.
  expect((await ask('tasks/cancel', { taskId: cancelled.taskId })).body.result).toBeDefined();
  expect(endOf(await read(cancelled))).toBe('cancelled');
  const past = 'UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE task_id = $1';
  await (await stack.database()).query(past, [overdue.taskId]);
  expect(endOf(await read(overdue))).toBe('denied-not-executed');
  allowFileServer(stack);
  for (const part of gone) await stack.startPart(part);
  for (const held of calls.filter(({ told }) => told['status'] === 'working')) {
    await decide(held);
    await hasRunOnce(held);
  }
  await expectInvariants(await stack.database());
});
