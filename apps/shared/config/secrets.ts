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
  /** Bearer token with which gateway and worker speak to the PDP. */
  pdpToken: text,
  /** Bearer token with which gateway and worker speak to the access request service. */
  accessRequestToken: text,
  /** Standard Webhooks secret (`whsec_…`): access request service → gateway callbacks. */
  callbackSecret: text,
  /** Standard Webhooks secret (`whsec_…`): decisions that arrive at the decision webhook. */
  decisionWebhookSecret: text,
  /** Signs session cookies of the inbox and of the audit pages. */
  sessionSecret: text,
  /** OIDC client secret of the inbox and of the audit pages. */
  oidcClientSecret: text,
  /** Keys that seal what gated calls consist of, as JWKs. The first seals; the others open what was sealed before them. */
  sealingKeys: sealingKeysSchema,
  /** Keys that seal what auditors may read of gated calls: for each of `sealingKeys` one of its name, in the same order. */
  recordSealingKeys: sealingKeysSchema,
  /** For digests that say nothing to those without it. It can never be changed: nothing would be found again. */
  digestKey: text,
  /** Private ES256 key of the PDP: signs binding tokens. */
  pdpSigningKey: privateKeySchema,
  /** Private ES256 key of the access request service: signs `approval.state`. */
  accessRequestSigningKey: privateKeySchema,
});

export type Secrets = z.infer<typeof secretsSchema>;
