import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { testRunFolder } from './test-run.ts';

export interface TestTemporal {
  readonly address: string;
  readonly namespace: 'default';
  /** Nobody else's, so that files which run at the same time do not take each other's work. */
  readonly taskQueue: string;
}

/** The Temporal server of this jest run, started by whichever test file asks first. Call it in `beforeAll`. */
export async function testTemporal(): Promise<TestTemporal> {
  const { address } = await findOrStartTemporal({ stateDir: testRunFolder(), ...temporalTools() });
  return { address, namespace: 'default', taskQueue: `test-${randomBytes(6).toString('hex')}` };
}

/** Where the `temporal` program is looked for, and kept over test runs. */
export function temporalTools() {
  const variables = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const cacheDir = join(variables['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'countersign');
  return { searchPath: variables['PATH'] ?? '', cacheDir, variables };
}
