import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { requestPersonToken } from '../shared/auth/client-credentials.ts';
import type { Config, Person } from '../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../shared/config/development-secrets.ts';
import { databaseAddress } from '../shared/config/env.ts';
import { runningPostgres } from '../shared/embedded/postgres.ts';
import { limitsOf } from '../shared/limits.ts';
import { createApi } from './api.ts';
import { CliError, EXIT, type Io, readConfig, requireStack } from './context.ts';

export const AUDIENCES = ['mcp', 'approvals', 'audit'] as const;
/** The service that accepts the token. */
export type Audience = (typeof AUDIENCES)[number];

interface As {
  readonly audience: Audience;
  readonly name?: string | undefined;
  /** Separated by blanks. Default: all scopes that the service knows. */
  readonly scope?: string | undefined;
  /** Role that the person must have. Without a name, the first person with this role signs in. */
  readonly role?: string;
}

/**
 * Signs in to a service: with `COUNTERSIGN_TOKEN` at the configured addresses, else as a person of the running development stack.
 * Returns the addresses with the token. Throws an error of one line if it cannot.
 */
export async function signIn(io: Io, config: Config, as: As): Promise<{ token: string; urls: Config['urls'] }> {
  const given = io.environment.variables['COUNTERSIGN_TOKEN'];
  if (given !== undefined && as.name === undefined) return { token: given, urls: config.urls };
  const { people, issuer } = config.identity;
  if (issuer !== undefined) {
    throw new CliError(`tokens come from ${issuer}; get one there and set COUNTERSIGN_TOKEN to it`);
  }
  const { name } = findPerson(people, as);
  const { urls } = await requireStack(config);
  const secrets = await loadDevelopmentSecrets(config.stateDir);
  const { accessToken } = await requestPersonToken({ ...config, urls }, secrets, { ...as, name });
  return { token: accessToken, urls };
}

/** The API of the inbox or the audit service, for a person who signs in as `signIn` does. */
export async function openApi(io: Io, config: Config, as: As & { readonly audience: 'approvals' | 'audit' }) {
  const { token, urls } = await signIn(io, config, as);
  return { api: createApi(urls[as.audience], token, limitsOf(config)), token, urls };
}

function findPerson(people: readonly Person[], { name, role }: As): Person {
  const found = people.find((one) =>
    name === undefined ? role !== undefined && one.roles.includes(role) : one.name === name,
  );
  const known = people.map((one) => `${one.name} (${one.roles.join(', ')})`).join(', ');
  if (found === undefined && name === undefined)
    throw new CliError(`no person has the role ${role ?? ''}; configured are ${known}. Name one with --as`);
  if (found === undefined || (role !== undefined && !found.roles.includes(role))) {
    const fault =
      found === undefined ? `no person is called ${name ?? ''}` : `${found.name} does not have the role ${role ?? ''}`;
    throw new CliError(`${fault}; configured are ${known}`, { exitCode: EXIT.usage });
  }
  return found;
}

const KEYED = /^hmac-sha-256:[0-9a-f]{64}$/;
const PLAIN = /^(?:sha-256:)?([0-9a-f]{64})$/;

/**
 * Turns the digest of a call into the keyed digest of its records. Anyone who has the arguments can compute the plain digest. Returns
 * `undefined` for a text that is not a digest. The audit service takes only keyed digests: with plain digests, an auditor could guess
 * short secrets among the arguments. So a plain digest needs the digest key, which auditors do not have. Throws without that key.
 */
export async function callDigestOf(io: Io, config: Config, text: string): Promise<string | undefined> {
  if (KEYED.test(text)) return text;
  const hex = PLAIN.exec(text)?.[1];
  if (hex === undefined) return undefined;
  const key = await digestKey(io, config);
  return `hmac-sha-256:${createHmac('sha256', key).update(`sha-256:${hex}`).digest('hex')}`;
}

async function digestKey(io: Io, { mode, stateDir }: Config): Promise<string> {
  const given = io.environment.variables['COUNTERSIGN_DIGEST_KEY'];
  if (given !== undefined) return given;
  if (mode === 'development' && existsSync(join(stateDir, 'secrets.json'))) {
    return (await loadDevelopmentSecrets(stateDir)).secrets.digestKey;
  }
  throw new CliError(
    'records contain only the keyed digest of a call (hmac-sha-256:…). To find one by a plain digest, ask an operator to ' +
      'run this with COUNTERSIGN_DIGEST_KEY',
  );
}

/** The database, for the owner of its tables: `named`, else `DATABASE_URL`, else the running embedded one. */
export async function ownersDatabase(io: Io, command: Command, named?: string): Promise<string> {
  if (named !== undefined) return databaseAddress('--database-url', named);
  const url = io.environment.databaseUrl ?? (await runningPostgres(readConfig(io, command).config.stateDir));
  if (url !== undefined) return url;
  throw new CliError(
    'there is no database; set DATABASE_URL or --database-url (`npm start` migrates the embedded database)',
  );
}
