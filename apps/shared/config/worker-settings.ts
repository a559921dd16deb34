import * as z from 'zod';
import { seconds } from './units.ts';

export const workerSettings = z
  .strictObject({
    resolutionPollMinSeconds: seconds
      .default(30)
      .describe(
        'First pause before the worker asks for a resolution without a callback, in seconds. Each later pause is as long as the ' +
          'call has waited.',
      ),
    resolutionPollMaxSeconds: seconds
      .default(600)
      .describe('Longest pause between two questions for a resolution, in seconds. Callbacks make it shorter.'),
    maxGenerations: z
      .number()
      .int()
      .min(1)
      .max(10)
      .default(3)
      .describe(
        'Highest number of access requests for one gated call, one after another, when policy wants a further approval.',
      ),
    approvalUseSeconds: seconds
      .default(86_400)
      .describe(
        'How long after its grant an approval can be used, in seconds. An earlier end in the approval itself wins.',
      ),
    sweepIntervalMs: z
      .number()
      .int()
      .min(100)
      .default(1_000)
      .describe('How often the worker ends calls whose deadline has passed, in milliseconds.'),
    reconcileIntervalSeconds: seconds
      .default(30)
      .describe(
        'How often the worker compares open calls with running workflows and restarts lost workflows, in seconds.',
      ),
    abandonAfterSeconds: seconds
      .default(60)
      .describe(
        'Age at which the worker gives up a call that has no handle from the access request service, in seconds. It does so only ' +
          'if no client asks for the call.',
      ),
  })
  .prefault({})
  .describe('The worker, which drives gated calls and carries deadlines out.');
