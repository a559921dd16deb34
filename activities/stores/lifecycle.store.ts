import type { Pool } from 'pg';
import { addToLogScope } from '../../apps/shared/log-scope.ts';
import { inputSteps } from './questions.ts';
import { executionSteps, settlementSteps } from './execution-steps.ts';
import { isGone } from './gone.ts';
import { decisionSteps, resolutionSteps } from './resolution-steps.ts';
import type { StepContext } from './step-context.ts';
import { loadCall, loadProgress, type CallProgress, type StoredCall } from './stored-call.ts';
import { submissionSteps } from './submission-steps.ts';

/** The fenced steps of a gated call's life. Each is one statement; the database decides. */
export type LifecycleStore = ReturnType<typeof createLifecycleStore>;

export function createLifecycleStore(pool: Pool, options: Omit<StepContext, 'pool'>) {
  const context = { pool, ...options };
  return {
    load: async (gatedCallId: string) => named(await loadCall(context, gatedCallId)),
    progress: async (gatedCallId: string) => named(await loadProgress(context, gatedCallId)),
    isGone: (gatedCallId: string) => isGone(pool, gatedCallId),
    ...submissionSteps(context),
    ...resolutionSteps(context),
    ...inputSteps(context),
    ...decisionSteps(context),
    ...executionSteps(context),
    ...settlementSteps(context),
  };
}

/** What is done and logged from here on is about this call. */
function named<Call extends CallProgress & Partial<Pick<StoredCall, 'binding' | 'handle'>>>(call: Call): Call {
  const { gatedCallId: gatedCall, taskId: task, trace, tool, binding, handle } = call;
  const { subject, clientId: client } = binding?.caller ?? {};
  addToLogScope({ gatedCall, task, trace, tool });
  if (binding !== undefined) addToLogScope({ subject, client });
  if (handle !== undefined) addToLogScope({ accessRequest: handle.accessRequestId });
  return call;
}
