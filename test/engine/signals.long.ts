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

/** So many are on their way at once. */
const AT_ONCE = 50;
/** Signals as an adversary mixes them: pokes, pokes with a cargo, names nobody knows. */
const junk = (handle: WorkflowHandle) => (index: number) =>
  [
    () => handle.signal('poke'),
    () => handle.signal('poke', { verdict: 'approve', gatedCallId: randomUUID() }, 'x'.repeat(1_000)),
    () => handle.signal(`${index % 2 === 0 ? '__temporal_' : ''}nobody-knows-${index}`, index),
  ][index % 3]?.() ?? Promise.resolve();

describe.each([1_000])('%i duplicate, junk and reordered signals', (count) => {
  it('lead to few looks and a history within limits; the call is executed once', async () => {
    const { world } = engine;
    // So many signals at once can make a history that the SDK does not go on from.
    const maintenance = await engine.startMaintenance();
    const call = await callAt('awaits its resolution', engine);
    const handle = engine.handle(call);
    const [before, began] = [world.counts.looks, performance.now()];
    await inParallel(count, AT_ONCE, junk(handle));
    const looks = world.counts.looks - before;
    // However long the machine takes for them: five at once, and then one in five seconds.
    const mostLooks = 20 + (performance.now() - began) / 5_000;
    goOn(engine, [call]);
    await engine.workflows.poke(call.gatedCallId);
    expect(await world.ended(call)).toBe('executed');
    await inParallel(100, AT_ONCE, async () => engine.workflows.poke(call.gatedCallId));
    await engine.closed(call, 240_000);
    await maintenance.stop();
    const runs = await lengthsOfRuns(engine, call);
    expect(world.arrivalsOf(call)).toBe(1);
    expect(looks).toBeLessThan(mostLooks);
    expect(Math.max(...runs)).toBeLessThan(10_000);
    report(`${count} signals`, { looks, runs });
  });
});

it('signals before its first step do not keep a workflow from it', async () => {
  const { world } = engine;
  const call = await callAt('rests before its first step', engine);
  world.approve(call);
  await inParallel(300, AT_ONCE, junk(engine.handle(call)));
  await engine.workflows.poke(call.gatedCallId);
  expect(await world.ended(call)).toBe('executed');
  expect(world.arrivalsOf(call)).toBe(1);
});

it('a signal that cannot even be read keeps no call from its execution', async () => {
  const { world } = engine;
  const call = await callAt('awaits its resolution', engine);
  const { workflowId, runId } = await engine.handle(call).describe();
  const unreadable = { metadata: { encoding: Buffer.from('binary/nobody-knows') }, data: Buffer.from('?') };
  await engine.client.workflowService.signalWorkflowExecution({
    ...{ namespace: 'default', workflowExecution: { workflowId, runId }, signalName: 'poke' },
    input: { payloads: [unreadable] },
  });
  goOn(engine, [call]);
  await engine.workflows.poke(call.gatedCallId);
  expect(await world.ended(call)).toBe('executed');
  expect(world.arrivalsOf(call)).toBe(1);
});

it('a workflow that rests is roused, one that is under way or gone is left alone', async () => {
  const { world, workflows } = engine;
  const rests = await callAt('rests before its first step', engine);
  const waits = await callAt('awaits its resolution', engine);
  world.approve(rests);
  expect(await workflows.rouse(waits.gatedCallId)).toBe(false);
  expect(await workflows.rouse(randomUUID())).toBe(false);
  expect(await workflows.rouse(rests.gatedCallId)).toBe(true);
  expect(await world.ended(rests)).toBe('executed');
});

describe('starting', () => {
  it('at the same time from two places, with pokes between, makes one workflow and one execution', async () => {
    const { world, workflows } = engine;
    const calls = await Promise.all(Array.from({ length: 10 }, () => world.hold()));
    goOn(engine, calls);
    await Promise.all(
      calls.flatMap(({ gatedCallId: id }) => [
        workflows.start(id),
        workflows.poke(id),
        workflows.restart(id, 'at once'),
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
    await workflows.poke(call.gatedCallId);
    await world.ended(call);
    await engine.closed(call);
    const { workflowId, runId } = await handle(call).describe();
    // What the engine does by itself at the end of its retention.
    await engine.client.workflowService.deleteWorkflowExecution({
      ...{ namespace: 'default', workflowExecution: { workflowId, runId } },
    });
    await waitFor(async () => (await statusOf(handle(call))) === 'GONE', { timeoutMs: 180_000 });
    await Promise.all([workflows.start(call.gatedCallId), workflows.poke(call.gatedCallId)]);
    expect(await engine.closed(call)).toBe('COMPLETED');
    expect([await world.stateOf(call), world.arrivalsOf(call)]).toEqual(['executed', 1]);
  });
});

/** For people who read the output of a run. */
function report(what: string, figures: object): void {
  process.stderr.write(`      ${what}: ${JSON.stringify(figures)}\n`);
}
