import type { GatewayConnections } from '../../apps/gateway/main.ts';
import type { WorkerConnections } from '../../apps/worker/main.ts';
import type { CountersignError, ErrorCode } from '../../workflows/domain/errors.ts';
import { armedIn, type Failing, type Through } from './failpoints.ts';

/** The class of the build, which is what the build's code looks for. */
type ErrorClass = typeof CountersignError;

/** Failures as the real ports have them. */
function failures(Failure: ErrorClass) {
  const failing = (code: ErrorCode) => (): never => {
    throw new Failure(code, 'armed');
  };
  return {
    database: failing('ERR_DATABASE_UNAVAILABLE'),
    pdp: failing('ERR_PDP_UNAVAILABLE'),
    accessRequests: failing('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE'),
    upstream: failing('ERR_UPSTREAM_UNAVAILABLE'),
    engine: (): never => {
      throw new Error('armed');
    },
  };
}

/** The gateway's ports with a failpoint in each of its steps. */
export function breakableGateway(real: GatewayConnections, through: Through, Failure: ErrorClass): GatewayConnections {
  const fails = failures(Failure);
  const { pdp, gatedCalls, store, accessRequests } = real;
  return {
    ...real,
    pdp: { evaluate: (...args) => through('C0', () => pdp.evaluate(...args), fails.pdp) },
    gatedCalls: {
      open: (opening) => through('C1', () => gatedCalls.open(opening), fails.database),
      findTask: (...args) => through('Q1', () => gatedCalls.findTask(...args), fails.database),
      cancel: (id) => through('X1', () => gatedCalls.cancel(id), fails.database),
      acceptCallback: (callback) => through('R1', () => gatedCalls.acceptCallback(callback), fails.database),
    },
    accessRequests: {
      ...accessRequests,
      submit: (submission) => through('C2', () => accessRequests.submit(submission), fails.accessRequests),
    },
    store: {
      ...store,
      attachHandle: (...args) => through('C3', () => store.attachHandle(...args), fails.database),
    },
  };
}

/** The worker's ports with a failpoint in each of its steps. */
export function breakableWorker(
  real: WorkerConnections,
  through: Through,
  { Failure, folder }: { Failure: ErrorClass; folder: string },
): WorkerConnections {
  const fails = failures(Failure);
  const { pdp, accessRequests, dueLooks, workflows, upstreams } = real;
  return {
    ...real,
    store: breakableStore(real.store, through, { fails: fails.database, folder }),
    pdp: { evaluate: (...args) => through('E2', () => pdp.evaluate(...args), fails.pdp) },
    accessRequests: {
      ...accessRequests,
      read: (handle) => through('R3', () => accessRequests.read(handle), fails.accessRequests),
      cancel: (handle) => through('X2', () => accessRequests.cancel(handle), fails.accessRequests),
    },
    dueLooks: { ...dueLooks, take: (limit) => through('R6', () => dueLooks.take(limit), fails.database) },
    workflows: {
      ...workflows,
      start: (id) => through('C4', () => workflows.start(id), fails.engine),
      poke: (id) => through('R2', () => workflows.poke(id), fails.engine),
    },
    upstreams: {
      ...upstreams,
      find: (...args) => through('E1', () => upstreams.find(...args), fails.upstream),
      // What becomes of a call is said, not thrown.
      call: (...args) =>
        through(
          'E6',
          () => upstreams.call(...args),
          (position) =>
            position === 'a' ? { kind: 'not_sent', cause: 'armed' } : { kind: 'no_answer', cause: 'armed' },
        ),
    },
  };
}

function breakableStore(
  store: WorkerConnections['store'],
  through: Through,
  { fails, folder }: { fails: Failing<never>; folder: string },
): WorkerConnections['store'] {
  return {
    ...store,
    grant: (...args) => through('R4', () => store.grant(...args), fails),
    recordDecision: (...args) => through('R5', () => store.recordDecision(...args), fails),
    claim: (claim) => {
      const { executionTimeoutMs = claim.executionTimeoutMs } = armedIn(folder) ?? {};
      return through('E3', () => store.claim({ ...claim, executionTimeoutMs }), fails);
    },
    beginInvocation: (call) => through('E4', () => store.beginInvocation(call), fails),
    settleResult: (...args) => through('E8', () => store.settleResult(...args), fails),
    end: (...args) => through('X4', () => store.end(...args), fails),
    expire: (id) => through('X3', () => store.expire(id), fails),
  };
}
