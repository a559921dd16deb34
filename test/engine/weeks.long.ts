import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { gatedCallWorkflowId } from '../../workflows/ids.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, statusOf, type Engine } from '../support/engine.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';
import { waitFor } from '../support/wait-for.ts';

const DAY_MS = 86_400_000;
const WEEKS = 3;
const EXECUTION_MS = 3_600_000;
const REQUEST_TTL_MS = 7 * (WEEKS + 1) * DAY_MS;

let time!: TestWorkflowEnvironment;
let engine!: Engine;
beforeAll(async () => {
  time = await startTimeSkipping();
  const world = { requestTtlMs: REQUEST_TTL_MS, executionTimeoutMs: EXECUTION_MS };
  engine = await startEngine({ address: time.address, restMs: REQUEST_TTL_MS, world });
  await engine.startWorker();
}, 400_000);
afterAll(async () => {
  await engine?.stop();
  await time?.teardown();
});

it.each([
  ['was never woken', async (call: WorldCall) => engine.workflows.start(call.gatedCallId)],
  ['was woken for nothing', wokenForNothing],
])(
  `a call that waits for ${WEEKS} weeks and %s costs no step in them, and is executed once`,
  async (what, begin) => {
    const { world, workflows } = engine;
    const call = await world.hold();
    await begin(call);
    const [began, looks] = [await time.currentTimeMs(), world.counts.looks];
    for (let day = 1; day <= 7 * WEEKS; day += 1) {
      await time.sleep(DAY_MS);
      // Asked every day for the connection's sake as well: this server ends one that only ever pings.
      expect(await statusOf(engine.handle(call))).toBe('RUNNING');
    }
    expect(await time.currentTimeMs()).toBeGreaterThanOrEqual(began + 7 * WEEKS * DAY_MS);
    expect([await world.stateOf(call), world.counts.looks, world.arrivalsOf(call)]).toEqual(['pending', looks, 0]);
    world.approve(call);
    await workflows.poke(call.gatedCallId);
    expect(await world.ended(call)).toBe('executed');
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect(world.arrivalsOf(call)).toBe(1);
    const runs = await runsOf(call);
    report(`${WEEKS} weeks, ${what}`, { events: runs });
    expect(runs).toHaveLength(1);
    expect(runs[0]).toBeLessThan(30);
  },
  900_000,
);

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
  report('an execution', { events: runs });
  expect(runs.length).toBeGreaterThan(2);
  expect(Math.max(...runs)).toBeLessThan(2_100);
}, 600_000);

async function wokenForNothing(call: WorldCall): Promise<void> {
  const before = engine.world.counts.looks;
  await engine.workflows.poke(call.gatedCallId);
  await waitFor(() => engine.world.counts.looks > before);
}

/** The events of every run of the call's workflow, the first one first: each says which one it goes on from. */
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
