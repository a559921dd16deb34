import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, linkSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import * as z from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { privateKeySchema, type Secrets, secretsSchema } from './secrets.ts';
import { errorCode } from '../lifecycle.ts';
import { NotPrivate, readPrivately, writePrivately } from '../private-file.ts';
import { demandOwnState } from '../state-folder.ts';

const identitySchema = z.strictObject({
  /** Private ES256 key that signs every token of the embedded identity provider. */
  signingKey: privateKeySchema,
  /** Signs the provider's cookies. */
  cookieKey: z.string().min(16),
  /** Key from which the client secret of each person is derived. */
  clientSecretKey: z.string().min(16),
});

/** Secrets that keep tokens of the embedded identity provider valid over a restart. */
export type IdentitySecrets = z.infer<typeof identitySchema>;

export interface DevelopmentSecrets {
  readonly secrets: Secrets;
  readonly identity: IdentitySecrets;
}

const fileSchema = secretsSchema.extend({ identity: identitySchema });
type SecretsFile = z.infer<typeof fileSchema>;

/**
 * Loads the secrets of this state folder. The first start makes them and keeps them in `secrets.json`, which only its owner can read.
 * Processes that start at the same time get the same secrets. Throws `ERR_CONFIG_INVALID` when the file is damaged, or
 * when others may have written or read it.
 */
export async function loadDevelopmentSecrets(stateDir: string): Promise<DevelopmentSecrets> {
  const file = join(stateDir, 'secrets.json');
  demandOwnState(stateDir);
  if (!existsSync(file)) write(await makeSecrets(), file, linkSync);
  const { identity, ...secrets } = await readSecrets(file);
  return { secrets, identity };
}

/** Client secret with which `name` asks the embedded identity provider for a token. */
export const clientSecretOf = (identity: IdentitySecrets, name: string): string =>
  createHmac('sha256', identity.clientSecretKey).update(name).digest('base64url');

async function readSecrets(file: string): Promise<SecretsFile> {
  const kept = objectIn(privateText(file));
  const complete = fileSchema.safeParse(kept);
  if (complete.success) return complete.data;
  // An older version knew fewer secrets: the new ones are added, and the others stay.
  const filled = kept && fileSchema.safeParse({ ...(await makeSecrets()), ...kept });
  if (!filled?.success) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      `${file} is damaged; restore it, or delete it and start again (open gated calls then lose their callbacks)`,
    );
  }
  write(filled.data, file, renameSync);
  return filled.data;
}

function privateText(file: string): string {
  try {
    return readPrivately(file) ?? '';
  } catch (error) {
    if (!(error instanceof NotPrivate)) throw error;
    const next =
      'Others may know its keys: delete it and start again, or correct its rights (chmod 600) if you are sure';
    throw new CountersignError('ERR_CONFIG_INVALID', `${file} ${error.message}. ${next}`);
  }
}

/** Returns `undefined` for anything but a JSON object. The error of the parser would quote secrets, so it is dropped. */
function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function write(content: SecretsFile, file: string, move: (from: string, to: string) => void): void {
  try {
    writePrivately(file, `${JSON.stringify(content, null, 2)}\n`, move);
  } catch (error) {
    // Another process was faster: use its secrets.
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

async function makeSecrets(): Promise<SecretsFile> {
  const token = () => randomBytes(32).toString('base64url');
  const webhookSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
  return {
    pdpToken: token(),
    accessRequestToken: token(),
    callbackSecret: webhookSecret(),
    decisionWebhookSecret: webhookSecret(),
    sessionSecret: token(),
    oidcClientSecret: token(),
    sealingKeys: [{ kty: 'oct', kid: 'development', k: token() }],
    recordSealingKeys: [{ kty: 'oct', kid: 'development', k: token() }],
    digestKey: token(),
    pdpSigningKey: await signingKey(),
    accessRequestSigningKey: await signingKey(),
    identity: { signingKey: await signingKey(), cookieKey: token(), clientSecretKey: token() },
  };
}

async function signingKey() {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(privateKey);
  const { kty, d, ...members } = jwk;
  if (kty === undefined || d === undefined) throw new Error('the generated key has no private part');
  return { ...members, kty, d, kid: await calculateJwkThumbprint(jwk), alg: 'ES256', use: 'sig' };
}
