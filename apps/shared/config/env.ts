import { homedir } from 'node:os';
import { join } from 'node:path';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** The environment of this process. It is read once and passed on as plain values. */
export interface Environment {
  /** `COUNTERSIGN_CONFIG`: the configuration file. */
  readonly configFile?: string | undefined;
  /** `COUNTERSIGN_STATE`: folder for everything the embedded parts keep. */
  readonly stateDir?: string | undefined;
  /** `DATABASE_URL`: PostgreSQL to use instead of the embedded one. Holds a password. */
  readonly databaseUrl?: string | undefined;
  /** `TEMPORAL_ADDRESS`: Temporal frontend (`host:port`) to use instead of the embedded one. */
  readonly temporalAddress?: string | undefined;
  /** `COUNTERSIGN_LOG_LEVEL`: the least severe level that logs keep. */
  readonly logLevel?: string | undefined;
  /** `PATH`: where to find programs. */
  readonly searchPath: string;
  /** Folder that outlives projects: below `XDG_CACHE_HOME`, else `~/.cache`. */
  readonly cacheDir: string;
  /** Every variable, for `${NAME}` in the configuration file and for child processes. Holds secrets. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Reads the environment; no other code does. An empty variable counts as absent. Throws `ERR_CONFIG_INVALID` for a database address
 * that is not valid.
 */
export function readEnvironment(raw: NodeJS.ProcessEnv = process.env): Environment {
  const variables = Object.fromEntries(
    Object.entries(raw).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
  const address = variables['DATABASE_URL'];
  return {
    configFile: variables['COUNTERSIGN_CONFIG'],
    stateDir: variables['COUNTERSIGN_STATE'],
    databaseUrl: address && databaseAddress('DATABASE_URL', address),
    temporalAddress: variables['TEMPORAL_ADDRESS'],
    logLevel: variables['COUNTERSIGN_LOG_LEVEL'],
    searchPath: variables['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    cacheDir: join(variables['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'countersign'),
    variables,
  };
}

/**
 * Returns a database address unchanged. A password with `/`, `?` or `#`, as in half of all random base64, ends the part before the
 * host too early: the address then cannot be parsed, or leads to a wrong host. Throws `ERR_CONFIG_INVALID` for such an address. The
 * error names the setting and not the address, which holds a password.
 */
export function databaseAddress(setting: string, address: string): string {
  const { protocol, pathname, search, hash } = URL.canParse(address) ? new URL(address) : { protocol: '' };
  const isPostgres = protocol === 'postgresql:' || protocol === 'postgres:';
  const isCutShort = [pathname, search, hash].some((part) => part?.includes('@'));
  if (isPostgres && !isCutShort && isDecodable(address)) return address;
  throw new CountersignError(
    'ERR_CONFIG_INVALID',
    `${setting} is not a valid address. In its password, write / ? # @ : % and blanks as percent codes (%2F for /), or ` +
      'choose one without these characters, as `openssl rand -hex 32` makes it. The form is postgresql://user:password@host:5432/database',
  );
}

function isDecodable(address: string): boolean {
  try {
    decodeURIComponent(address);
    return true;
  } catch {
    return false;
  }
}
