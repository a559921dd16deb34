import { randomBytes } from 'node:crypto';
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { temporalTools } from './obtain-temporal.mjs';
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
