import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { goOn, callAt } from '../support/engine-stages.ts';
import { lengthsOfRuns, startEngine, statusOf, type Engine } from '../support/engine.ts';
import { inParallel } from '../support/regime.ts';
import { testTemporal } from '../support/temporal.ts';
import { waitFor } from '../support/wait-for.ts';

let engine!: Engine;
beforeAll(async () => {
  const { address } = await testTemporal();
  engine = await startEngine({ address });
  await engine.startWorker();
});
afterAll(() => engine?.stop());

/** The number of signals under way at once. */
const AT_ONCE = 50;
/** Signals as an adversary mixes them: known ones, known ones with a cargo, unknown names. */
const junk = (handle: WorkflowHandle) => (index: number) =>
  [
    () => handle.signal('changed'),
    () => handle.signal('changed', { verdict: 'approve', gatedCallId: randomUUID() }, 'x'.repeat(1_000)),
    () => handle.signal(`${index % 2 === 0 ? '__temporal_' : ''}unknown-${index}`, index),
  ][index % 3]?.() ?? Promise.resolve();

describe.each([1_000])('%i duplicate, junk and reordered signals', (count) => {
  it('lead to few steps and a history within limits; the call is executed once', async () => {
    const { world } = engine;
    // So many signals at once can make a history that the SDK cannot go on from.
    const maintenance = await engine.startMaintenance();
    const call = await callAt('awaits its resolution', engine);
    const handle = engine.handle(call);
    const [before, began] = [world.counts.reads, performance.now()];
    await inParallel(count, AT_ONCE, junk(handle));
    const reads = world.counts.reads - before;
    // The machine may take any time for them: five at once, and then one in five seconds.
    const mostReads = 20 + (performance.now() - began) / 5_000;
    goOn(engine, [call]);
    await engine.workflows.signal(call.gatedCallId);
    expect(await world.ended(call)).toBe('executed');
    await inParallel(100, AT_ONCE, async () => void (await engine.workflows.signal(call.gatedCallId)));
    await engine.closed(call, 240_000);
    await maintenance.stop();
    const runs = await lengthsOfRuns(engine, call);
    expect(world.arrivalsOf(call)).toBe(1);
    expect(reads).toBeLessThan(mostReads);
    expect(Math.max(...runs)).toBeLessThan(10_000);
    report(`${count} signals`, { reads, runs });
  });
});

it('signals before its first step do not keep a workflow from taking it', async () => {
  const { world } = engine;
  const call = await callAt('waits since its start', engine);
  world.approve(call);
  await inParallel(300, AT_ONCE, junk(engine.handle(call)));
  await engine.workflows.signal(call.gatedCallId);
  expect(await world.ended(call)).toBe('executed');
  expect(world.arrivalsOf(call)).toBe(1);
});

it('an unreadable signal keeps no call from its execution', async () => {
  const { world } = engine;
  const call = await callAt('awaits its resolution', engine);
  const { workflowId, runId } = await engine.handle(call).describe();
  const unreadable = { metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('?') };
  await engine.client.workflowService.signalWorkflowExecution({
    ...{ namespace: 'default', workflowExecution: { workflowId, runId }, signalName: 'changed' },
    input: { payloads: [unreadable] },
  });
  goOn(engine, [call]);
  await engine.workflows.signal(call.gatedCallId);
  expect(await world.ended(call)).toBe('executed');
  expect(world.arrivalsOf(call)).toBe(1);
});

it('the engine distinguishes a workflow that waits, one whose tool is called, and one that is gone', async () => {
  const { world, workflows } = engine;
  const waits = await callAt('waits since its start', engine);
  const called = await callAt('is sent and has no answer', engine);
  expect(await workflows.activity(waits.gatedCallId)).toBe('waiting');
  expect(await workflows.activity(called.gatedCallId)).toBe('busy');
  expect(await workflows.activity(randomUUID())).toBe('none');
  goOn(engine, [waits, called]);
  await workflows.signal(waits.gatedCallId);
  expect(await Promise.all([waits, called].map((call) => world.ended(call)))).toEqual(['executed', 'executed']);
  await engine.closed(called);
  expect(await workflows.activity(called.gatedCallId)).toBe('none');
});

describe('starting', () => {
  it('at the same time from two places, with signals between, makes one workflow and one execution', async () => {
    const { world, workflows } = engine;
    const calls = await Promise.all(Array.from({ length: 10 }, () => world.hold()));
    goOn(engine, calls);
    await Promise.all(
      calls.flatMap(({ gatedCallId: id }) => [
        workflows.start(id),
        workflows.signal(id),
        workflows.start(id),
        workflows.start(id),
      ]),
    );
    expect(await Promise.all(calls.map((call) => world.ended(call)))).toEqual(calls.map(() => 'executed'));
    expect(calls.map((call) => world.arrivalsOf(call))).toEqual(calls.map(() => 1));
  });

  it('again after the engine has forgotten the workflow finds the call over, and sends nothing', async () => {
    const { world, workflows, handle } = engine;
    const call = await world.hold();
    goOn(engine, [call]);
    await workflows.signal(call.gatedCallId);
    await world.ended(call);
    await engine.closed(call);
    const { workflowId, runId } = await handle(call).describe();
    // As the engine does by itself at the end of its retention.
    await engine.client.workflowService.deleteWorkflowExecution({
      ...{ namespace: 'default', workflowExecution: { workflowId, runId } },
    });
    await waitFor(async () => (await statusOf(handle(call))) === 'GONE', { timeoutMs: 180_000 });
    await Promise.all([workflows.start(call.gatedCallId), workflows.signal(call.gatedCallId)]);
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect([await world.stateOf(call), world.arrivalsOf(call)]).toEqual(['executed', 1]);
  });
});

/** For people who read the output of a run. */
function report(what: string, figures: object): void {
  process.stderr.write(`      ${what}: ${JSON.stringify(figures)}\n`);
}
