import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { gatedCallWorkflowId } from '../../workflows/ids.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, statusOf, type Engine } from '../support/engine.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';
import { waitFor } from '../support/wait-for.ts';

const DAY_MS = 86_400_000;
const WEEKS = 3;
const EXECUTION_MS = 3_600_000;
/** The pauses of an installation that configures none. */
const { worker } = parseConfig({}, { baseDir: '/', stateDir: '/' });
const pollMinMs = worker.resolutionPollMinSeconds * 1_000;
const pollMaxMs = worker.resolutionPollMaxSeconds * 1_000;

let time!: TestWorkflowEnvironment;
let engine!: Engine;
beforeAll(async () => {
  time = await startTimeSkipping();
  const world = { pollMinMs, pollMaxMs, requestTtlMs: 7 * (WEEKS + 1) * DAY_MS, executionTimeoutMs: EXECUTION_MS };
  engine = await startEngine({ address: time.address, firstLookMs: pollMinMs, world });
  await engine.startWorker();
}, 400_000);
afterAll(async () => {
  await engine?.stop();
  await time?.teardown();
});

it(`a call that waits for ${WEEKS} weeks is looked at all the time and executed once`, async () => {
  const { world, workflows } = engine;
  const call = await world.hold();
  await workflows.start(call.gatedCallId);
  const began = await time.currentTimeMs();
  const looks: number[] = [];
  for (let day = 1; day <= 7 * WEEKS; day += 1) {
    const before = world.counts.looks;
    await time.sleep(DAY_MS);
    looks.push(world.counts.looks - before);
    // Asked every day for the connection's sake as well: this server ends one that only ever pings.
    expect(await statusOf(engine.handle(call))).toBe('RUNNING');
  }
  expect(await time.currentTimeMs()).toBeGreaterThanOrEqual(began + 7 * WEEKS * DAY_MS);
  expect([await world.stateOf(call), world.arrivalsOf(call)]).toEqual(['pending', 0]);
  // A pause is up to a fifth shorter than the longest one, and no look is lost where a run hands over.
  expect(Math.min(...looks)).toBeGreaterThanOrEqual(Math.floor(DAY_MS / pollMaxMs) - 1);
  expect(Math.max(...looks)).toBeLessThan(DAY_MS / (0.8 * pollMaxMs) + 10);
  world.approve(call);
  await workflows.poke(call.gatedCallId);
  expect(await world.ended(call)).toBe('executed');
  expect(await engine.closed(call)).toBe('COMPLETED');
  expect(world.arrivalsOf(call)).toBe(1);

  const runs = await runsOf(call);
  report(`${WEEKS} weeks`, { looks, runs: runs.map(({ events }) => events) });
  expect(runs.length).toBeGreaterThan(WEEKS);
  expect(Math.max(...runs.map(({ events }) => events))).toBeLessThan(2_100);
  // Only the first looks are close to each other: a run goes on with the pauses of the one before it.
  const later = runs.slice(1).flatMap(({ pausesMs }) => pausesMs);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(0.8 * pollMaxMs);
}, 900_000);

it('an execution of which nothing is known for long hands over as well: it is not sent again, and ends at its deadline', async () => {
  const { world, workflows } = engine;
  const call = await world.hold();
  world.approve(call);
  world.say(call, { result: new Error('the worker does not know what became of it') });
  await workflows.poke(call.gatedCallId);
  await waitFor(async () => world.arrivalsOf(call) === 1);
  const first = (await engine.handle(call).describe()).runId;
  // The database has its own clock. To it the deadline stays far away, however often the workflow comes to look.
  await time.sleep(1_000 * EXECUTION_MS);
  expect((await engine.handle(call).describe()).runId).not.toBe(first);
  expect([await world.stateOf(call), world.arrivalsOf(call)]).toEqual(['claimed', 1]);

  await engine.db.pool.query('UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE id = $1', [
    call.gatedCallId,
  ]);
  await time.sleep(2 * EXECUTION_MS);
  expect(await world.ended(call)).toBe('outcome_unknown');
  expect(await engine.closed(call)).toBe('COMPLETED');
  expect(world.arrivalsOf(call)).toBe(1);
  const runs = await runsOf(call);
  report('an execution', { runs: runs.map(({ events }) => events) });
  expect(runs.length).toBeGreaterThan(2);
  expect(Math.max(...runs.map(({ events }) => events))).toBeLessThan(2_100);
}, 600_000);

/** Every run of the call's workflow, the first one first: each says which one it goes on from. */
async function runsOf(call: WorldCall) {
  const runs: { events: number; pausesMs: number[] }[] = [];
  const workflowId = gatedCallWorkflowId(call.gatedCallId);
  let runId: string | undefined = (await engine.handle(call).describe()).runId;
  while (runId !== undefined && runId !== '') {
    const { events } = await engine.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const pauses = (events ?? []).flatMap(({ timerStartedEventAttributes: timer }) => timer?.startToFireTimeout ?? []);
    const pausesMs = pauses.map(({ seconds, nanos }) => Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6);
    runs.unshift({ events: events?.length ?? 0, pausesMs });
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
  }
  return runs;
}

/** For people who read the output of a run. */
function report(what: string, figures: object): void {
  process.stderr.write(`      ${what}: ${JSON.stringify(figures)}\n`);
}
