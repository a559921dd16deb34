import type { ActivityPorts } from '../workflows/activity-ports.ts';
import { createClaimExecution } from './claim-execution.ts';
import type { ActivityDeps } from './deps.ts';
import { createInvokeTool } from './invoke-tool.ts';
import { createSettle } from './settle.ts';

/** The activities of the worker, bound to what they reach the world through. */
export function createActivities(deps: ActivityDeps): ActivityPorts {
  return {
    claimExecution: createClaimExecution(deps),
    invokeTool: createInvokeTool(deps),
    settle: createSettle(deps),
  };
}
