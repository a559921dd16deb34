import * as z from 'zod';
import { count, listOf, recordOf, seconds, secret, section, text, trustworthyUrl } from './units.ts';

export const workerSettings = section({
  resolutionPollMinSeconds: seconds
    .default(30)
    .describe(
      'First pause before the worker polls for a resolution without a callback, in seconds. Each later pause is as long as the ' +
        'call has waited.',
    ),
  resolutionPollMaxSeconds: seconds
    .default(600)
    .describe('Longest pause between two polls for a resolution, in seconds. Callbacks make it shorter.'),
  maxGenerations: z
    .number()
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe(
      'Highest number of access requests for one gated call, one after another, when policy wants a further approval.',
    ),
  claimsAtOnce: z
    .number()
    .int()
    .min(1)
    .max(100)
    .default(8)
    .describe(
      'How many approved calls one worker takes from the decision to the tool at the same time. Further calls wait unclaimed, while ' +
        'their approvals hold.',
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
}).describe('The worker, which drives gated calls and enforces deadlines.');

/** Receiver of an obligation, over a webhook with a Standard Webhooks signature. Any 2xx status means that the obligation is met. */
const receiver = z.strictObject({
  url: trustworthyUrl.describe('Address of the receiver.'),
  secret: secret
    .refine((one) => typeof one !== 'string' || one.startsWith('whsec_'), 'use a secret that begins with whsec_')
    .describe(
      'Standard Webhooks secret (`whsec_…`). Give each receiver its own, so that no receiver can imitate Countersign to another.',
    ),
});

/**
 * Obligations of the policy decision point that gateway and worker can meet. A permit with an obligation whose receiver is not
 * configured is treated as a denial.
 */
export const obligationSettings = section({
  notification: recordOf(text, receiver).describe(
    'Receivers of notifications, by the `to` of the obligation. Countersign sends to no other address.',
  ),
  custom: receiver
    .optional()
    .describe('Receiver that decides on obligations of the type `custom`, and carries them out.'),
  sessionTermination: receiver.optional().describe('Receiver that ends all sessions of the subject in the message.'),
  acrLevels: listOf(text).describe(
    'Values of the claim `acr`, the weakest first. A stronger sign-in satisfies a weaker one. A value that is not listed ' +
      'satisfies only itself.',
  ),
  maxPerMinute: count
    .default(60)
    .describe(
      'Messages per minute that one process sends to one receiver. A permit that needs another message is a denial.',
    ),
}).describe('Receivers for obligations of the policy decision point.');
