import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import * as z from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { privateKeySchema, type Secrets, secretsSchema } from './secrets.ts';
import { errorCode } from '../lifecycle.ts';

const identitySchema = z.strictObject({
  /** Private ES256 key of the embedded identity provider: signs every token it gives out. */
  signingKey: privateKeySchema,
  /** Signs the provider's cookies. */
  cookieKey: z.string().min(16),
  /** What each person's client secret is made from. */
  clientSecretKey: z.string().min(16),
});

/** What the embedded identity provider must not forget, or tokens from before a restart would be worth nothing. */
export type IdentitySecrets = z.infer<typeof identitySchema>;

export interface DevelopmentSecrets {
  readonly secrets: Secrets;
  readonly identity: IdentitySecrets;
}

const fileSchema = secretsSchema.extend({ identity: identitySchema });
type SecretsFile = z.infer<typeof fileSchema>;

/**
 * The secrets of this state folder, made at the first start and kept in `secrets.json`, readable for the owner alone.
 * Processes that start at the same time get the same ones. Throws `ERR_CONFIG_INVALID` when the file was damaged.
 */
export async function loadDevelopmentSecrets(stateDir: string): Promise<DevelopmentSecrets> {
  const file = join(stateDir, 'secrets.json');
  mkdirSync(stateDir, { recursive: true });
  if (!existsSync(file)) place(await makeSecrets(), file, linkSync);
  const { identity, ...secrets } = (await readSecrets(file)) satisfies SecretsFile;
  return { secrets, identity };
}

/** Client secret with which `name` asks the embedded identity provider for a token. */
export function clientSecretOf(identity: IdentitySecrets, name: string): string {
  return createHmac('sha256', identity.clientSecretKey).update(name).digest('base64url');
}

async function readSecrets(file: string): Promise<SecretsFile> {
  const kept = parse(readFileSync(file, 'utf8'));
  const whole = fileSchema.safeParse(kept);
  if (whole.success) return whole.data;
  // Made by a version that knew fewer secrets: what is there stays.
  const filled = fileSchema.safeParse({ ...(await makeSecrets()), ...kept });
  if (!filled.success) throw damaged(file);
  place(filled.data, file, renameSync);
  return filled.data;

  function parse(text: string): Record<string, unknown> {
    try {
      return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
    } catch {
      throw damaged(file);
    }
  }
}

function damaged(file: string): CountersignError {
  return new CountersignError(
    'ERR_CONFIG_INVALID',
    `${file} is damaged; restore it, or delete it and start again (open gated calls then lose their callbacks)`,
  );
}

/** Writes the file beside its place and moves it there in one step, so that no process reads half of it. */
function place(content: SecretsFile, file: string, move: (from: string, to: string) => void): void {
  const made = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(made, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  try {
    move(made, file);
  } catch (error) {
    // Another process was faster: its secrets are the ones to use.
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(made, { force: true });
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
  if (kty === undefined || d === undefined) throw new Error('no private key was made');
  return { ...members, kty, d, kid: await calculateJwkThumbprint(jwk), alg: 'ES256', use: 'sig' };
}
