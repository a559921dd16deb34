import * as z from 'zod';

const text = z.string().min(16);
/** A private key: `d` is what makes it one. */
export const privateKeySchema = z.looseObject({ kty: z.string(), kid: z.string(), d: z.string() });
/** An AES-256 key as a JWK: `k` is 32 bytes in base64url. @see RFC 7518, section 6.4 */
const sealingKeySchema = z.looseObject({
  kty: z.literal('oct'),
  kid: z.string().min(1),
  k: z.string().regex(/^[\w-]{43}$/),
});

/** What is sealed names its key, so no two may have one name. */
const sealingKeysSchema = z
  .array(sealingKeySchema)
  .min(1)
  .refine((keys) => new Set(keys.map(({ kid }) => kid)).size === keys.length);

/**
 * Everything that must not be printed. In development the values are made once and kept in the state folder
 * (mode 0600); in production each comes from an environment variable of the same name in upper snake case.
 */
export const secretsSchema = z.strictObject({
  pdpToken: text.describe('Bearer token that gateway and worker send to the PDP.'),
  accessRequestToken: text.describe('Bearer token that gateway and worker send to the access request service.'),
  callbackSecret: text.describe(
    'Standard Webhooks secret (`whsec_…`) of the callbacks from the access request service to the gateway.',
  ),
  decisionWebhookSecret: text.describe(
    'Standard Webhooks secret (`whsec_…`) of decisions that arrive at the decision webhook.',
  ),
  sessionSecret: text.describe("Signs session cookies of the inbox and the auditors' pages."),
  oidcClientSecret: text.describe("OpenID Connect client secret of the inbox and the auditors' pages."),
  sealingKeys: sealingKeysSchema.describe(
    'AES-256 keys that seal the content of gated calls, as a list of JWKs. The first key seals. The others open what they sealed earlier.',
  ),
  recordSealingKeys: sealingKeysSchema.describe(
    'AES-256 keys that seal what auditors may read. For each of the sealing keys, one with the same `kid`, in the same order.',
  ),
  digestKey: text.describe('Key of keyed digests. Never change it, because searches would then find no older record.'),
  pdpSigningKey: privateKeySchema.describe(
    'Private ES256 key of the PDP, as a JWK with a `kid`. It signs binding tokens.',
  ),
  accessRequestSigningKey: privateKeySchema.describe(
    'Private ES256 key of the access request service, as a JWK with a `kid`. It signs approvals (`approval.state`).',
  ),
});

export type Secrets = z.infer<typeof secretsSchema>;
