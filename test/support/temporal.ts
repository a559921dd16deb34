import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { temporalTools } from './obtain-temporal.mjs';
import { testRunFolder } from './test-run.ts';
import { waitFor } from './wait-for.ts';

export interface TestTemporal {
  readonly address: string;
  readonly namespace: 'default';
  /** Unique, so that files that run at the same time do not take each other's work. */
  readonly taskQueue: string;
}

/** The Temporal server of this jest run, started by the first test file that asks. Call it in `beforeAll`. */
export async function testTemporal(): Promise<TestTemporal> {
  const { address } = await findOrStartTemporal({ stateDir: testRunFolder(), ...temporalTools() });
  return { address, namespace: 'default', taskQueue: `test-${randomBytes(6).toString('hex')}` };
}

/** Kills the Temporal server of a state folder, and waits until it is gone. */
export async function killTemporal(stateDir: string): Promise<void> {
  const { pid } = JSON.parse(readFileSync(join(stateDir, 'temporal', 'server.json'), 'utf8')) as { pid: number };
  process.kill(pid, 'SIGKILL');
  await waitFor(() => !isAlive(pid));
}

/** Removes all that the Temporal server of a state folder has stored. It must not run. */
export function emptyTemporal(stateDir: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(join(stateDir, 'temporal', `temporal.db${end}`), { force: true });
}
