import * as z from 'zod';
import { jsonIn } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { readText } from '../text-file.ts';

const text = z.string().min(16);
/** A private key: only private keys have `d`. */
export const privateKeySchema = z.looseObject({ kty: z.string(), kid: z.string(), d: z.string() });
/** An AES-256 key as a JWK: `k` is 32 bytes in base64url. @see RFC 7518, section 6.4 */
const sealingKeySchema = z.looseObject({
  kty: z.literal('oct'),
  kid: z.string().min(1),
  k: z.string().regex(/^[\w-]{43}$/),
});

/** Sealed content names its key by `kid`, so each `kid` must be unique. */
const sealingKeysSchema = z
  .array(sealingKeySchema)
  .min(1)
  .refine((keys) => new Set(keys.map(({ kid }) => kid)).size === keys.length);

/**
 * Values that must never be printed. In development the first start makes them and keeps them in the state folder (mode 0600). In
 * production each comes from an environment variable of the same name in upper snake case.
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
    'AES-256 keys that seal the content of gated calls, as a list of JWKs. The first key seals. The others open content that they sealed earlier.',
  ),
  recordSealingKeys: sealingKeysSchema.describe(
    'AES-256 keys that seal the content that auditors may read. For each of the sealing keys, one with the same `kid`, in the same order.',
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

export const SECRET_NAMES = secretsSchema.keyof().options;

const NO_PRIVATE_KEY = 'not a private key in JWK form with a kid';
const NO_SEALING_KEYS = 'not a list of symmetric keys in JWK form, each with its own kid and 32 bytes in k (base64url)';
/** What is wrong with an unusable value. */
const RULES: { readonly [Name in keyof Secrets]?: string } = {
  pdpSigningKey: NO_PRIVATE_KEY,
  accessRequestSigningKey: NO_PRIVATE_KEY,
  sealingKeys: NO_SEALING_KEYS,
  recordSealingKeys: NO_SEALING_KEYS,
};
const TOO_SHORT = 'too short: use at least 16 characters';

/** `pdpSigningKey` → `COUNTERSIGN_PDP_SIGNING_KEY` */
export const secretVariable = (name: keyof Secrets): string =>
  `COUNTERSIGN_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/**
 * Reads the named secrets, each from its environment variable. Keys are JWKs. A deployable asks only for its own secrets. Throws
 * `ERR_CONFIG_INVALID` with every variable that is missing or unusable, and without a value.
 */
export function secretsFromEnvironment<Name extends keyof Secrets>(
  variables: Readonly<Record<string, string>>,
  names: readonly Name[],
): Pick<Secrets, Name> {
  const problems: string[] = [];
  const read = names.map((name) => {
    const variable = secretVariable(name);
    const value = variables[variable];
    const { data, success } = secretsSchema.shape[name].safeParse(parsed(value));
    if (!success) problems.push(`${variable} is ${value === undefined ? 'not set' : (RULES[name] ?? TOO_SHORT)}`);
    return [name, data];
  });
  if (problems.length > 0) throw new CountersignError('ERR_CONFIG_INVALID', problems.join('\n'));
  return Object.fromEntries(read) as Pick<Secrets, Name>;
}

/** Keys are JSON objects or lists. Any other value is a text. */
const parsed = (value = ''): unknown => (/^[{[]/.test(value) ? jsonIn(value) : undefined) ?? value;

/**
 * Reads a secret from the configuration, or from the file that it names. Throws `ERR_CONFIG_INVALID` when the file cannot be read or
 * the secret is too short. The error names the setting and never contains the secret. Passwords that others choose may be shorter.
 */
export async function secretText(
  secret: string | { readonly file: string },
  setting: string,
  minLength = 16,
): Promise<string> {
  const text = typeof secret === 'string' ? secret : await contentOf(secret.file, setting);
  if (text.length >= minLength) return text;
  throw new CountersignError('ERR_CONFIG_INVALID', `${setting} is ${text === '' ? 'empty' : TOO_SHORT}`);
}

async function contentOf(file: string, setting: string): Promise<string> {
  try {
    return (await readText(file)).trim();
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `${setting}: cannot read the file ${file}`, { cause });
  }
}
