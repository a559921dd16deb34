import { rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setMaxListeners } from 'node:events';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { gatedCallWorkflowId } from '../../workflows/messages.ts';
import type { WorldCall } from '../support/engine-world.ts';
import { startEngine, type Engine } from '../support/engine.ts';
import { stopServers } from '../support/stop-servers.ts';
import { testTemporal } from '../support/temporal.ts';
import { createTestRun, deleteTestRun } from '../support/test-run.ts';
import { waitFor } from '../support/wait-for.ts';
import { WireProxy } from '../support/wire-proxy.ts';
import { callAt, goOn } from '../support/engine-stages.ts';
import { HISTORIES } from './histories.ts';
import { PATHS } from './paths.ts';

/**
 * Leads calls along every path of the workflow on a real server, and keeps the engine's history of each run. `npm run
 * replay:record [-- name…]` records those with these names anew, or all.
 */
async function record(names: readonly string[]): Promise<void> {
  const wanted = (name: string) => names.length === 0 || names.includes(name);
  const { address } = await testTemporal();
  if (names.length === 0) rmSync(HISTORIES, { recursive: true, force: true });
  mkdirSync(HISTORIES, { recursive: true });
  const engine = await startEngine({ address, world: { executionTimeoutMs: 6_000 } });
  try {
    const worker = await engine.startWorker();
    for (const [name, lead] of Object.entries(PATHS)) {
      if (wanted(name)) await keep(engine, name, await lead(engine));
    }
    if (wanted('handed-over')) await keep(engine, 'handed-over', await handedOver(engine));
    await worker.stop();
    if (wanted('worker-died')) await keep(engine, 'worker-died', await workerDied(engine, address));
  } finally {
    await engine.stop();
  }
}

/** To the server, a worker that sends no more bytes is dead. */
async function workerDied(engine: Engine, address: string): Promise<WorldCall> {
  const proxy = await WireProxy.start(address);
  const first = await engine.startWorker({ address: proxy.address });
  const call = await callAt('is sent and has no answer', engine);
  proxy.let('shut');
  // The tool's answer dies with the worker.
  engine.world.say(call, { result: new Error('the worker died') });
  engine.world.releaseAll();
  await engine.startWorker();
  await engine.closed(call, 60_000);
  proxy.let('open');
  await first.stop();
  await proxy.stop();
  return call;
}

/** Many signals make a run long, though few of them lead to a step. */
async function handedOver(engine: Engine): Promise<WorldCall> {
  const call = await callAt('awaits its resolution', engine);
  for (let sent = 0; sent < 2_000; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, () => engine.workflows.signal(call.gatedCallId)));
  }
  goOn(engine, [call]);
  await engine.workflows.signal(call.gatedCallId);
  await engine.world.ended(call);
  await engine.closed(call);
  return call;
}

/** Every run of the call's workflow, the first one first. */
async function keep({ client }: Engine, name: string, call: WorldCall): Promise<void> {
  const workflowId = gatedCallWorkflowId(call.gatedCallId);
  const runs: WorkflowExecutionInfo[] = await waitFor(async () => {
    const found = [];
    for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) found.push(run);
    return found.length > 0 ? found : undefined;
  });
  runs.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
  for (const [index, { runId }] of runs.entries()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const file = `${name}${runs.length > 1 ? `.${index + 1}` : ''}.json`;
    writeFileSync(join(HISTORIES, file), lines(JSON.stringify(history)));
    process.stdout.write(`${file}: ${history.events?.length} events\n`);
  }
}

/** Details of the recording machine, and their replacements. */
const OF_THE_MACHINE: Readonly<Record<string, string>> = { identity: 'recorder', stackTrace: '' };

/** One event a line. */
function lines(json: string): string {
  const { events } = JSON.parse(json, (key, value: unknown) => OF_THE_MACHINE[key] ?? value) as { events: object[] };
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`;
}

setMaxListeners(0);
const folder = createTestRun();
try {
  await record(process.argv.slice(2));
} finally {
  await stopServers(folder);
  deleteTestRun(folder);
}
process.exit();
