import { defineSignal } from '@temporalio/workflow';

/** "Look again." Carries nothing: whoever forges, repeats or loses it changes only when the next look happens. */
export const pokeSignal = defineSignal('poke');
