import type { Pool } from 'pg';
import { inputSteps } from './questions.ts';
import { executionSteps, settlementSteps } from './execution-steps.ts';
import { isGone } from './gone.ts';
import { decisionSteps, resolutionSteps } from './resolution-steps.ts';
import type { StepContext } from './step-context.ts';
import { loadCall, loadProgress } from './stored-call.ts';
import { submissionSteps } from './submission-steps.ts';

/** The fenced steps of a gated call's life. Each is one statement; the database decides. */
export type LifecycleStore = ReturnType<typeof createLifecycleStore>;

export function createLifecycleStore(pool: Pool, options: Omit<StepContext, 'pool'>) {
  const context = { pool, ...options };
  return {
    load: (gatedCallId: string) => loadCall(pool, options.seals, gatedCallId),
    progress: (gatedCallId: string) => loadProgress(pool, gatedCallId),
    isGone: (gatedCallId: string) => isGone(pool, gatedCallId),
    ...submissionSteps(context),
    ...resolutionSteps(context),
    ...inputSteps(context),
    ...decisionSteps(context),
    ...executionSteps(context),
    ...settlementSteps(context),
  };
}
