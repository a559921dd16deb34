import { homedir } from 'node:os';
import { join } from 'node:path';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** What this process was told by its environment. Read once, passed on as plain values. */
export interface Environment {
  /** `COUNTERSIGN_CONFIG`: the configuration file. */
  readonly configFile?: string;
  /** `COUNTERSIGN_STATE`: folder for everything the embedded parts keep. */
  readonly stateDir?: string;
  /** `DATABASE_URL`: PostgreSQL to use instead of the embedded one. Holds a password. */
  readonly databaseUrl?: string;
  /** `TEMPORAL_ADDRESS`: Temporal frontend (`host:port`) to use instead of the embedded one. */
  readonly temporalAddress?: string;
  /** `COUNTERSIGN_LOG_LEVEL`: the least severe level that logs keep. */
  readonly logLevel?: string;
  /** `PATH`: where programs are looked for. */
  readonly searchPath: string;
  /** Folder that outlives projects: below `XDG_CACHE_HOME`, else `~/.cache`. */
  readonly cacheDir: string;
  /** Everything, for `${NAME}` in the configuration file and for programs that are started. Holds secrets. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Reads the environment. An empty variable counts as absent. The only place that does. Throws `ERR_CONFIG_INVALID` for an address that
 * cannot be read.
 */
export function readEnvironment(raw: NodeJS.ProcessEnv = process.env): Environment {
  const variables = Object.fromEntries(
    Object.entries(raw).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
  const address = variables['DATABASE_URL'];
  const named = {
    configFile: variables['COUNTERSIGN_CONFIG'],
    stateDir: variables['COUNTERSIGN_STATE'],
    databaseUrl: address && databaseAddress('DATABASE_URL', address),
    temporalAddress: variables['TEMPORAL_ADDRESS'],
    logLevel: variables['COUNTERSIGN_LOG_LEVEL'],
  };
  return {
    ...dropAbsent(named),
    searchPath: variables['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    cacheDir: join(variables['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'countersign'),
    variables,
  };
}

function dropAbsent<Name extends string>(values: Record<Name, string | undefined>): Partial<Record<Name, string>> {
  const present: Partial<Record<Name, string>> = {};
  for (const name in values) if (values[name] !== undefined) present[name] = values[name];
  return present;
}

const badAddress = (setting: string) =>
  `${setting} is not an address that can be read. In its password, write / ? # @ : % and blanks as percent codes (%2F for /), or ` +
  'choose one without these characters, as `openssl rand -hex 32` makes it. The form is postgresql://user:password@host:5432/database';

/**
 * The address of a database, as it is. A password with `/`, `?` or `#` in it, as half of all random base64 has, ends the part before the
 * host too early: such an address cannot be read, or leads to a wrong host. Throws `ERR_CONFIG_INVALID` for one, with the name of the
 * setting and without the address, which holds a password.
 */
export function databaseAddress(setting: string, address: string): string {
  const { protocol, pathname, search, hash } = URL.canParse(address) ? new URL(address) : { protocol: '' };
  const isPostgres = protocol === 'postgresql:' || protocol === 'postgres:';
  const isCutShort = [pathname, search, hash].some((part) => part?.includes('@'));
  if (!isPostgres || isCutShort || !isDecodable(address)) {
    throw new CountersignError('ERR_CONFIG_INVALID', badAddress(setting));
  }
  return address;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
