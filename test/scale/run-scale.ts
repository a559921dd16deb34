import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { adoptTemporal } from '../../apps/shared/embedded/temporal.ts';
import { createTemporalClient } from '../../apps/shared/temporal/connection.ts';
import { checkInvariants, type Violation } from '../invariants/check-invariants.ts';
import { openGatedCall } from '../bench/mcp-caller.ts';
import { measure } from '../bench/stats.ts';
import { sealedDatabase } from '../support/artefacts.ts';
import { arrivalsAt } from '../support/file-server.ts';
import { outboxesAreEmpty } from '../support/outboxes.ts';
import { residentBytes } from '../support/resident-bytes.ts';
import { requestOf, sealsOf } from '../support/sealed-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { patiently, waitFor } from '../support/wait-for.ts';
import { herdOf, notingRequests, stampedes, type Herd } from './herd.ts';

export interface ScaleOptions {
  /** Calls that wait for an approval. */
  readonly calls: number;
  /** The number of them that are approved after the restart. */
  readonly approved: number;
  readonly onProgress: (what: string) => void;
}

/** Bytes on disk and of memory, of all parts together. */
export interface Footprint {
  readonly postgresDisk: number;
  readonly temporalDisk: number;
  readonly productMemory: number;
  readonly temporalMemory: number;
}

export interface ScaleFigures {
  readonly calls: number;
  readonly openedPerSecond: number;
  readonly empty: Footprint;
  readonly waiting: Footprint;
  /** Seconds since everything was started again. */
  readonly ready: number;
  readonly firstRead: number;
  readonly approvedExecuted: number;
  readonly newCallOpened: number;
  /** Counted from then on, too. */
  readonly herd: Herd;
  /** Calls with a wrong outcome. */
  readonly faults: readonly string[];
  readonly violations: readonly Violation[];
  /** All violations, and a stampede, in words. Empty when there are none. */
  readonly problems: readonly string[];
}

const AGENTS = Array.from({ length: 16 }, (_, index) => ({
  name: `agent-${index + 1}`,
  displayName: `Agent ${index + 1}`,
  roles: ['agent'],
}));

/** Opens the calls, kills everything at once, starts it again, and measures how soon each part works. */
export async function runScale({ calls, approved, onProgress }: ScaleOptions): Promise<ScaleFigures> {
  onProgress('starting the product, as `npm start` does');
  const stack = await startStack({
    parts: 'together',
    timeLimitFactor: 1,
    config: {
      // The product's own limits and pauses; the stack of the tests has others.
      gateway: { maxOpenPerCaller: calls + 1, executionTimeoutSeconds: 60 },
      worker: { resolutionPollMinSeconds: 30, resolutionPollMaxSeconds: 600 },
      identity: { people: [...AGENTS, { name: 'alice', displayName: 'Alice Approver', roles: ['approver'] }] },
    },
  });
  try {
    const empty = await footprint(stack);
    const opened = await openCalls(stack, { calls, onProgress });
    const waiting = await footprint(stack);
    onProgress('killing everything, and starting it again');
    await stack.killEverything();
    const { newTaskId, requests, ...times } = await recover(stack, opened.taskIds, approved);
    onProgress('looking at every call');
    const faults = await faultsAmong(stack, opened.taskIds, approved);
    const violations = await violationsIn(stack, [...opened.taskIds, newTaskId]);
    const found = { herd: herdOf(stack, requests), faults, violations };
    const problems = problemsOf(found, approved);
    return { calls, openedPerSecond: opened.perSecond, empty, waiting, ...times, ...found, problems };
  } finally {
    await stack.stop();
  }
}

/** A call that has not ended by then counts as a fault. */
const PATIENCE_MS = 300_000;
const FIRST_STEPS_MS = 600_000;

const pathOf = (stack: Stack, index: number) => join(stack.files, `scale-${index}.txt`);
const writeOf = (stack: Stack, index: number) => ({
  name: 'files__write_file',
  arguments: { path: pathOf(stack, index), content: `content ${index}` },
});
const agentOf = (index: number) => AGENTS[index % AGENTS.length]?.name ?? '';

async function openCalls(stack: Stack, { calls, onProgress }: Pick<ScaleOptions, 'calls' | 'onProgress'>) {
  const taskIds: string[] = [];
  const { perSecond } = await measure({ count: calls, callers: AGENTS.length }, async (index) => {
    const token = await stack.token(agentOf(index));
    taskIds[index] = await openedAt(stack, token, writeOf(stack, index));
    if (index > 0 && index % 1_000 === 0) onProgress(`${index} calls are open`);
  });
  onProgress('all calls are open; waiting until each workflow waits');
  await outboxesAreEmpty(await stack.database(), { timeoutMs: FIRST_STEPS_MS });
  await firstStepsAreTaken(stack);
  return { taskIds, perSecond };
}

/** Waits until no workflow has a task in the queue. A workflow that has not taken its first step does not wait yet. */
async function firstStepsAreTaken({ stateDir, config }: Stack): Promise<void> {
  const address = (await adoptTemporal(stateDir))?.address ?? 'none';
  const { client, close } = createTemporalClient({ ...config.temporal, address });
  try {
    const { namespace, taskQueue: name } = config.temporal;
    const request = { namespace, taskQueue: { name }, reportStats: true };
    const backlog = async () => {
      const { stats } = await client.workflowService.describeTaskQueue(request);
      return Number(stats?.approximateBacklogCount ?? Number.NaN);
    };
    await waitFor(async () => (await backlog()) === 0, { timeoutMs: FIRST_STEPS_MS, everyMs: 1_000 });
  } finally {
    await close();
  }
}

/** An agent that is told to try again on a busy machine does so, and finds the call that it opened. */
const openedAt = (stack: Stack, token: string, call: ReturnType<typeof writeOf>) =>
  patiently(() => openGatedCall(stack.config.urls.mcp, token, call), { everyMs: 1_000 });

/** Each time is from the start of the restart, in seconds. */
async function recover(stack: Stack, taskIds: readonly string[], approved: number) {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1_000;
  await stack.startPart('up', notingRequests(stack));
  const ready = since();
  await statusOf(stack, taskIds, 0);
  const firstRead = since();
  const chosen = taskIds.slice(0, approved);
  const of = await sealedDatabase(stack);
  const requests: string[] = [];
  await measure({ count: approved, callers: 8 }, async (index) => {
    const request = await requestOf(of, chosen[index] ?? '');
    requests.push(request.id);
    const answer = await stack.decide(request, { verdict: 'approve' });
    if (!answer.ok) throw new Error(`an approval was answered with ${answer.status}`);
  });
  let overdue = 0;
  await measure({ count: approved, callers: approved }, async (index) => {
    const hasEnded = async () => (await statusOf(stack, taskIds, index)) !== 'working';
    await waitFor(hasEnded, { timeoutMs: PATIENCE_MS, everyMs: 1_000 }).catch(() => (overdue += 1));
  });
  const approvedExecuted = overdue > 0 ? Infinity : since();
  const another = writeOf(stack, taskIds.length);
  const newTaskId = await openedAt(stack, await stack.token(agentOf(0)), another);
  return { ready, firstRead, approvedExecuted, newCallOpened: since(), newTaskId, requests };
}

async function statusOf(stack: Stack, taskIds: readonly string[], index: number): Promise<string> {
  const { body } = await stack.rpc(await stack.token(agentOf(index)), 'tasks/get', { taskId: taskIds[index] });
  const result = body.result?.['result'] as { isError?: boolean; content?: unknown } | undefined;
  if (result?.isError === true) return `error ${JSON.stringify(result.content)}`;
  const status = body.result?.['status'];
  return typeof status === 'string' ? status : `no task: ${JSON.stringify(body)}`;
}

/** The approved calls ran once, all others still wait and did not run. */
async function faultsAmong(stack: Stack, taskIds: readonly string[], approved: number): Promise<string[]> {
  const writes = new Map<string, number>();
  for (const call of stack.upstreamCalls()) {
    const path = String(call.arguments['path']);
    writes.set(path, (writes.get(path) ?? 0) + 1);
  }
  const faults: string[] = [];
  await measure({ count: taskIds.length, callers: AGENTS.length }, async (index) => {
    const found = `${await statusOf(stack, taskIds, index)}, ${writes.get(pathOf(stack, index)) ?? 0} writes`;
    const right = index < approved ? 'completed, 1 writes' : 'working, 0 writes';
    if (found !== right) faults.push(`call ${index}: ${found}; expected ${right}`);
  });
  return faults;
}

/** No call was sent when everything was killed, so no outcome may be unknown. */
async function violationsIn(stack: Stack, seenTaskIds: readonly string[]): Promise<Violation[]> {
  const of = await sealedDatabase(stack);
  await outboxesAreEmpty(of.database, { timeoutMs: PATIENCE_MS });
  const arrivals = arrivalsAt(stack);
  const keyed = sealsOf(of).digest;
  return checkInvariants(of.database, { arrivals, seenTaskIds, faults: [], quietForMs: 1_000, keyed });
}

type Found = Pick<ScaleFigures, 'herd' | 'faults' | 'violations'>;

function problemsOf({ herd, faults, violations }: Found, approved: number): string[] {
  return [
    ...stampedes(herd, approved),
    ...faults,
    ...violations.map(({ invariant, cases }) => `no longer holds: ${invariant}: ${JSON.stringify(cases)}`),
  ];
}

async function footprint(stack: Stack): Promise<Footprint> {
  const database = await stack.database();
  const { rows } = await database.query<{ bytes: string }>('SELECT pg_database_size(current_database()) AS bytes');
  const folder = join(stack.stateDir, 'temporal');
  const files = readdirSync(folder).filter((name) => name.startsWith('temporal.db'));
  const [, temporalPid = Number.NaN] = stack.embeddedPids();
  return {
    postgresDisk: Number(rows[0]?.bytes),
    temporalDisk: files.reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0),
    productMemory: residentBytes(stack.pid('up')),
    temporalMemory: residentBytes(temporalPid),
  };
}
