import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import type { Clock } from '../../shared/clock.ts';
import { listen } from '../../shared/database/listen.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';

/** Every task is read again this often, also without a notice: a lost notice costs no more than this. */
const LOOK_MS = 60_000;
/** How soon a look is repeated that the database did not answer. */
const RETRY_MS = 500;

export interface TaskWatchDeps {
  readonly gatedCalls: Pick<GatedCalls, 'readTask'>;
  readonly taskChanges: TaskChanges;
  readonly clock: Clock;
}

export interface TaskWatch {
  readonly taskIds: readonly string[];
  readonly owner: string;
  /** Gets each task as it is now, and again whenever it may have changed. Called for one at a time. */
  readonly show: (view: GatedCallView) => Promise<void>;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/**
 * Shows the owner's tasks until all have ended. A notice only says where to look: what is shown was read afterwards, by
 * the same way as for `tasks/get`, so it is committed, and still belongs to the owner. Listening begins before the first
 * look, so no change falls between the two.
 */
export async function watchTasks(deps: TaskWatchDeps, { taskIds, owner, show, signal }: TaskWatch): Promise<void> {
  const watched = new Set(taskIds);
  const toLookAt = new Set<string>();
  let wake: () => void = () => undefined;
  const look = (taskId?: string) => {
    for (const one of taskId === undefined ? watched : [taskId]) if (watched.has(one)) toLookAt.add(one);
    wake();
  };
  const stopListening = deps.taskChanges.onChange(look);
  const stopLooking = deps.clock.every(LOOK_MS, look);
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  look();
  try {
    while (watched.size > 0 && !signal.aborted) {
      const [taskId] = toLookAt;
      if (taskId === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      toLookAt.delete(taskId);
      const view = await findPatiently(deps, { taskId, owner, signal });
      if (view !== undefined && !signal.aborted) await show(view);
      if (view === undefined || isTerminal(view.state)) watched.delete(taskId);
    }
  } finally {
    stopLooking();
    stopListening();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Reads until the database answers, or the listener has left. */
async function findPatiently(
  { gatedCalls, clock }: TaskWatchDeps,
  { taskId, owner, signal }: { taskId: string; owner: string; signal: AbortSignal },
): Promise<GatedCallView | undefined> {
  while (!signal.aborted) {
    try {
      return await gatedCalls.readTask(taskId, owner);
    } catch (error) {
      if (!(error instanceof CountersignError) || !error.retryable) throw error;
      await clock.after(RETRY_MS, signal);
    }
  }
  return undefined;
}

/** Told of each task that may show something else; of no task in particular when changes may have been missed. */
type TaskListener = (taskId?: string) => void;

/** Tells when tasks change, whichever process changed them. */
export interface TaskChanges {
  /** Answers how to stop listening. */
  onChange(listener: TaskListener): () => void;
}

/** Where the database tells of them, on commit. The function `gateway.transition` does. */
const CHANNEL = 'gateway_task';

/** @param listenUrl A direct connection to the database: a transaction pooler swallows notices. */
export function createTaskChanges(
  listenUrl: string,
  own: Timing & { readonly log: Logger },
): TaskChanges & { start(): Running } {
  const listeners = new Set<TaskListener>();
  const tell: TaskListener = (taskId) => {
    for (const listener of listeners) listener(taskId);
  };
  return {
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Begins to listen. A database that is away now is listened to when it is there. */
    start() {
      const listening = listen({ url: listenUrl, channel: CHANNEL, onNotice: tell, ...own });
      return { name: 'notices of tasks', stop: async () => (await listening).stop() };
    },
  };
}
