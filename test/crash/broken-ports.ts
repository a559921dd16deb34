import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayConnections } from '../../apps/gateway/main.ts';
import type { WorkerConnections } from '../../apps/worker/main.ts';
import type { CountersignError, ErrorCode } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { WANTS_TWO } from './cell.ts';
import { armedIn, type Through } from './failpoints.ts';

/** The class of the build, because the build's code checks for it. */
type ErrorClass = typeof CountersignError;

type Decides = Pick<PolicyDecisionPoint, 'evaluate'>;

/** Failures in the form of the real ports. */
function failures(Failure: ErrorClass) {
  const failing = (code: ErrorCode) => (): never => {
    throw new Failure(code, 'armed');
  };
  return {
    pdp: failing('ERR_PDP_UNAVAILABLE'),
    accessRequests: failing('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE'),
    upstream: failing('ERR_UPSTREAM_UNAVAILABLE'),
    engine: (): never => {
      throw new Error('armed');
    },
  };
}

/** The gateway's ports to the network with a failpoint in each of its steps. */
export function breakableGateway(real: GatewayConnections, through: Through, Failure: ErrorClass): GatewayConnections {
  const fails = failures(Failure);
  const { pdp, accessRequests } = real;
  return {
    ...real,
    pdp: { ...pdp, evaluate: (...args) => through('C0', () => pdp.evaluate(...args), fails.pdp) },
    accessRequests: {
      ...accessRequests,
      submit: (submission) => through('C2', () => accessRequests.submit(submission), fails.accessRequests),
    },
  };
}

/** The worker's ports to the network with a failpoint in each of its steps. */
export function breakableWorker(
  real: WorkerConnections,
  through: Through,
  { Failure, folder }: { Failure: ErrorClass; folder: string },
): WorkerConnections {
  const fails = failures(Failure);
  const { store, accessRequests, workflows, upstreams } = real;
  const pdp = wantingTwo(real.pdp, folder);
  return {
    ...real,
    store: {
      ...store,
      claim: (claim) => store.claim({ ...claim, ...executionTimeoutIn(folder) }),
      beginInvocation: (permit) => store.beginInvocation({ ...permit, ...executionTimeoutIn(folder) }),
    },
    pdp: { ...real.pdp, evaluate: (...args) => through('E2', () => pdp.evaluate(...args), fails.pdp) },
    accessRequests: {
      submit: (submission) => through('G2', () => accessRequests.submit(submission), fails.accessRequests),
      read: (handle) => through('R3', () => accessRequests.read(handle), fails.accessRequests),
      // An unreadable status is an answer, not an error.
      stated: (...of) =>
        through(
          'R8',
          () => accessRequests.stated(...of),
          () => ({ kind: 'unreadable' as const }),
        ),
      cancel: (handle) => through('X2', () => accessRequests.cancel(handle), fails.accessRequests),
    },
    workflows: {
      ...workflows,
      start: (id, pending) => through('C4', () => workflows.start(id, pending), fails.engine),
      signal: (id) => through('R2', () => workflows.signal(id), fails.engine),
    },
    upstreams: {
      ...upstreams,
      find: (...args) => through('E1', () => upstreams.find(...args), fails.upstream),
      // The fate of a call is an answer, not an error.
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

function executionTimeoutIn(folder: string): { executionTimeoutMs?: number } {
  const { executionTimeoutMs } = armedIn(folder) ?? {};
  return executionTimeoutMs === undefined ? {} : { executionTimeoutMs };
}

/**
 * A policy that requires a second approval for some calls: it ignores their first one, for every caller, however often
 * it is asked. Its answer then equals the real policy's answer for a call without an approval.
 */
function wantingTwo(pdp: Decides, folder: string): Decides {
  const firsts = join(folder, 'first-approvals');
  mkdirSync(firsts, { recursive: true });
  return {
    async evaluate(request, approval) {
      const text = JSON.stringify(request);
      if (approval === undefined || !text.includes(WANTS_TWO)) return pdp.evaluate(request, approval);
      const file = join(firsts, createHash('sha256').update(text).digest('hex'));
      try {
        writeFileSync(file, approval.id, { flag: 'wx' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      return pdp.evaluate(request, readFileSync(file, 'utf8') === approval.id ? undefined : approval);
    },
  };
}
