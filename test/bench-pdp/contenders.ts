import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { onFreePorts } from '../support/config.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Load, Target, Work } from './load.ts';

const UNTIL_STARTED = { timeoutMs: 120_000, everyMs: 100 };
/** At its default level, Cerbos logs each request and ours does not. At this level neither does. */
const LOG_LEVEL = 'warn';
/** The benchmark measures the speed of the decision point, not its rate limit. */
const NO_LIMIT = 1_000_000_000;

/** A policy decision point in a process of its own. */
export interface Contender extends Target {
  stop(): Promise<void>;
}

/** Sends requests to contenders, from a process of its own. */
export interface Loader {
  /** Throws if a request has no answer. */
  load(target: Target, work: Work): Promise<Load>;
  stop(): Promise<void>;
}

export function startLoader(): Loader {
  const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)));
  return {
    async load({ origin, credentials }, work) {
      child.send({ target: { origin, credentials }, work });
      const [answer] = (await once(child, 'message')) as [{ done?: Load; failed?: string }];
      if (answer.done === undefined) throw new Error(answer.failed ?? 'the loader answered nothing');
      return answer.done;
    },
    stop: () => ending(child),
  };
}

/** Our decision point, as in production: its deployable, with a real Postgres. */
export async function startOurs(of: { folder: string; policies: string; databaseUrl: string }): Promise<Contender> {
  const state = join(of.folder, 'state');
  mkdirSync(state, { recursive: true });
  const ports = await onFreePorts();
  const raw = { ...ports, pdp: { ...ports.pdp, policies: of.policies, maxEvaluationsPerSecond: NO_LIMIT } };
  writeFileSync(join(of.folder, 'countersign.yaml'), stringify(raw));
  const { secrets } = await loadDevelopmentSecrets(state);
  const { urls } = parseConfig(raw, { baseDir: of.folder, stateDir: state });
  const child = spawn(process.execPath, [packagePath('dist', 'apps', 'pdp', 'main.js')], {
    cwd: of.folder,
    env: {
      ...process.env,
      DATABASE_URL: of.databaseUrl,
      COUNTERSIGN_STATE: state,
      COUNTERSIGN_LOG_LEVEL: LOG_LEVEL,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return contender(child, urls.pdp, { authorization: `Bearer ${secrets.pdpToken}` });
}

/** Cerbos, as its package ships it: its own AuthZEN endpoint, with a folder of policies. It checks no credentials. */
export async function startCerbos(of: { policies: string }): Promise<Contender> {
  const { platform, arch } = process;
  const ownRequire = createRequire(createRequire(import.meta.url).resolve('cerbos'));
  const [port, grpcPort] = [await freePort(), await freePort()];
  const settings = {
    'storage.driver': 'disk',
    'storage.disk.directory': of.policies,
    'storage.disk.watchForChanges': 'false',
    'server.httpListenAddr': `127.0.0.1:${port}`,
    'server.grpcListenAddr': `127.0.0.1:${grpcPort}`,
    'telemetry.disabled': 'true',
  };
  const args = Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`);
  const child = spawn(
    ownRequire.resolve(`@cerbos/cerbos-${platform}-${arch}`),
    ['server', `--log-level=${LOG_LEVEL}`, ...args],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  return contender(child, `http://127.0.0.1:${port}`, {});
}

async function contender(
  child: ChildProcess,
  origin: string,
  credentials: Contender['credentials'],
): Promise<Contender> {
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode} before it answered`);
    const path = '/.well-known/authzen-configuration';
    return fetch(origin + path).then(
      ({ ok }) => ok,
      () => false,
    );
  }, UNTIL_STARTED);
  return { origin, credentials, stop: () => ending(child) };
}

async function ending(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
