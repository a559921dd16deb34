// Loaded into a process of the product before everything else: puts a failpoint around each statement that is a step of
// the matrix.
import { Client, type QueryConfig } from 'pg';
import { failpointFolder } from './build.ts';
import { createFailpoints } from './failpoints.ts';
import { statementsOf, type Victim } from './steps.ts';

const through = createFailpoints(failpointFolder());
const steps = statementsOf(process.env['CRASH_VICTIM'] as Victim);
type Query = (...args: unknown[]) => unknown;
const query = Client.prototype.query as Query;

/** The driver's words for a lost connection. */
function lost(): never {
  throw new Error('Connection terminated unexpectedly');
}

/** A pool queries with a callback, all other code with a promise. */
Client.prototype.query = function breakable(this: Client, ...args: unknown[]) {
  const [statement, ...rest] = args as [QueryConfig | string, ...unknown[]];
  const step = typeof statement === 'string' ? undefined : steps.get(statement.name ?? '');
  if (step === undefined) return query.apply(this, args);
  const callback = rest.at(-1);
  const values = typeof callback === 'function' ? rest.slice(0, -1) : rest;
  const broken = through(step, async () => query.call(this, statement, ...values), lost);
  if (typeof callback !== 'function') return broken;
  broken.then(
    (answer) => callback(null, answer),
    (error: unknown) => callback(error),
  );
  return undefined;
} as typeof Client.prototype.query;
