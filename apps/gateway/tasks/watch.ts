import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import type { Clock } from '../../shared/clock.ts';
import { listen } from '../../shared/database/listen.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';

/** Every task is read again this often, in case a notice was lost. */
const REREAD_MS = 60_000;
/** The pause after a read that the database did not answer. */
const RETRY_MS = 500;

export interface TaskWatchDeps {
  readonly gatedCalls: Pick<GatedCalls, 'readTask'>;
  readonly taskChanges: TaskChanges;
  readonly clock: Clock;
}

export interface TaskWatch {
  readonly taskIds: readonly string[];
  readonly owner: string;
  /** Gets each task now, and again after each possible change, one at a time. */
  readonly show: (view: GatedCallView) => Promise<void>;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/**
 * Shows the owner's tasks until all have ended. A notice is only a hint. The task is read after it, as for `tasks/get`, so it is committed
 * and still belongs to the owner. Listening starts before the first read, so no change is missed.
 */
export async function watchTasks(deps: TaskWatchDeps, { taskIds, owner, show, signal }: TaskWatch): Promise<void> {
  const watched = new Set(taskIds);
  const toRead = new Set<string>();
  let resume: () => void = () => undefined;
  const schedule = (taskId?: string) => {
    for (const one of taskId === undefined ? watched : [taskId]) if (watched.has(one)) toRead.add(one);
    resume();
  };
  const stopListening = deps.taskChanges.onChange(schedule);
  const stopRereading = deps.clock.every(REREAD_MS, schedule);
  const onAbort = () => resume();
  signal.addEventListener('abort', onAbort, { once: true });
  schedule();
  try {
    while (watched.size > 0 && !signal.aborted) {
      const [taskId] = toRead;
      if (taskId === undefined) {
        await new Promise<void>((resolve) => (resume = resolve));
        continue;
      }
      toRead.delete(taskId);
      const view = await readPatiently(deps, { taskId, owner, signal });
      if (view !== undefined && !signal.aborted) await show(view);
      if (view === undefined || isTerminal(view.state)) watched.delete(taskId);
    }
  } finally {
    stopRereading();
    stopListening();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Reads until the database answers, or the listener has left. */
async function readPatiently(
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

/** Gets the id of each task that may have changed. Without an id, any task may have changed. */
type TaskListener = (taskId?: string) => void;

/** Notifies of changes of tasks by any process. */
export interface TaskChanges {
  /** Returns a function that stops listening. */
  onChange(listener: TaskListener): () => void;
}

/** The function `gateway.transition` sends a notice here on commit. */
const CHANNEL = 'gateway_task';

/** @param listenUrl A direct connection to the database: a transaction pooler swallows notices. */
export function createTaskChanges(
  listenUrl: string,
  own: Timing & { readonly log: Logger },
): TaskChanges & { start(): Running } {
  const listeners = new Set<TaskListener>();
  const onNotice: TaskListener = (taskId) => listeners.forEach((listener) => listener(taskId));
  return {
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** If the database is away, listening begins once it is back. */
    start() {
      const listening = listen({ url: listenUrl, channel: CHANNEL, onNotice, ...own });
      return { name: 'notices of tasks', stop: async () => (await listening).stop() };
    },
  };
}
