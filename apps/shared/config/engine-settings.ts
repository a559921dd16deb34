import * as z from 'zod';
import { absoluteFiles, isHttpAllowed, pdpReachSettings } from './authority-settings.ts';

const { allowHttp, metadata, signedMetadata, trustedOrigins, clientCertificate } = pdpReachSettings;

/** What of a denial stands for "ask for an approval". */
const hint = z
  .strictObject({
    reason: z
      .string()
      .min(1)
      .optional()
      .describe('Value of `context.reason` in the denial. Give either `reason` or `output`.'),
    output: z
      .json()
      .optional()
      .describe('Output of a Cerbos rule: exactly this value, or an object that has these members.'),
    template: z.string().min(1).describe('Template of the access request that can cure the denial.'),
    title: z.string().min(1).optional().describe('Title that approvers see.'),
    description: z.string().min(1).optional().describe('Description that approvers see.'),
  })
  .refine(({ reason, output }) => (reason === undefined) !== (output === undefined), 'either reason or output');

/**
 * What decides behind our PDP: Cedar, or a foreign PDP that knows nothing of approvals. Our PDP asks the foreign one for every
 * decision, makes the denials requestable that are named here, and passes on the approvals that were given.
 */
export const engineSettings = z
  .strictObject({
    authzen: z
      .strictObject({
        url: z.url().describe('Identifier of the other PDP. It is compared byte by byte.'),
        ...{ allowHttp, metadata, signedMetadata, trustedOrigins, clientCertificate },
        headers: z
          .record(z.string(), z.string())
          .default({})
          .describe('Headers of every request, for example its credential. Take secrets from the environment.'),
        dialect: z
          .enum(['authzen', 'cerbos'])
          .default('authzen')
          .describe(
            'Where the other PDP reads approvals. `cerbos` reads `subject.properties.approval`, because its policies see no ' +
              'context. `authzen` reads `context.approval`.',
          ),
        requestable: z
          .array(hint)
          .default([])
          .describe('Denials that an approval may cure. Every other denial is final.'),
      })
      .refine(isHttpAllowed, { path: ['url'], message: 'calls are sent by https, or by http on this machine alone' })
      .describe('PDP that speaks AuthZEN and knows nothing of approvals, for example Cerbos.'),
  })
  .optional()
  .describe('Another PDP that decides behind the own one. Without it, Cedar policies decide.');

/** The same, with files that are found wherever the process was started. */
export function withAbsoluteCertificate(engine: z.infer<typeof engineSettings>, baseDir: string): typeof engine {
  const files = engine?.authzen.clientCertificate;
  if (engine === undefined || files === undefined) return engine;
  return { authzen: { ...engine.authzen, clientCertificate: absoluteFiles(files, baseDir) } };
}
