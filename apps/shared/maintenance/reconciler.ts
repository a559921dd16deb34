import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Running } from '../lifecycle.ts';
import { fewAtATime } from './few-at-a-time.ts';
import { startRounds } from './rounds.ts';

/** What is open, as the database has it. */
export interface OpenWork<Open> {
  /** Those that come after this one, in an order of their own. */
  after(last: Open | undefined, limit: number): Promise<readonly Open[]>;
  /** Which of these the outbox is about to start or wake. */
  queued(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** What runs, as the engine has it. */
export interface RunningWorkflows {
  /** Those that have a workflow which runs, as far as the engine's index knows: it may lag by seconds. */
  running(): AsyncIterable<string>;
  /** Resolves when the engine answers at all. */
  ping(): Promise<void>;
}

export interface ReconcilerOptions<Open extends { readonly id: string }> {
  /** What is reconciled, in the plural: for the log. */
  readonly of: string;
  readonly open: OpenWork<Open>;
  readonly workflows: RunningWorkflows;
  /** Starts the workflow. Does nothing while one runs. Answers whether there is one now. */
  readonly restart: (one: Open) => Promise<boolean>;
  /** Sees to the workflow of one that has it, if it needs that. Answers whether it did. */
  readonly rouse?: (one: Open) => Promise<boolean>;
  /** The same for a workflow that runs though nothing of it is open. */
  readonly rouseEnded?: (id: string) => Promise<boolean>;
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
 * Starts the workflow of everything open that has none which runs: it was ended or deleted by an operator, it ended by
 * mistake, its start was lost, or the engine lost its data. Those that run are seen to where the options say how. The engine's list of what runs is read once and held against what is
 * open, page by page, so a round costs little however much waits. There is a round at the start, in every interval, and as soon as
 * the engine answers after it did not. Several may run at once, and what a round read may be out of date: starting a workflow that
 * runs does nothing, and one that is not needed finds that all is over.
 */
export function startReconciler<Open extends { readonly id: string }>(options: ReconcilerOptions<Open>): Running {
  const { of, workflows, intervalMs, clock, log } = options;
  let isAway = true;
  let nextRound = 0;

  async function round(stop: AbortSignal): Promise<void> {
    try {
      await workflows.ping();
    } catch (error) {
      if (!isAway) log.warn({ err: error }, `the engine does not answer; ${of} wait for it`);
      isAway = true;
      return;
    }
    if (!isAway && clock.monotonicMs() < nextRound) return;
    isAway = false;
    try {
      const count = await startMissing(options, stop);
      if (count > 0) log.info({ count }, `${of} whose workflow was lost, asleep or stuck got one that runs`);
      nextRound = clock.monotonicMs() + intervalMs;
    } catch (error) {
      log.warn({ err: error }, `${of} could not be held against their workflows; that is tried again`);
      nextRound = clock.monotonicMs() + Math.min(intervalMs, AFTER_FAILURE_MS);
    }
  }
  return startRounds({ name: `reconciler of ${of}`, pauseMs: () => PROBE_MS, round, clock, log });
}

/** Answers how many were without a workflow that runs, or had one that had to be seen to. */
async function startMissing<Open extends { readonly id: string }>(
  { open, workflows, restart, rouse = inOrder, rouseEnded = inOrder }: ReconcilerOptions<Open>,
  stop: AbortSignal,
): Promise<number> {
  const running = new Set<string>();
  for await (const id of workflows.running()) running.add(id);
  let count = 0;
  const start = async (one: Open) => {
    if (await restart(one)) count += 1;
  };
  const see = async (to: Promise<boolean>) => {
    if (await to) count += 1;
  };
  const ended = new Set(running);
  for (let page = await open.after(undefined, PAGE); page.length > 0; page = await open.after(page.at(-1), PAGE)) {
    const without = page.filter(({ id }) => !running.has(id));
    const queued = await open.queued(without.map(({ id }) => id));
    const missing = without.filter(({ id }) => !queued.has(id));
    await fewAtATime(missing, CONCURRENCY, start, stop);
    const led = page.filter(({ id }) => running.has(id));
    await fewAtATime(led, CONCURRENCY, (one) => see(rouse(one)), stop);
    for (const { id } of page) ended.delete(id);
  }
  // A workflow ends with what it is for. One that runs on has just not heard of it, or cannot go on.
  await fewAtATime([...ended], CONCURRENCY, (id) => see(rouseEnded(id)), stop);
  return count;
}

const inOrder = () => Promise.resolve(false);
