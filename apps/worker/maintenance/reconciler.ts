import type { Logger } from 'pino';
import { awaitsNobody, isTerminal, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { Clock } from '../../shared/clock.ts';
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
  readonly workflows: Pick<GatedCallWorkflows, 'running' | 'restart' | 'startAnew' | 'rouse' | 'ping'>;
  readonly progress: (gatedCallId: string) => Promise<{ state: GatedCallState; invocation: object | undefined }>;
  /** The workflow of a call came to its end, and the call is open: the database has forgotten how the call ended. */
  readonly report: (gatedCallId: string) => Promise<void>;
  /** Between two rounds while the engine answers. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A workflow ends when its call has, so one that is open has been taken back since: by a restore. Where the permit is on
 * record nothing can be sent again, and a new workflow only says what became of it.
 */
async function afterTheEnd({ progress, workflows, report }: CallReconcilerOptions, id: string): Promise<boolean> {
  const { state, invocation } = await progress(id);
  if (isTerminal(state)) return false;
  await (invocation === undefined ? report(id) : workflows.startAnew(id));
  return invocation !== undefined;
}

/** Sees to it that every open call has a workflow which runs, and none that rests or is stuck though its call can go on or is over. */
export function startCallReconciler(options: CallReconcilerOptions): Running {
  const { calls, workflows, intervalMs, clock, log } = options;
  return startReconciler({
    ...{ of: 'open calls', open: calls, workflows, intervalMs, clock, log },
    restart: async ({ id, state }) => {
      const now = await workflows.restart(id, awaitsNobody(state) ? 'at once' : 'resting');
      return now === 'running' || afterTheEnd(options, id);
    },
    // A start that was delivered late, after the engine had lost the workflow that led the call so far, is one to rest.
    rouse: async ({ id, state }) => awaitsNobody(state) && (await workflows.rouse(id)),
    rouseEnded: (id) => workflows.rouse(id),
  });
}
