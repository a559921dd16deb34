import * as z from 'zod';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/pep.ts';
import { publishedKeys } from './access-request-settings.ts';
import { isHttpAllowed, pdpReachSettings } from './authority-settings.ts';
import { engineSettings } from './engine-settings.ts';
import { port, seconds, secret } from './units.ts';

const count = z.number().int().positive();
const enforcementPoint = z.strictObject({
  token: secret.describe('Bearer token of the enforcement point. Make it from at least 32 random bytes.'),
});
const enforcementPointName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'up to 64 letters, digits, dots, dashes and underscores')
  .refine((name) => name !== PEP_CLIENT_ID, `${PEP_CLIENT_ID} is the gateway's own name`);

export const pdpSettings = z
  .strictObject({
    port: port.default(4101).describe('Port of the PDP.'),
    ...pdpReachSettings,
    engine: engineSettings,
    policies: z
      .string()
      .default('./policies')
      .describe(
        'Folder with Cedar policies (`*.cedar`), `schema.cedarschema` and `entities.json`. The PDP follows changes. A relative ' +
          'path starts at the folder of the configuration file.',
      ),
    denialTtlSeconds: seconds
      .max(600)
      .default(600)
      .describe('How long an access request may follow a requestable denial, in seconds.'),
    retentionSeconds: seconds
      .min(86_400)
      .default(30 * 86_400)
      .describe(
        'How long a requestable denial stays on record, with the policies behind it, in seconds. Requests for it end earlier, ' +
          'after `denialTtlSeconds`.',
      ),
    decisionLog: z
      .string()
      .optional()
      .describe(
        'File that receives every decision as a line of JSON, for `countersign policy replay`. It contains the arguments of ' +
          'calls. A relative path starts at the folder of the configuration file.',
      ),
    checkRevocations: z
      .boolean()
      .default(true)
      .describe(
        'Asks the access request service at each re-evaluation whether it revoked the approval. Without its list, the PDP ' +
          'permits nothing. Use `false` only for a service that never revokes an approval.',
      ),
    publishedKeys,
    enforcementPoints: z
      .record(enforcementPointName, enforcementPoint)
      .default({})
      .describe(
        'Further enforcement points that may ask the PDP, by name. The PDP believes what the holder of such a token says about ' +
          'subjects. The holder learns what policies decide about them.',
      ),
    signMetadata: z.boolean().default(false).describe('Adds the metadata as a signed JWT (`signed_metadata`).'),
    maxBatchEntries: count
      .default(1_000)
      .describe('Highest number of entries in one batch. The PDP refuses a larger batch.'),
    maxEvaluationsPerSecond: count
      .default(5_000)
      .describe(
        'Evaluations per second that one process makes for one enforcement point. Entries of batches and candidates of searches ' +
          'count. The PDP answers further requests with HTTP 429.',
      ),
    maxConcurrentRequests: count
      .default(1_000)
      .describe('Requests that one process works on at the same time. The PDP refuses further requests.'),
  })
  .refine(isHttpAllowed, { path: ['url'], message: 'calls are sent by https, or by http on this machine alone' })
  .prefault({})
  .describe('The policy decision point (PDP), and how gateway and worker reach it.');
