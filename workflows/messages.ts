import { defineSignal } from '@temporalio/workflow';

/** "The row may have changed." Carries nothing: a signal that is forged, repeated or lost changes only when the next step runs. */
export const changedSignal = defineSignal('changed');
