import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Running } from '../../apps/shared/lifecycle.ts';
import type { WorldCall } from './engine-world.ts';
import { startEngine, type Engine } from './engine.ts';
import { testTemporal } from './temporal.ts';

/** No event hurries a workflow that waits for the end of this timeout, so it is not longer than that may take. */
const EXECUTION_MS = 60_000;

/**
 * Gives the tests of a file an engine with a worker, and new maintenance for each test. Call it outside of any test;
 * `use` gets the engine before the first one.
 */
export function engineForOperators(use: (engine: Engine) => void): void {
  let engine: Engine | undefined;
  let maintenance: Running | undefined;
  beforeAll(async () => {
    const { address } = await testTemporal();
    engine = await startEngine({ address, world: { executionTimeoutMs: EXECUTION_MS, firstPollMs: 500 } });
    use(engine);
    await engine.startWorker();
  });
  afterAll(() => engine?.stop());
  beforeEach(async () => {
    maintenance = await engine?.startMaintenance();
  });
  afterEach(() => maintenance?.stop());
}

/** The run of a call's workflow, in the form of the engine's own interface. */
export async function executionOf({ handle }: Engine, call: WorldCall): Promise<{ workflowId: string; runId: string }> {
  const { workflowId, runId } = await handle(call).describe();
  return { workflowId, runId };
}

/** The step of a call that runs at the tool, in the form of the engine's own interface. */
export async function runningStep(engine: Engine, call: WorldCall) {
  const { workflowId, runId, raw } = await engine.handle(call).describe();
  const id = raw.pendingActivities?.[0]?.activityId ?? '';
  return { namespace: 'default', execution: { workflowId, runId }, identity: 'operator', id };
}

/** Has the engine repeat the step, which the product never does. */
export async function giveTenAttempts(
  { client }: Engine,
  step: Awaited<ReturnType<typeof runningStep>>,
): Promise<void> {
  await client.workflowService.updateActivityOptions({
    ...step,
    activityOptions: { retryPolicy: { maximumAttempts: 10 } },
    updateMask: { paths: ['retry_policy.maximum_attempts'] },
  });
}
