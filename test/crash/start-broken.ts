// Loaded into a process of the product before anything else: puts a failpoint around each statement that is a step of its.
import { Pool, type QueryConfig } from 'pg';
import { failpointFolder } from './build.ts';
import { createFailpoints } from './failpoints.ts';
import { statementsOf, type Victim } from './steps.ts';

const through = createFailpoints(failpointFolder());
const steps = statementsOf(process.env['CRASH_VICTIM'] as Victim);
const query = Pool.prototype.query as (...args: unknown[]) => Promise<unknown>;

/** What the driver says of a connection that is gone. */
function lost(): never {
  throw new Error('Connection terminated unexpectedly');
}

Pool.prototype.query = function breakable(this: Pool, ...args: unknown[]) {
  const [statement] = args as [QueryConfig | string];
  const step = typeof statement === 'string' ? undefined : steps.get(statement.name ?? '');
  const run = () => query.apply(this, args);
  return step === undefined ? run() : through(step, run, lost);
} as typeof Pool.prototype.query;
