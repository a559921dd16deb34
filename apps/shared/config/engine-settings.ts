import * as z from 'zod';
import { absoluteFiles, isHttpAllowed, pdpReachSettings } from './authority-settings.ts';

const { allowHttp, metadata, signedMetadata, trustedOrigins, clientCertificate } = pdpReachSettings;

/** What of a denial stands for "ask for an approval". */
const hint = z
  .strictObject({
    /** The denial's `context.reason`. */
    reason: z.string().min(1).optional(),
    /** What a rule of Cerbos puts out (`output`): this very value, or an object that has these members. */
    output: z.json().optional(),
    /** Template of the access request that would cure the denial. */
    template: z.string().min(1),
    /** What approvers are told. */
    title: z.string().min(1).optional(),
    description: z.string().min(1).optional(),
  })
  .refine(({ reason, output }) => (reason === undefined) !== (output === undefined), 'either reason or output');

/**
 * What decides behind our PDP. Cedar unless it is a PDP of somebody else's that knows nothing of approvals: then ours asks it
 * for every decision, makes those of its denials requestable that are named here, and tells it of the approvals that were given.
 */
export const engineSettings = z
  .strictObject({
    authzen: z
      .strictObject({
        /** Identifier of that PDP, byte by byte. */
        url: z.url(),
        ...{ allowHttp, metadata, signedMetadata, trustedOrigins, clientCertificate },
        /** Sent with every question: its credential. Take secrets from the environment. */
        headers: z.record(z.string(), z.string()).default({}),
        /** `cerbos`: hints may be outputs of its rules, and approvals stand in `subject.properties`, because its policies see no context. */
        dialect: z.enum(['authzen', 'cerbos']).default('authzen'),
        requestable: z.array(hint).default([]),
      })
      .refine(isHttpAllowed, { path: ['url'], message: 'calls are sent by https, or by http on this machine alone' }),
  })
  .optional();

/** The same, with files that are found wherever the process was started. */
export function withAbsoluteCertificate(engine: z.infer<typeof engineSettings>, baseDir: string): typeof engine {
  const files = engine?.authzen.clientCertificate;
  if (engine === undefined || files === undefined) return engine;
  return { authzen: { ...engine.authzen, clientCertificate: absoluteFiles(files, baseDir) } };
}
