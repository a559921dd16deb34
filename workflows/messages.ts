import { defineSignal } from '@temporalio/workflow';

/** "The row may have changed." Carries nothing: a signal that is forged, repeated or lost changes only when the next step runs. */
export const changedSignal = defineSignal('changed');

const PREFIX = 'gated-call/';

/** Workflow id of a gated call. Derived from its row, so starting twice finds the same workflow; holds nothing secret. */
export function gatedCallWorkflowId(gatedCallId: string): string {
  return `${PREFIX}${gatedCallId}`;
}

/** The gated call that a workflow with this id is for. */
export function gatedCallIdOf(workflowId: string): string {
  return workflowId.slice(PREFIX.length);
}
