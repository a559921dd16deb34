import type { Logger } from 'pino';
import { awaitsNobody, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { startReconciler, type OpenWork } from '../../shared/maintenance/reconciler.ts';
import type { GatedCallWorkflows } from '../../shared/temporal/gated-call-workflows.ts';

interface OpenCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly due: string;
}

export interface CallReconcilerOptions {
  readonly calls: OpenWork<OpenCall>;
  readonly workflows: Pick<GatedCallWorkflows, 'running' | 'restart' | 'rouse' | 'ping'>;
  /** Between two rounds while the engine answers. */
  readonly intervalMs: number;
  readonly log: Logger;
}

/** Sees to it that every open call has a workflow which runs, and none that rests or is stuck though its call can go on or is over. */
export function startCallReconciler({ calls, workflows, intervalMs, log }: CallReconcilerOptions): Running {
  return startReconciler({
    ...{ of: 'open calls', open: calls, workflows, intervalMs, log },
    restart: ({ id, state }) => workflows.restart(id, awaitsNobody(state) ? 'at once' : 'resting'),
    // A start that was delivered late, after the engine had lost the workflow that led the call so far, is one to rest.
    rouse: async ({ id, state }) => awaitsNobody(state) && (await workflows.rouse(id)),
    rouseEnded: (id) => workflows.rouse(id),
  });
}
