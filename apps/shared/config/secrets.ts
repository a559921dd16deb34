import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';

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

export const SECRET_NAMES = secretsSchema.keyof().options;

const NO_PRIVATE_KEY = 'no private key in JWK form with a kid';
const NO_SEALING_KEYS =
  'no list of symmetric keys in JWK form, each with a kid of its own and 32 bytes in k (base64url)';
/** What is wrong with one that cannot be used. */
const RULES: { readonly [Name in keyof Secrets]?: string } = {
  pdpSigningKey: NO_PRIVATE_KEY,
  accessRequestSigningKey: NO_PRIVATE_KEY,
  sealingKeys: NO_SEALING_KEYS,
  recordSealingKeys: NO_SEALING_KEYS,
};

/** `pdpSigningKey` → `COUNTERSIGN_PDP_SIGNING_KEY` */
export function secretVariable(name: keyof Secrets): string {
  return `COUNTERSIGN_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * The named secrets, each from its environment variable; keys are given as JWK. A deployable asks for its own alone.
 * Throws `ERR_CONFIG_INVALID` with every variable that is missing or unusable, and no value.
 */
export function secretsFromEnvironment<Name extends keyof Secrets>(
  variables: Readonly<Record<string, string>>,
  names: readonly Name[],
): Pick<Secrets, Name> {
  const given = names.map((name) => [name, read(variables[secretVariable(name)])] as const);
  const present = given.filter(([, value]) => value !== undefined);
  const parsed = secretsSchema.partial().safeParse(Object.fromEntries(present));
  if (parsed.success && holdsAll(parsed.data, names)) return parsed.data;
  const unusable = new Set(parsed.error?.issues.map((issue) => issue.path[0]));
  const lines = names.flatMap((name) => {
    const variable = secretVariable(name);
    if (variables[variable] === undefined) return [`${variable} is not set`];
    if (!unusable.has(name)) return [];
    return [`${variable} is ${RULES[name] ?? 'too short: at least 16 characters'}`];
  });
  throw new CountersignError('ERR_CONFIG_INVALID', lines.join('\n'));
}

function holdsAll<Name extends keyof Secrets>(
  secrets: { [Each in keyof Secrets]?: Secrets[Each] | undefined },
  names: readonly Name[],
): secrets is Pick<Secrets, Name> {
  return names.every((name) => secrets[name] !== undefined);
}

/** Keys are JSON objects; everything else is taken as it is written. */
function read(value: string | undefined): unknown {
  if (value === undefined || !/^[{[]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/**
 * The text of a secret that is in the configuration, or in a file that it names. Throws `ERR_CONFIG_INVALID`, with the
 * setting and never the text, when it cannot be read or is too short to be secret.
 */
export async function secretText(secret: string | { readonly file: string }, setting: string): Promise<string> {
  const text = typeof secret === 'string' ? secret : await contentOf(secret.file, setting);
  if (text.length >= 16) return text;
  throw new CountersignError('ERR_CONFIG_INVALID', `${setting} is too short: at least 16 characters`);
}

async function contentOf(file: string, setting: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `${setting}: the file ${file} cannot be read`, { cause });
  }
}
