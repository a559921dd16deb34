import type { Logger } from 'pino';
import { type GatedCallState, isTerminal, isWorkersTurn } from '../../../workflows/domain/gated-call/gated-call.ts';
import { gatedCallWorkflowId } from '../../../workflows/messages.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { fewAtATime, startRounds } from '../../shared/maintenance/rounds.ts';
import { WHEN_STUCK, type GatedCallWorkflows, type Started } from '../../shared/temporal/gated-call-workflows.ts';

/** How far a call has come, with the deadline of its state in milliseconds since 1970, by the database's clock. */
export interface StartedCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly generation: number;
  readonly deadlineMs: number;
}

interface OpenCall extends StartedCall {
  /** The deadline to the microsecond, for the order of pages. */
  readonly due: string;
}

export interface RestartLostOptions {
  readonly calls: {
    /** Open calls that come after this one, in an order of their own. */
    after(last: OpenCall | undefined, limit: number): Promise<readonly OpenCall[]>;
    /** Which of these the outbox is about to start or signal. */
    queued(ids: readonly string[]): Promise<ReadonlySet<string>>;
  };
  readonly workflows: GatedCallWorkflows;
  readonly progress: (gatedCallId: string) => Promise<{ state: GatedCallState; invocation: object | undefined }>;
  /** The workflow of a call came to its end, and the call is open: the database has forgotten how the call ended. */
  readonly report: (gatedCallId: string) => Promise<void>;
  /** Milliseconds between two rounds while the engine answers. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const PROBE_MS = 1_000;
const AFTER_FAILURE_MS = 5_000;
const PAGE = 1_000;
const CONCURRENCY = 8;

/**
 * Starts the workflow of every open call that has none which runs: an operator ended or deleted it, its start was lost, or the
 * engine lost its data. Signals the workflow that waits although its call is granted, claimed or over. The engine's list of what
 * runs is read once and held against what is open, page by page, so a round costs little however much waits. There is a round at
 * the start, in every interval, and as soon as the engine answers after it did not. Several may run at once, and what a round read
 * may be out of date: starting a workflow that runs does nothing, and one that is not needed finds that all is over.
 */
export function startRestartLost(options: RestartLostOptions): Running {
  const { workflows, intervalMs, clock, log } = options;
  let isAway = true;
  let nextRound = 0;

  async function round(stop: AbortSignal): Promise<void> {
    try {
      await workflows.ping();
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'the engine does not answer; open calls wait for it');
      isAway = true;
      return;
    }
    if (!isAway && clock.monotonicMs() < nextRound) return;
    isAway = false;
    try {
      const count = await restartLost(options, stop);
      if (count > 0) log.info({ count }, 'workflows of open calls were started or signalled');
      nextRound = clock.monotonicMs() + intervalMs;
    } catch (error) {
      log.warn({ err: error }, 'open calls could not be held against their workflows; that is tried again');
      nextRound = clock.monotonicMs() + Math.min(intervalMs, AFTER_FAILURE_MS);
    }
  }
  return startRounds({ name: 'restart of lost workflows', pauseMs: () => PROBE_MS, round, clock, log });
}

/** Answers how many workflows were started or signalled. */
async function restartLost(options: RestartLostOptions, stop: AbortSignal): Promise<number> {
  const { calls, workflows } = options;
  const running = new Set<string>();
  for await (const id of workflows.running()) running.add(id);
  let count = 0;
  const each = <T>(all: readonly T[], act: (one: T) => Promise<boolean>) =>
    fewAtATime(all, CONCURRENCY, async (one) => void ((await act(one)) && (count += 1)), stop);
  const ended = new Set(running);
  for (let page = await calls.after(undefined, PAGE); page.length > 0; page = await calls.after(page.at(-1), PAGE)) {
    const without = page.filter(({ id }) => !running.has(id));
    const queued = await calls.queued(without.map(({ id }) => id));
    const missing = without.filter(({ id }) => !queued.has(id));
    await each(missing, (call) => restart(options, call));
    const goingOn = page.filter(({ id, state }) => running.has(id) && isWorkersTurn(state));
    await each(goingOn, ({ id }) => signalIfWaiting(options, id));
    for (const { id } of page) ended.delete(id);
  }
  // A workflow ends with its call. One that runs on has not heard of the end yet, or cannot go on.
  await each([...ended], (id) => signalIfWaiting(options, id));
  return count;
}

/** Starts the workflow of an open call: one that waits for its resolution sets its timer, any other goes on from its row. */
export async function startWorkflow(
  workflows: Pick<GatedCallWorkflows, 'start' | 'signal'>,
  { id, state, generation, deadlineMs }: StartedCall,
): Promise<Started | 'over'> {
  if (isTerminal(state)) return 'over';
  // A workflow that waits by now must not go on waiting for a call that can go on.
  if (state !== 'pending') return workflows.signal(id);
  return workflows.start(id, { generation, deadlineMs: Math.ceil(deadlineMs) });
}

/**
 * A workflow ends when its call has, so one that is open has been taken back since: by a restore. Where the permit is on
 * record nothing can be sent again, and a new workflow only says what became of it.
 */
async function restart({ progress, workflows, report }: RestartLostOptions, call: StartedCall): Promise<boolean> {
  const { id } = call;
  const started = await startWorkflow(workflows, call);
  if (started !== 'finished') return started === 'running';
  const { state, invocation } = await progress(id);
  if (isTerminal(state)) return false;
  await (invocation === undefined ? report(id) : workflows.startAnew(id));
  return invocation !== undefined;
}

/** For a call whose workflow waits for nothing any more: its signal was lost with the engine's data. */
async function signalIfWaiting({ workflows, log }: RestartLostOptions, id: string): Promise<boolean> {
  const activity = await workflows.activity(id);
  if (activity === 'stuck') reportStuck(log, id);
  if (activity !== 'waiting') return false;
  await workflows.signal(id);
  return true;
}

/** A workflow that cannot replay is a deployment's fault. It is reported, and ended by an operator only. */
export function reportStuck(log: Logger, gatedCallId: string): void {
  log.error(
    { gatedCall: gatedCallId, workflowId: gatedCallWorkflowId(gatedCallId), alarm: 'workflow_stuck' },
    `the workflow of a gated call cannot go on from its history: ${WHEN_STUCK}`,
  );
}
