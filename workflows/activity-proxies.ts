import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { ActivityPorts } from './activity-ports.ts';

/**
 * Steps that may be repeated freely: each is idempotent over the row of the call. They run inside the workflow task, which
 * saves a trip through the server per step between approval and execution. A pause longer than the threshold becomes a
 * durable timer instead of a held task.
 */
export const idempotent = proxyLocalActivities<Omit<ActivityPorts, 'invokeTool'>>({
  startToCloseTimeout: '1 minute',
  localRetryThreshold: '2 seconds',
  // They end after some minutes, so that a run which tries in vain for days comes by where it hands over to the next one.
  retry: {
    initialInterval: '200 milliseconds',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
    maximumAttempts: 15,
  },
});

/**
 * The one step with an effect outside: one attempt. The permit in the database is what holds; this only keeps the engine
 * from trying in vain. The heartbeat tells within seconds that the process died.
 */
export function once(executionTimeoutMs: number): Pick<ActivityPorts, 'invokeTool'> {
  return proxyActivities<Pick<ActivityPorts, 'invokeTool'>>({
    startToCloseTimeout: executionTimeoutMs + 15_000,
    // An attempt that never begins must not hold the workflow up for ever. One that an operator paused does, until it is
    // resumed: the engine counts no limit for it. Its call ends at its deadline all the same.
    scheduleToCloseTimeout: executionTimeoutMs + 60_000,
    heartbeatTimeout: '10 seconds',
    retry: { maximumAttempts: 1 },
  });
}
