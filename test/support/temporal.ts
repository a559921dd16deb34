import { randomBytes } from 'node:crypto';
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { temporalTools } from './obtain-temporal.mjs';
import { testRunFolder } from './test-run.ts';

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
