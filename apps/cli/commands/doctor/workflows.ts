import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { limitsOf } from '../../../shared/limits.ts';
import { createTemporalClient } from '../../../shared/temporal/connection.ts';
import { createGatedCallWorkflows, stuckWorkflows, WHEN_STUCK } from '../../../shared/temporal/gated-call-workflows.ts';
import { gatedCallWorkflowId } from '../../../../workflows/ids.ts';
import { attempt, fail, ok, type Finding } from './check.ts';

const SHOWN = 3;

/** Whether the workflows of gated calls can go on from their histories with the code that is deployed. Examines the latest 500. */
export function checkWorkflows(
  { temporal, ...config }: Pick<Config, 'temporal' | 'timeLimitFactor'>,
  address: string,
): Promise<Finding> {
  const name = 'workflows';
  return attempt(name, 'mend Temporal first', async () => {
    const engine = createTemporalClient({ ...temporal, address });
    try {
      const time = { clock: systemClock, limits: limitsOf(config) };
      const workflows = createGatedCallWorkflows(engine.client, { ...time, taskQueue: temporal.taskQueue });
      const stuck = await stuckWorkflows(workflows);
      if (stuck.length === 0) return ok(name, 'all can go on from their histories');
      const shown = stuck.slice(0, SHOWN).map(gatedCallWorkflowId).join(', ');
      return fail(name, `${stuck.length} cannot go on from their histories: ${shown}`, WHEN_STUCK);
    } finally {
      await engine.close();
    }
  });
}
