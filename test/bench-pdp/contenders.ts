import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { onFreePorts } from '../support/config.ts';
import { waitFor } from '../support/wait-for.ts';

/** Connections that are kept open, and with them the most callers at once. */
const CONNECTIONS = 16;
const PATIENCE = { timeoutMs: 120_000, everyMs: 100 };

/** A policy decision point in a process of its own. */
export interface Contender {
  /** Whether a question is permitted; throws when it is not answered. `body` is what `JSON.stringify` makes of one. */
  ask(body: string): Promise<boolean>;
  stop(): Promise<void>;
}

/** Ours, as in production: its deployable, over a real Postgres. */
export async function startOurs(of: { folder: string; policies: string; databaseUrl: string }): Promise<Contender> {
  const state = join(of.folder, 'state');
  mkdirSync(state, { recursive: true });
  const ports = await onFreePorts();
  const raw = { ...ports, pdp: { ...ports.pdp, policies: of.policies } };
  writeFileSync(join(of.folder, 'countersign.yaml'), stringify(raw));
  const { secrets } = await loadDevelopmentSecrets(state);
  const { urls } = parseConfig(raw, { baseDir: of.folder, stateDir: state });
  const child = spawn(process.execPath, [packagePath('dist', 'apps', 'pdp', 'main.js')], {
    cwd: of.folder,
    env: { ...process.env, DATABASE_URL: of.databaseUrl, COUNTERSIGN_STATE: state },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return contender(child, urls.pdp, { authorization: `Bearer ${secrets.pdpToken}` });
}

/** Cerbos, as its package has it: its own AuthZEN endpoint over a folder of policies. */
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
    ['server', '--log-level=error', ...args],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  return contender(child, `http://127.0.0.1:${port}`, {});
}

async function contender(child: ChildProcess, origin: string, credentials: object): Promise<Contender> {
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    await pool.close();
    child.kill('SIGTERM');
    await ended;
  };
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode} before it answered`);
    const path = '/.well-known/authzen-configuration';
    return fetch(origin + path).then(
      ({ ok }) => ok,
      () => false,
    );
  }, PATIENCE);
  const headers = { 'content-type': 'application/json', ...credentials };
  return {
    async ask(body) {
      const answer = await pool.request({ method: 'POST', path: '/access/v1/evaluation', headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}: ${text}`);
      return (JSON.parse(text) as { decision: boolean }).decision;
    },
    stop,
  };
}
