import * as z from 'zod';
import { isTrustworthy, secret } from './units.ts';

/** Who is told of an obligation, by a webhook that is signed as Standard Webhooks asks. Any status of 2xx says that it is met. */
const receiver = z.strictObject({
  url: z.url().refine(isTrustworthy, 'a receiver is reached by https, or by http on this machine alone'),
  /** `whsec_` and base64; each receiver has its own, so that none can speak for us to another. */
  secret: secret.refine((one) => typeof one !== 'string' || one.startsWith('whsec_'), 'a secret begins with whsec_'),
});

/**
 * What gateway and worker can do of what the policy decision point obliges them to. An obligation that needs a receiver which is
 * not here cannot be complied with: a permit that has it is a denial.
 */
export const obligationSettings = z
  .strictObject({
    /** Receivers of notifications, by the `to` of the obligation: nothing is sent to anybody else. */
    notification: z.record(z.string().min(1), receiver).default({}),
    /** Decides on obligations of the type `custom`, and carries out those that it knows. */
    custom: receiver.optional(),
    /** Ends all sessions of the subject that it is told. */
    sessionTermination: receiver.optional(),
    /** Values of the claim `acr`, the weakest first: a stronger sign-in does for a weaker one. Others are reached by themselves only. */
    acrLevels: z.array(z.string().min(1)).default([]),
    /** Messages that this process sends to one receiver in a minute; an obligation beyond is not complied with. */
    maxPerMinute: z.number().int().positive().default(60),
  })
  .prefault({});
