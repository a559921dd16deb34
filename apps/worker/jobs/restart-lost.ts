import type { Logger } from 'pino';
import { type GatedCallState, isTerminal, workerCanProceed } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { OpenCall } from '../../../workflows/domain/ports.ts';
import { gatedCallWorkflowId } from '../../../workflows/messages.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { logRepeated } from '../../shared/logger.ts';
import { fewAtATime, startRounds } from '../../shared/maintenance/rounds.ts';
import { WHEN_STUCK, type GatedCallWorkflows, type Started } from '../../shared/temporal/gated-call-workflows.ts';

/** The progress of a call. */
export type StartedCall = Omit<OpenCall, 'due'>;

interface RestartLostOptions {
  readonly calls: {
    /** Open calls after this one, in the order of their deadlines. */
    after(last: OpenCall | undefined, limit: number): Promise<readonly OpenCall[]>;
    /** Which of these calls the outbox is about to start or signal. */
    queued(ids: readonly string[]): Promise<ReadonlySet<string>>;
  };
  readonly workflows: GatedCallWorkflows;
  readonly progress: (gatedCallId: string) => Promise<{ state: GatedCallState; invocation: object | undefined }>;
  /** Reports that the call's workflow has ended although the call is open: the database lost the end of the call. */
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
 * Starts the workflow of every open call that has no running one: an operator ended or deleted it, its start was lost, or the
 * engine lost its data. Signals the workflows that wait although their call is granted, claimed or over.
 *
 * A round runs at the start, in every interval, and when the engine answers again. It reads the engine's list of running
 * workflows once and compares it with the open calls page by page, so a round costs little however many calls wait. Several
 * rounds may run at once, and a round may act on outdated data: starting a running workflow does nothing, and an unneeded
 * workflow finds that its call is over.
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
      logRepeated(log, error, 'open calls could not be compared with their workflows; the worker tries again');
      nextRound = clock.monotonicMs() + Math.min(intervalMs, AFTER_FAILURE_MS);
    }
  }
  return startRounds({ name: 'restart of lost workflows', pauseMs: () => PROBE_MS, round, clock, log });
}

/** Returns how many workflows were started or signalled. */
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
    const proceeding = page.filter(({ id, state }) => running.has(id) && workerCanProceed(state));
    await each(proceeding, ({ id }) => signalIfWaiting(options, id));
    for (const { id } of page) ended.delete(id);
  }
  // A workflow ends with its call. If it still runs, it has not learned of the end yet, or it cannot go on.
  await each([...ended], (id) => signalIfWaiting(options, id));
  return count;
}

/** Starts the workflow of an open call. While the call is pending, the workflow sets its timer. Otherwise it goes on from the row. */
export async function startWorkflow(
  workflows: Pick<GatedCallWorkflows, 'start' | 'signal'>,
  { id, state, generation, deadlineMs }: StartedCall,
): Promise<Started | 'over'> {
  if (isTerminal(state)) return 'over';
  // If the workflow waits already, a start would leave it waiting although its call can go on.
  if (state !== 'pending') return workflows.signal(id);
  return workflows.start(id, { generation, deadlineMs: Math.ceil(deadlineMs) });
}

/**
 * A workflow ends after its call. If the workflow has ended and the call is open, a restore took the end of the call back. If the
 * permit to send is on record, the call cannot be sent again, and a new workflow only settles its outcome.
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

/** Signals a workflow that has nothing to wait for: its signal was lost with the engine's data. */
async function signalIfWaiting({ workflows, log }: RestartLostOptions, id: string): Promise<boolean> {
  const activity = await workflows.activity(id);
  if (activity === 'stuck') reportStuck(log, id);
  if (activity !== 'waiting') return false;
  await workflows.signal(id);
  return true;
}

/** A workflow that cannot replay is caused by a deployment. The worker reports it, and only an operator ends it. */
export function reportStuck(log: Logger, gatedCallId: string): void {
  log.error(
    { gatedCall: gatedCallId, workflowId: gatedCallWorkflowId(gatedCallId), alarm: 'workflow_stuck' },
    `the workflow of a gated call cannot go on from its history: ${WHEN_STUCK}`,
  );
}
