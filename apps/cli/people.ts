import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { requestPersonToken } from '../shared/auth/client-credentials.ts';
import type { Config, Person } from '../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../shared/config/development-secrets.ts';
import { databaseAddress } from '../shared/config/env.ts';
import { runningPostgres } from '../shared/embedded/postgres.ts';
import { CliError, EXIT, type Io, readConfig, requireStack } from './context.ts';

export const AUDIENCES = ['mcp', 'approvals', 'audit'] as const;
/** The service a token is for. */
export type Audience = (typeof AUDIENCES)[number];

interface SignedIn {
  readonly token: string;
  /** Addresses of the services: of the running stack, or as configured. */
  readonly urls: Config['urls'];
}

interface As {
  readonly audience: Audience;
  readonly name?: string | undefined;
  /** Separated by blanks. Default: all that the service knows. */
  readonly scope?: string | undefined;
  /** What the person must be; without a name it is the first who has this role. */
  readonly role?: Person['roles'][number];
}

/**
 * Signs in to a service: with `COUNTERSIGN_TOKEN` at the configured addresses, else as a person of the running
 * development stack. Throws a line that says what is missing.
 */
export async function signIn(io: Io, config: Config, as: As): Promise<SignedIn> {
  const given = io.environment.variables['COUNTERSIGN_TOKEN'];
  if (given !== undefined && as.name === undefined) return { token: given, urls: config.urls };
  const { people, issuer } = config.identity;
  if (issuer !== undefined) {
    throw new CliError(`tokens come from ${issuer}; get one there and put it into COUNTERSIGN_TOKEN`);
  }
  const { name } = findPerson(people, as);
  const { urls } = await requireStack(config);
  const secrets = await loadDevelopmentSecrets(config.stateDir);
  const { accessToken } = await requestPersonToken({ ...config, urls }, secrets, { ...as, name });
  return { token: accessToken, urls };
}

function findPerson(people: readonly Person[], { name, role }: As): Person {
  const found = people.find((one) =>
    name === undefined ? role !== undefined && one.roles.includes(role) : one.name === name,
  );
  const known = people.map((one) => `${one.name} (${one.roles.join(', ')})`).join(', ');
  if (found === undefined) {
    if (name === undefined)
      throw new CliError(`nobody has the role ${role ?? ''}; there are ${known}. Name one with --as`);
    throw new CliError(`there is nobody called ${name}; there are ${known}`, { exitCode: EXIT.usage });
  }
  if (role === undefined || found.roles.includes(role)) return found;
  throw new CliError(`${found.name} does not have the role ${role}; there are ${known}`, { exitCode: EXIT.usage });
}

const KEYED = /^hmac-sha-256:[0-9a-f]{64}$/;
const PLAIN = /^(?:sha-256:)?([0-9a-f]{64})$/;

/**
 * The digest by which records name a call, of that or of the plain one that whoever has the arguments can compute; undefined for a text
 * that is neither. The audit service takes keyed digests only: plain ones could be tried one after the other, until a short
 * secret among the arguments is found. So the digest key is needed here, which auditors do not have. Throws where it is not.
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
    'records name calls by a keyed digest (hmac-sha-256:…), which the record shows. To find one by a plain digest, ask an operator to ' +
      'run this with COUNTERSIGN_DIGEST_KEY',
  );
}

/** The database to work on as the owner of its tables: the one that is named, else `DATABASE_URL`, else the running embedded one. */
export async function ownersDatabase(io: Io, command: Command, named?: string): Promise<string> {
  if (named !== undefined) return databaseAddress('--database-url', named);
  const url = io.environment.databaseUrl ?? (await runningPostgres(readConfig(io, command).config.stateDir));
  if (url !== undefined) return url;
  throw new CliError(
    'no database: set DATABASE_URL or --database-url (`npm start` migrates the embedded one by itself)',
  );
}
