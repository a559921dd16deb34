import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { gatedCallWorkflowId } from '../../workflows/messages.ts';
import { callAt } from '../support/engine-stages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, statusOf, type Engine } from '../support/engine.ts';
import { inParallel, times } from '../support/regime.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';
import { waitFor } from '../support/wait-for.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;
const EXECUTION_MS = 3_600_000;
const REQUEST_TTL_MS = (DAYS + 5) * DAY_MS;
/** A run of the workflow with more events than this at its next step hands over to the next one. */
const EVENTS_PER_RUN = 2_000;

let time!: TestWorkflowEnvironment;
let engine!: Engine;
beforeAll(async () => {
  time = await startTimeSkipping();
  const world = { requestTtlMs: REQUEST_TTL_MS, executionTimeoutMs: EXECUTION_MS };
  engine = await startEngine({ address: time.address, world });
  await engine.startWorker();
}, 400_000);
afterAll(async () => {
  await engine?.stop();
  await time?.teardown();
});

/** The number of days; on each day the test asks for the workflow and does something to it. */
async function waitForDays(call: WorldCall, onEach: () => Promise<unknown> = async () => undefined): Promise<void> {
  const began = await time.currentTimeMs();
  for (let day = 1; day <= DAYS; day += 1) {
    await time.sleep(DAY_MS);
    // The daily question also keeps the connection alive: this server ends a connection that only pings.
    expect(await statusOf(engine.handle(call))).toBe('RUNNING');
    await onEach();
  }
  expect(await time.currentTimeMs()).toBeGreaterThanOrEqual(began + DAYS * DAY_MS);
  expect([await engine.world.stateOf(call), engine.world.arrivalsOf(call)]).toEqual(['pending', 0]);
}
/** The call is approved after all, and executed once. Answers the number of events of each run of its workflow. */
async function approved(call: WorldCall, what: string): Promise<number[]> {
  const { world, workflows } = engine;
  world.approve(call);
  await workflows.signal(call.gatedCallId);
  expect(await world.ended(call)).toBe('executed');
  expect(await engine.closed(call)).toBe('COMPLETED');
  expect(world.arrivalsOf(call)).toBe(1);
  const runs = await runsOf(call);
  report(`${DAYS} days, ${what}`, { events: runs });
  return runs;
}

it.each([
  ['was never signalled', neverSignalled],
  ['was signalled for nothing', () => callAt('awaits its resolution', engine)],
])(
  `a call that waits for ${DAYS} days and %s costs no step in them, and is executed once`,
  async (what, begin) => {
    const call = await begin();
    const { reads } = engine.world.counts;
    await waitForDays(call);
    expect(engine.world.counts.reads).toBe(reads);
    const [only, ...others] = await approved(call, what);
    expect(others).toEqual([]);
    expect(only).toBeLessThan(30);
  },
  900_000,
);

it(`a call that waits for ${DAYS} days and is signalled all the time hands over from run to run, and is executed once`, async () => {
  const SIGNALS = times(100, 300);
  const call = await callAt('awaits its resolution', engine);
  const before = engine.world.counts.reads;
  await waitForDays(call, () => inParallel(SIGNALS, 50, async () => engine.handle(call).signal('changed')));
  // Five in a row are answered at once, then one in five seconds.
  expect(engine.world.counts.reads - before).toBeLessThan(DAYS * 10);
  const runs = await approved(call, 'signalled all the time');
  expect(runs.length).toBeGreaterThan(1);
  expect(Math.max(...runs)).toBeLessThan(EVENTS_PER_RUN + 2 * SIGNALS);
}, 900_000);

it('an execution with an unknown outcome hands over as well: it is not sent again, and ends at its deadline', async () => {
  const { world, workflows } = engine;
  const call = await world.hold();
  world.approve(call);
  world.say(call, { result: new Error('the worker does not know what became of it') });
  await workflows.signal(call.gatedCallId);
  await waitFor(async () => world.arrivalsOf(call) === 1);
  const first = (await engine.handle(call).describe()).runId;
  // The database has its own clock, by which the deadline stays far away, however often the workflow asks.
  await time.sleep(times(500, 1_000) * EXECUTION_MS);
  expect((await engine.handle(call).describe()).runId).not.toBe(first);
  expect([await world.stateOf(call), world.arrivalsOf(call)]).toEqual(['claimed', 1]);

  await world.fixture.endExecution(call);
  await time.sleep(2 * EXECUTION_MS);
  expect(await world.ended(call)).toBe('outcome_unknown');
  expect(await engine.closed(call)).toBe('COMPLETED');
  expect(world.arrivalsOf(call)).toBe(1);
  const runs = await runsOf(call);
  report('an execution', { events: runs });
  expect(runs.length).toBeGreaterThan(1);
  expect(Math.max(...runs)).toBeLessThan(EVENTS_PER_RUN + 100);
}, 600_000);

async function neverSignalled(): Promise<WorldCall> {
  return callAt('waits since its start', engine);
}

/** The events of every run of the call's workflow, the first one first: each names the run it continues. */
async function runsOf(call: WorldCall): Promise<number[]> {
  const runs: number[] = [];
  const workflowId = gatedCallWorkflowId(call.gatedCallId);
  let runId: string | undefined = (await engine.handle(call).describe()).runId;
  while (runId !== undefined && runId !== '') {
    const { events } = await engine.client.workflow.getHandle(workflowId, runId).fetchHistory();
    runs.unshift(events?.length ?? 0);
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
  }
  return runs;
}

/** For people who read the output of a run. */
function report(what: string, figures: object): void {
  process.stderr.write(`      ${what}: ${JSON.stringify(figures)}\n`);
}
