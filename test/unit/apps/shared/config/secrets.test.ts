import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clientSecretOf, loadDevelopmentSecrets } from '../../../../../apps/shared/config/development-secrets.ts';
import { SECRET_NAMES, secretsFromEnvironment, secretVariable } from '../../../../../apps/shared/config/secrets.ts';

let stateDir: string;
const file = () => join(stateDir, 'secrets.json');

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'secrets-'));
});

afterEach(() => rmSync(stateDir, { recursive: true }));

describe('loadDevelopmentSecrets', () => {
  it('makes secrets once, readable only for the owner', async () => {
    const made = await loadDevelopmentSecrets(stateDir);
    expect(made.secrets.pdpToken).not.toBe(made.secrets.accessRequestToken);
    expect(made.secrets.callbackSecret).toMatch(/^whsec_/);
    expect(made.secrets.pdpSigningKey).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256' });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(await loadDevelopmentSecrets(stateDir)).toEqual(made);
  });

  it('gives the same secrets to all processes that start at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => loadDevelopmentSecrets(stateDir)));
    for (const each of all) expect(each).toEqual(all[0]);
    expect(readdirSync(stateDir)).toEqual(['secrets.json']);
  });

  it('adds secrets that an older version did not know and keeps the rest', async () => {
    const made = await loadDevelopmentSecrets(stateDir);
    const older: Record<string, unknown> = JSON.parse(readFileSync(file(), 'utf8'));
    delete older['identity'];
    writeFileSync(file(), JSON.stringify(older));
    const again = await loadDevelopmentSecrets(stateDir);
    expect(again.secrets).toEqual(made.secrets);
    expect(again.identity.signingKey.kid).not.toBe(made.identity.signingKey.kid);
    expect(await loadDevelopmentSecrets(stateDir)).toEqual(again);
  });

  it.each(['{"pdpToken": ', '{"pdpToken": 7}', '[]'])('does not replace a damaged file: %s', async (text) => {
    writeFileSync(file(), text);
    await expect(loadDevelopmentSecrets(stateDir)).rejects.toMatchObject({ code: 'ERR_CONFIG_INVALID' });
    expect(readFileSync(file(), 'utf8')).toBe(text);
  });

  it('gives each person their own client secret, which stays the same', async () => {
    const { identity } = await loadDevelopmentSecrets(stateDir);
    expect(clientSecretOf(identity, 'alice')).toBe(clientSecretOf(identity, 'alice'));
    expect(clientSecretOf(identity, 'alice')).not.toBe(clientSecretOf(identity, 'bob'));
  });
});

describe('secretsFromEnvironment', () => {
  const key = JSON.stringify({ kty: 'EC', kid: 'k', crv: 'P-256', x: 'x', y: 'y', d: 'd' });

  it('reads the named ones, each from its variable', () => {
    expect(secretVariable('accessRequestSigningKey')).toBe('COUNTERSIGN_ACCESS_REQUEST_SIGNING_KEY');
    const variables = { COUNTERSIGN_PDP_TOKEN: 'a-token-of-some-length', COUNTERSIGN_PDP_SIGNING_KEY: key };
    const secrets = secretsFromEnvironment(variables, ['pdpToken', 'pdpSigningKey']);
    expect(secrets).toEqual({ pdpToken: 'a-token-of-some-length', pdpSigningKey: JSON.parse(key) });
  });

  it('names every variable that is missing', () => {
    const names = SECRET_NAMES.map(secretVariable);
    expect(() => secretsFromEnvironment({}, SECRET_NAMES)).toThrow(
      names.map((name) => `${name} is not set`).join('\n'),
    );
  });

  it('names the fault of a value without showing the value', () => {
    const publicKey = JSON.stringify({ kty: 'EC', kid: 'hunter2' });
    const variables = { COUNTERSIGN_PDP_TOKEN: 'hunter2', COUNTERSIGN_PDP_SIGNING_KEY: publicKey };
    const attempt = () => secretsFromEnvironment(variables, ['pdpToken', 'pdpSigningKey', 'sessionSecret']);
    expect(attempt).toThrow(
      /PDP_TOKEN is too short[^]*PDP_SIGNING_KEY is not a private key[^]*SESSION_SECRET is not set/,
    );
    expect(attempt).not.toThrow(/hunter2/);
  });

  it('refuses two sealing keys of one name', () => {
    const named = (kid: string, byte: number) => ({ kty: 'oct', kid, k: Buffer.alloc(32, byte).toString('base64url') });
    const read = (...keys: object[]) =>
      secretsFromEnvironment({ COUNTERSIGN_SEALING_KEYS: JSON.stringify(keys) }, ['sealingKeys']);
    expect(read(named('a', 1), named('b', 2)).sealingKeys).toHaveLength(2);
    expect(() => read(named('a', 1), named('a', 2))).toThrow(/SEALING_KEYS is not a list .* each with its own kid/);
  });
});
