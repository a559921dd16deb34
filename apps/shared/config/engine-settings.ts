import * as z from 'zod';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/evaluation.ts';
import { publishedKeys } from './access-request-settings.ts';
import { absoluteFiles, isHttpAllowed, pdpReachSettings } from './authority-settings.ts';
import { count, listOf, NOT_TRUSTWORTHY, off, on, port, recordOf, seconds, secret, text } from './units.ts';

const HTTP_NOT_ALLOWED = `${NOT_TRUSTWORTHY}, or where allowHttp is true`;
const { allowHttp, metadata, signedMetadata, trustedOrigins, clientCertificate } = pdpReachSettings;

/** A denial that means "ask for an approval". */
const hint = z
  .strictObject({
    reason: text.optional().describe('Value of `context.reason` in the denial. Give either `reason` or `output`.'),
    output: z
      .json()
      .optional()
      .describe('Output of a Cerbos rule: exactly this value, or an object that has these members.'),
    template: text.describe('Template of the access request that can cure the denial.'),
    title: text.optional().describe('Title that approvers see.'),
    description: text.optional().describe('Description that approvers see.'),
  })
  .refine(({ reason, output }) => (reason === undefined) !== (output === undefined), 'give either reason or output');

/**
 * The engine behind our PDP: Cedar, or a foreign PDP that does not know approvals. Our PDP asks the foreign PDP for every decision,
 * makes the denials that are named here requestable, and passes granted approvals on.
 */
const engineSettings = z
  .strictObject({
    authzen: z
      .strictObject({
        url: z.url().describe('Identifier of the other PDP. It is compared byte by byte.'),
        ...{ allowHttp, metadata, signedMetadata, trustedOrigins, clientCertificate },
        headers: recordOf(z.string(), z.string()).describe(
          'Headers of every request, for example its credential. Take secrets from the environment.',
        ),
        dialect: z
          .enum(['authzen', 'cerbos'])
          .default('authzen')
          .describe(
            'Where the other PDP reads approvals. `cerbos` reads `subject.properties.approval`, because its policies see no ' +
              'context. `authzen` reads `context.approval`.',
          ),
        requestable: listOf(hint).describe('Denials that an approval may cure. Every other denial is final.'),
      })
      .refine(isHttpAllowed, { path: ['url'], message: HTTP_NOT_ALLOWED })
      .describe('PDP that implements AuthZEN without approvals, for example Cerbos.'),
  })
  .optional()
  .describe('Another PDP that decides behind the own PDP. Without it, Cedar policies decide.');

/** Relative file names start at `baseDir`, not at the folder of the process. */
export function withAbsoluteCertificate(engine: z.infer<typeof engineSettings>, baseDir: string): typeof engine {
  const files = engine?.authzen.clientCertificate;
  if (engine === undefined || files === undefined) return engine;
  return { authzen: { ...engine.authzen, clientCertificate: absoluteFiles(files, baseDir) } };
}

const enforcementPoint = z.strictObject({
  token: secret.describe('Bearer token of the enforcement point. Make it from at least 32 random bytes.'),
});
const enforcementPointName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'use up to 64 letters, digits, dots, dashes and underscores')
  .refine((name) => name !== PEP_CLIENT_ID, `${PEP_CLIENT_ID} is the name of the gateway: use another name`);

export const pdpSettings = z
  .strictObject({
    port: port.default(4101).describe('Port of the PDP.'),
    ...pdpReachSettings,
    engine: engineSettings,
    policies: z
      .string()
      .optional()
      .describe(
        'Folder with Cedar policies (`*.cedar`), `schema.cedarschema` and `entities.json`. The PDP follows changes. A relative ' +
          'path starts at the folder of the configuration file. Without it, `rules` decide alone, or if there are none either, ' +
          '`./policies`.',
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
    checkRevocations: on.describe(
      'Asks the access request service at each re-evaluation whether it revoked the approval. Without its list, the PDP ' +
        'permits nothing. Use `false` only for a service that never revokes an approval.',
    ),
    publishedKeys,
    enforcementPoints: recordOf(enforcementPointName, enforcementPoint).describe(
      'Further enforcement points that may ask the PDP, by name. The PDP trusts what the holder of such a token says about ' +
        'subjects. The holder learns the decisions about them.',
    ),
    signMetadata: off.describe('Adds the metadata as a signed JWT (`signed_metadata`).'),
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
  .refine(isHttpAllowed, { path: ['url'], message: HTTP_NOT_ALLOWED })
  .prefault({})
  .describe('The policy decision point (PDP), and how gateway and worker reach it.');
