import * as z from 'zod';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/pep.ts';
import { publishedKeys } from './access-request-settings.ts';
import { isHttpAllowed, pdpReachSettings } from './authority-settings.ts';
import { engineSettings } from './engine-settings.ts';
import { port, seconds, secret } from './units.ts';

const count = z.number().int().positive();
const enforcementPoint = z.strictObject({
  /** Bearer token, at least 32 random bytes. */
  token: secret,
});
const enforcementPointName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'up to 64 letters, digits, dots, dashes and underscores')
  .refine((name) => name !== PEP_CLIENT_ID, `${PEP_CLIENT_ID} is the gateway's own name`);

/** Settings of the policy decision point. */
export const pdpSettings = z
  .strictObject({
    port: port.default(4101),
    ...pdpReachSettings,
    engine: engineSettings,
    /** Folder with `*.cedar` policies, `schema.cedarschema` and `entities.json`. Relative to the configuration file. */
    policies: z.string().default('./policies'),
    /** Lifetime of a requestable denial: how long a submission may follow it. At most 600 (PRJ-03). */
    denialTtlSeconds: seconds.max(600).default(600),
    /** How long a requestable denial stays on record, with the policies that it came from; nothing can be asked for on it after `denialTtlSeconds`. */
    retentionSeconds: seconds.min(86_400).default(30 * 86_400),
    /**
     * File that gets a line for every decision, with the request and so the arguments of calls. Relative to the configuration
     * file. Default: none.
     */
    decisionLog: z.string().optional(),
    /**
     * Whether the access request service is asked, each time an approval is presented, if it took it back. Without its list
     * nothing is permitted; false is for another service that has none and takes no approval back.
     */
    checkRevocations: z.boolean().default(true),
    publishedKeys,
    /**
     * Further enforcement points beside gateway and worker, by name. Whoever holds such a token is believed whatever it says
     * about subjects, and gets to know what the policies say of them.
     */
    enforcementPoints: z.record(enforcementPointName, enforcementPoint).default({}),
    /** Whether the metadata come a second time as a signed JWT (`signed_metadata`). */
    signMetadata: z.boolean().default(false),
    /** Entries of one batch; a request with more is refused. */
    maxBatchEntries: count.default(1_000),
    /**
     * Evaluations that this process makes for one enforcement point in a second, each entry of a batch and each candidate of a
     * search counted; requests for more are refused.
     */
    maxEvaluationsPerSecond: count.default(5_000),
    /** Requests that are worked on at a time in this process, of all enforcement points; more are refused. */
    maxConcurrentRequests: count.default(1_000),
  })
  .refine(isHttpAllowed, { path: ['url'], message: 'calls are sent by https, or by http on this machine alone' })
  .prefault({});
