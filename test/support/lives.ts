import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { createGatedCallStore } from '../../activities/stores/gated-call.store.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCallView, ResolutionStatus } from '../../workflows/domain/ports.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { toolFacts } from '../../workflows/domain/tools/tool-facts.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { ALL_ACCEPTED } from './all-accepted.ts';
import { ALL_MET } from './all-met.ts';
import { NEVER_RESTORED } from './never-restored.ts';
import { NO_FORMS } from './no-forms.ts';
import { arrivalOf } from './arrivals.ts';
import { TEST_SEALS, anApproval, anOpening, CALLER } from './gated-calls.ts';
import type { Timing } from '../../apps/shared/limits.ts';
import { systemTime } from './time.ts';
import { toTheClaim } from './to-the-claim.ts';

const HOUR_MS = 3_600_000;
/** Failed attempts are the purpose of these tests, so they are ignored. */
const SILENT = new DefaultLogger('ERROR', () => undefined);

export interface LifeOptions {
  readonly executionTimeoutMs?: number;
  readonly requestTtlMs?: number;
  /** The number of approvals that the policy wants, one after the other. */
  readonly approvals?: number;
  /** Runs while a call is at the tool. */
  readonly atTheTool?: () => Promise<void>;
  /** `ordinaryTime` for tests of a limit. */
  readonly time?: Timing;
}

/**
 * Whole lives of gated calls in this process: the gateway's and the worker's own steps over one pool, with an authority
 * that approves everything and a tool that notes each call. The engine's work is done in the engine's way: idempotent
 * steps are repeated for as long as they fail, the invocation is tried once, and its outcome is read from the database.
 */
export function lives(pool: Pool, options: LifeOptions = {}) {
  const { time = systemTime } = options;
  const calls = createGatedCallStore(pool, {
    ...time,
    seals: TEST_SEALS,
    requestTtlMs: options.requestTtlMs ?? HOUR_MS,
    firstPollMs: HOUR_MS,
    retentionMs: HOUR_MS,
    maxOpenPerCaller: 100_000,
  });
  const store = createLifecycleStore(pool, { ...time, seals: TEST_SEALS, retentionMs: HOUR_MS });
  const requests = new Map<string, AccessRequestHandle>();
  /** The number of calls of the tool for each path. */
  const ledger = new Map<string, number>();
  const arrivals: Arrival[] = [];
  const approvals = new Map<string, ResolutionStatus>();
  /** The approvals that the policy was shown for each call. */
  const shown = new Map<unknown, Set<string>>();
  const accessRequests = {
    submit: async ({ idempotencyKey }: { idempotencyKey: string }) => {
      const id = `arq_${idempotencyKey}`;
      const handle = { accessRequestId: id, statusEndpoint: 'http://127.0.0.1:1/s' };
      requests.set(idempotencyKey, handle);
      return handle;
    },
    read: async ({ accessRequestId }: AccessRequestHandle) => {
      const known = approvals.get(accessRequestId) ?? { kind: 'granted' as const, approval: anApproval() };
      approvals.set(accessRequestId, known);
      return known;
    },
    stated: async () => undefined,
    cancel: async () => undefined,
  };
  const ensureSubmitted = createEnsureSubmitted({ ...time, store, accessRequests });
  const activities = createActivities({
    ...time,
    store,
    accessRequests,
    ensureSubmitted,
    acceptedTools: ALL_ACCEPTED,
    requestForms: NO_FORMS,
    requirements: ALL_MET,
    clocksAgree: () => true,
    restores: NEVER_RESTORED,
    pdp: {
      evaluate: async ({ context }, approval) => {
        const digest = context?.['call_digest'];
        const given = shown.get(digest) ?? new Set();
        shown.set(digest, approval === undefined ? given : given.add(approval.id));
        if (given.size >= (options.approvals ?? 1)) return { kind: 'allow' };
        return {
          kind: 'requestable',
          offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z' },
        };
      },
    },
    upstreams: {
      tools: async () => [],
      find: async (name) => ({
        ...{ kind: 'tool', upstream: 'files', upstreamName: 'write_file', name, definition: {} },
        digest: 'sha-256:tool',
        facts: toolFacts({}),
      }),
      call: async (call) => {
        const path = call.arguments['path'] as string;
        arrivals.push(arrivalOf(call));
        ledger.set(path, (ledger.get(path) ?? 0) + 1);
        await options.atTheTool?.();
        return { kind: 'result', isError: false, result: { content: [] } };
      },
    },
    log: pino({ enabled: false }),
    settings: {
      executionTimeoutMs: options.executionTimeoutMs ?? 600_000,
      callbackUrl: 'http://127.0.0.1:1/callbacks',
      maxGenerations: options.approvals ?? 1,
      claimsAtOnce: 1_000,
      outcomeProbes: {},
    },
  });

  /** As a client does: the same call again while the answer says that it may be repeated. */
  async function open(path: string = randomUUID(), caller: Principal = CALLER): Promise<Held> {
    const opening = anOpening({ args: { path, content: path }, caller });
    return repeated(async () => {
      const opened = await calls.open(opening);
      if (!('taskId' in opened)) throw new Error(opened.kind);
      await ensureSubmitted(opened);
      return { path, taskId: opened.taskId, gatedCallId: opened.gatedCallId };
    });
  }

  /** As the workflow does. */
  async function drive({ gatedCallId }: { gatedCallId: string }): Promise<void> {
    for (;;) {
      const found = await repeated(() => toTheClaim(activities, { gatedCallId }));
      if (found.kind === 'ended') return;
      // No callback is sent here: the resolution is read again soon.
      if ('waitMs' in found) await pause(Math.min(found.waitMs, 50));
      if (found.kind !== 'claimed') continue;
      const { claimId } = found;
      await new MockActivityEnvironment(undefined, { logger: SILENT })
        .run(activities.invokeTool, { gatedCallId })
        .catch(() => undefined);
      let settled = await repeated(() => activities.settle({ gatedCallId, claimId }));
      while (settled.kind === 'retry') {
        await pause(Math.min(settled.waitMs, 50));
        settled = await repeated(() => activities.settle({ gatedCallId, claimId }));
      }
      if (settled.kind === 'ended') return;
    }
  }

  const view = (taskId: string, caller: Principal = CALLER): Promise<GatedCallView | undefined> =>
    calls.findTask(taskId, ownerKey(caller));
  return { calls, store, activities, ensureSubmitted, open, drive, view, ledger, arrivals, requests };
}

export interface Held {
  readonly path: string;
  readonly taskId: string;
  readonly gatedCallId: string;
}

const PATIENCE_MS = 300_000;

/** Repeats an operation while its error says that it may be repeated. Any other error fails the test. */
export async function repeated<T>(run: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof CountersignError) || !error.retryable || performance.now() > end) throw error;
      await pause(50);
    }
  }
}
