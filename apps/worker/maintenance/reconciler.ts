import type { Logger } from 'pino';
import { awaitsNobody, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { fewAtATime } from '../../shared/maintenance/few-at-a-time.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';
import type { GatedCallWorkflows } from '../../shared/temporal/gated-call-workflows.ts';

interface OpenCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly due: string;
}

export interface ReconcilerOptions {
  readonly calls: {
    /** The open calls that come after this one, in an order of their own. */
    after(last: OpenCall | undefined, limit: number): Promise<readonly OpenCall[]>;
    /** Which of these the outbox is about to start or wake. */
    queued(ids: readonly string[]): Promise<ReadonlySet<string>>;
  };
  readonly workflows: Pick<GatedCallWorkflows, 'running' | 'restart' | 'rouse' | 'ping'>;
  /** Between two rounds while the engine answers. */
  readonly intervalMs: number;
  readonly log: Logger;
}

const PROBE_MS = 1_000;
const AFTER_FAILURE_MS = 5_000;
const PAGE = 1_000;
const CONCURRENCY = 8;

/**
 * Starts the workflow of every open call that has none which runs: it was ended or deleted by an operator, it ended by
 * mistake, or the engine lost its data. A workflow that rests or is stuck though its call could go on, or is over, is
 * seen to as well. The engine's list of what runs is read once and held against the open calls,
 * page by page, so a round costs little however many calls wait. There is a round at the start, in every interval, and
 * as soon as the engine answers after it did not. Several may run at once, and what a round read may be out of date:
 * starting a workflow that runs does nothing, and one that is not needed finds its call ended.
 */
export function startReconciler(options: ReconcilerOptions): Running {
  const { workflows, intervalMs, log } = options;
  const startMissing = createStartMissing(options);
  let isAway = true;
  let nextRound = 0;

  async function round(stop: AbortSignal): Promise<void> {
    try {
      await workflows.ping();
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'the engine does not answer; calls wait for it');
      isAway = true;
      return;
    }
    if (!isAway && performance.now() < nextRound) return;
    isAway = false;
    try {
      const started = await startMissing(stop);
      if (started > 0) log.info({ calls: started }, 'calls whose workflow was lost, asleep or stuck got one that runs');
      nextRound = performance.now() + intervalMs;
    } catch (error) {
      log.warn({ err: error }, 'open calls could not be held against their workflows; that is tried again');
      nextRound = performance.now() + Math.min(intervalMs, AFTER_FAILURE_MS);
    }
  }
  return startRounds({ name: 'reconciler', pauseMs: () => PROBE_MS, round, log });
}

/** Answers how many calls were without a workflow that runs, or had one that rested or was stuck though it could go on. */
function createStartMissing({ calls, workflows }: ReconcilerOptions): (stop: AbortSignal) => Promise<number> {
  return async (stop) => {
    const running = new Set<string>();
    for await (const id of workflows.running()) running.add(id);
    let count = 0;
    const restart = async ({ id, state }: OpenCall) => {
      await workflows.restart(id, awaitsNobody(state) ? 'at once' : 'resting');
      count += 1;
    };
    // A start that was delivered late, after the engine had lost the workflow that led the call so far, is one to rest.
    const rouse = async (id: string) => {
      if (await workflows.rouse(id)) count += 1;
    };
    const ended = new Set(running);
    for (let page = await calls.after(undefined, PAGE); page.length > 0; page = await calls.after(page.at(-1), PAGE)) {
      const without = page.filter(({ id }) => !running.has(id));
      const queued = await calls.queued(without.map(({ id }) => id));
      const missing = without.filter(({ id }) => !queued.has(id));
      await fewAtATime(missing, CONCURRENCY, restart, stop);
      const led = page.filter(({ id, state }) => running.has(id) && awaitsNobody(state));
      await fewAtATime(
        led.map(({ id }) => id),
        CONCURRENCY,
        rouse,
        stop,
      );
      for (const { id } of page) ended.delete(id);
    }
    // A workflow ends with its call. One that runs on has just not heard of it, or cannot go on.
    await fewAtATime([...ended], CONCURRENCY, rouse, stop);
    return count;
  };
}
