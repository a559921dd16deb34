import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { waitFor } from './wait-for.ts';

/** The binary that the npm package `cerbos` brings for this platform. */
function binary(): string {
  const fromCerbos = createRequire(createRequire(import.meta.url).resolve('cerbos/package.json'));
  return fromCerbos.resolve(`@cerbos/cerbos-${process.platform}-${process.arch}`);
}

/** A real Cerbos with these policy files (YAML), in a separate process. `stop` it after the tests. */
export async function startCerbos(policies: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'cerbos-'));
  mkdirSync(join(folder, 'policies'));
  for (const [name, text] of Object.entries(policies)) writeFileSync(join(folder, 'policies', name), text);
  const httpPort = await freePort();
  const url = `http://127.0.0.1:${httpPort}`;
  const settings = [
    `server.httpListenAddr=127.0.0.1:${httpPort}`,
    `server.grpcListenAddr=127.0.0.1:${await freePort()}`,
    'telemetry.disabled=true',
    'storage.driver=disk',
    `storage.disk.directory=${join(folder, 'policies')}`,
  ];
  const child = spawn(binary(), ['server', ...settings.map((one) => `--set=${one}`)], { cwd: folder });
  const gone = once(child, 'exit');
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log += text.toString()));
  const stop = async () => {
    child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`Cerbos ended: ${log}`);
    return (await fetch(`${url}/_cerbos/health`).catch(() => undefined))?.ok === true;
  };
  try {
    await waitFor(isReady);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}
