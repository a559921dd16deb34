import * as z from 'zod';
import { isTrustworthy, seconds, secret } from './units.ts';

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

/** Who is told of an obligation, by a webhook that is signed as Standard Webhooks asks. Any status of 2xx says that it is met. */
const receiver = z.strictObject({
  url: z
    .url()
    .refine(isTrustworthy, 'a receiver is reached by https, or by http on this machine alone')
    .describe('Address of the receiver.'),
  secret: secret
    .refine((one) => typeof one !== 'string' || one.startsWith('whsec_'), 'a secret begins with whsec_')
    .describe(
      'Standard Webhooks secret (`whsec_…`). Give each receiver its own, so that no receiver can imitate Countersign to another.',
    ),
});

/**
 * What gateway and worker can do of what the policy decision point obliges them to. An obligation that needs a receiver which is
 * not here cannot be complied with: a permit that has it is a denial.
 */
export const obligationSettings = z
  .strictObject({
    notification: z
      .record(z.string().min(1), receiver)
      .default({})
      .describe('Receivers of notifications, by the `to` of the obligation. Countersign sends to no other address.'),
    custom: receiver
      .optional()
      .describe('Receiver that decides on obligations of the type `custom`, and carries them out.'),
    sessionTermination: receiver.optional().describe('Receiver that ends all sessions of the subject in the message.'),
    acrLevels: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Values of the claim `acr`, the weakest first. A stronger sign-in satisfies a weaker one. A value that is not listed ' +
          'satisfies only itself.',
      ),
    maxPerMinute: z
      .number()
      .int()
      .positive()
      .default(60)
      .describe(
        'Messages per minute that one process sends to one receiver. A permit that needs another message is a denial.',
      ),
  })
  .prefault({})
  .describe('Receivers for obligations of the policy decision point.');
