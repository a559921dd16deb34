import { homedir } from 'node:os';
import { join } from 'node:path';

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

/** Reads the environment. An empty variable counts as absent. The only place that does. */
export function readEnvironment(raw: NodeJS.ProcessEnv = process.env): Environment {
  const variables = Object.fromEntries(
    Object.entries(raw).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
  const named = {
    configFile: variables['COUNTERSIGN_CONFIG'],
    stateDir: variables['COUNTERSIGN_STATE'],
    databaseUrl: variables['DATABASE_URL'],
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
