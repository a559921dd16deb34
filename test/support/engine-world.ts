import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { ActivityDeps } from '../../activities/step.ts';
import { createActivities } from '../../activities/index.ts';
import { createPollResolution } from '../../activities/read-resolution.ts';
import { createDuePolls } from '../../activities/stores/due-calls.ts';
import type { ActivityPorts } from '../../workflows/activity-ports.ts';
import type { Decision } from '../../workflows/domain/authzen/evaluation.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCallView, ResolutionStatus } from '../../workflows/domain/ports.ts';
import type { InvocationResult } from '../../workflows/domain/upstream-ports.ts';
import { ownerKey, type Principal } from '../../workflows/domain/principal.ts';
import { toolFacts } from '../../workflows/domain/tools/tool-facts.ts';
import type { Arrival, Evidence } from '../invariants/invariant.ts';
import { ALL_ACCEPTED } from './all-accepted.ts';
import { ALL_MET } from './all-met.ts';
import { NEVER_RESTORED } from './never-restored.ts';
import { NO_FORMS } from './no-forms.ts';
import { arrivalOf } from './arrivals.ts';
import type { TestDatabase } from './database.ts';
import { anApproval, anOpening, CALLER, gatedCallFixture, TEST_SEALS } from './gated-calls.ts';
import { waitFor } from './wait-for.ts';
import { systemTime } from './time.ts';

/** A text in every argument, caller, approval and result. The engine's stored data may not contain it. */
export const CANARY = 'canary-7f3a';

/**
 * Where a step can be kept: before the permit, between the permit and the tool's answer, after the result is stored.
 */
export type Point = 'permit' | 'tool' | 'settled';

export interface WorldCall {
  readonly gatedCallId: string;
  readonly taskId: string;
  readonly caller: Principal;
  readonly path: string;
}
/** The tools' notes: each arrival, and each answer that was lost on its way to the worker. */
interface Seen {
  readonly arrivals: (Arrival & { readonly path: string })[];
  readonly lostAnswers: string[];
}
type Gate = { readonly open: () => void; readonly opened: Promise<void>; reached: boolean };
/** The outside's answers on one call; the test changes them as it goes. */
export interface Says {
  status: ResolutionStatus;
  decision: Decision | Error;
  result: InvocationResult | Error;
  /** The error of the next attempts to read the row, or to get the permit. */
  failures?: { load?: Error[]; permit?: Error[] };
}
export type EngineWorld = ReturnType<typeof createEngineWorld>;

/**
 * Gated calls with the real steps over a real database. The authority side and the tools are fakes at their ports: they
 * give the test's answers, note each arrival, and hold a step where the test wants it held.
 */
export function createEngineWorld(
  db: TestDatabase,
  of: { requestTtlMs?: number; executionTimeoutMs?: number; firstPollMs?: number } = {},
) {
  const fixture = gatedCallFixture(db.pool, {
    maxOpenPerCaller: 100_000,
    requestTtlMs: of.requestTtlMs ?? 600_000,
    firstPollMs: of.firstPollMs ?? 600_000,
  });
  const says = new Map<string, Says>();
  const gates = new Map<string, Gate>();
  const calls: WorldCall[] = [];
  const seen: Seen = { arrivals: [], lostAnswers: [] };
  const counts = { reads: 0 };

  const saidOf = (path: string): Says => says.get(path) ?? { status: { kind: 'pending' }, ...WELL };
  const pass = async (point: Point, key: string) => {
    const gate = gates.get(`${point} ${key}`);
    if (gate !== undefined) gate.reached = true;
    await gate?.opened;
  };
  const say = (path: string, more: Partial<Says>) => void says.set(path, { ...saidOf(path), ...more });
  const deps = createDeps({ fixture, saidOf, say, pass, seen, counts, of });
  const pollMs = of.firstPollMs ?? 600_000;
  const duePolls = createDuePolls(db.pool, { minMs: pollMs, maxMs: 2 * pollMs });

  return {
    fixture,
    counts,
    accessRequests: deps.accessRequests,
    activities: createActivities(deps) satisfies ActivityPorts,
    poll: createPollResolution({ ...deps, duePolls }),
    duePolls,
    /** Opens a call that waits for its resolution; its workflow is still to be started. */
    async hold(): Promise<WorldCall> {
      const path = `/${CANARY}/${randomUUID()}`;
      const caller = { ...CALLER, subject: `${CANARY}-${randomUUID()}` };
      says.set(path, { status: { kind: 'pending' }, ...WELL });
      const opened = await fixture.pending(anOpening({ caller, args: { path, content: CANARY } }));
      paths.set(opened.gatedCallId, path);
      const call = { gatedCallId: opened.gatedCallId, taskId: opened.taskId, caller, path };
      calls.push(call);
      return call;
    },
    say: (call: WorldCall, more: Partial<Says>) => say(call.path, more),
    approve: (call: WorldCall) => say(call.path, { status: granted() }),
    /** Keeps the step of this call at the point, once it gets there. Answers whether it has arrived. */
    keep(point: Point, call: WorldCall): () => boolean {
      let open: () => void = () => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const gate: Gate = { open, opened, reached: false };
      gates.set(`${point} ${point === 'tool' ? call.path : call.gatedCallId}`, gate);
      return () => gate.reached;
    },
    releaseAll(): void {
      for (const gate of gates.values()) gate.open();
      gates.clear();
    },
    arrivalsOf: (call: WorldCall) => seen.arrivals.filter(({ path }) => path === call.path).length,
    stateOf: async (call: WorldCall) => (await fixture.lifecycle.load(call.gatedCallId)).state,
    /** The caller's read of the task. Undefined when there is none for this caller. */
    view: (call: WorldCall): Promise<GatedCallView | undefined> =>
      fixture.calls.findTask(call.taskId, ownerKey(call.caller)),
    /**
     * The observations of all calls outside of the database, once all work has ended. Only a lost answer of a tool
     * counts as a fault: a fault of the engine does not excuse an unknown outcome.
     */
    evidence: (): Evidence => ({
      arrivals: seen.arrivals,
      faults: seen.lostAnswers.map((at) => ({ from: at, to: at })),
      requests: calls.map(({ gatedCallId, path }) => ({
        accessRequestId: `${REQUEST}${gatedCallId}`,
        live: saidOf(path).status.kind === 'pending',
      })),
      seenTaskIds: calls.map(({ taskId }) => taskId),
      keyed: TEST_SEALS.digest,
      quietForMs: 0,
    }),
    /** The end of the call, once it has one. */
    ended: (call: WorldCall, timeoutMs = 120_000) =>
      waitFor(
        async () => {
          const { rows } = await db.pool.query<{ state: string }>(
            'SELECT state FROM gateway.gated_call WHERE id = $1 AND ended_at IS NOT NULL',
            [call.gatedCallId],
          );
          return rows[0]?.state;
        },
        { timeoutMs },
      ),
  };
}

const paths = new Map<string, string>();
const WELL: Pick<Says, 'decision' | 'result'> = {
  decision: { kind: 'allow' },
  result: { kind: 'result', isError: false, result: { content: [{ type: 'text', text: CANARY }] } },
};
/** In the form of the fixture. */
const REQUEST = 'arq_';
const granted = () => ({ kind: 'granted', approval: anApproval({ state: CANARY }) }) as const;

const isOf = (kind: InvocationResult['kind'], result: InvocationResult | Error) =>
  !(result instanceof Error) && result.kind === kind;

function createDeps(world: {
  fixture: ReturnType<typeof gatedCallFixture>;
  saidOf: (path: string) => Says;
  say: (path: string, more: Partial<Says>) => void;
  pass: (point: Point, key: string) => Promise<void>;
  seen: Seen;
  counts: { reads: number };
  of: { executionTimeoutMs?: number };
}): ActivityDeps {
  const { fixture, saidOf, say, pass, seen, counts, of } = world;
  const answer = <T>(value: T | Error): T => {
    if (value instanceof Error) throw value;
    return value;
  };
  const failuresOf = (gatedCallId: string) => saidOf(paths.get(gatedCallId) ?? '').failures;
  const failWith = (failures: Error[] | undefined) => {
    const failure = failures?.shift();
    if (failure !== undefined) throw failure;
  };
  const { lifecycle } = fixture;
  const pathOf = ({ accessRequestId }: AccessRequestHandle) => paths.get(accessRequestId.slice(REQUEST.length)) ?? '';
  const pathIn = (args: unknown) => String((args as { path?: unknown }).path);
  return {
    ...systemTime,
    store: {
      ...lifecycle,
      async load(gatedCallId) {
        failWith(failuresOf(gatedCallId)?.load);
        return lifecycle.load(gatedCallId);
      },
      async beginInvocation(call) {
        await pass('permit', call.gatedCallId);
        failWith(failuresOf(call.gatedCallId)?.permit);
        return lifecycle.beginInvocation(call);
      },
      async settleResult(invocation, result) {
        const state = await lifecycle.settleResult(invocation, result);
        await pass('settled', invocation.gatedCallId);
        return state;
      },
    },
    ensureSubmitted: () => Promise.reject(new Error('not expected')),
    acceptedTools: ALL_ACCEPTED,
    requestForms: NO_FORMS,
    requirements: ALL_MET,
    clocksAgree: () => true,
    restores: NEVER_RESTORED,
    pdp: { evaluate: async ({ context }) => answer(saidOf(pathIn(context?.['arguments'])).decision) },
    accessRequests: {
      submit: () => Promise.reject(new Error('not expected')),
      async read(handle) {
        counts.reads += 1;
        return saidOf(pathOf(handle)).status;
      },
      stated: async () => undefined,
      async cancel(handle) {
        const path = pathOf(handle);
        if (saidOf(path).status.kind === 'pending') say(path, { status: { kind: 'cancelled' } });
      },
    },
    upstreams: {
      tools: async () => [],
      find: async (name) => ({
        ...{ kind: 'tool', upstream: 'files', upstreamName: 'write_file', name, definition: {} },
        digest: 'sha-256:tool',
        facts: toolFacts({}),
      }),
      async call(call) {
        const path = pathIn(call.arguments);
        if (!isOf('not_sent', saidOf(path).result)) seen.arrivals.push({ ...arrivalOf(call), path });
        await pass('tool', path);
        const { result } = saidOf(path);
        if (result instanceof Error || isOf('no_answer', result)) seen.lostAnswers.push(new Date().toISOString());
        return answer(result);
      },
    },
    log: pino({ enabled: false }),
    settings: {
      executionTimeoutMs: of.executionTimeoutMs ?? 240_000,
      callbackUrl: 'http://127.0.0.1:1/callbacks',
      maxGenerations: 1,
      claimsAtOnce: 1_000,
      outcomeProbes: {},
    },
  };
}
