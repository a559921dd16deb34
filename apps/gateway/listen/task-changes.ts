import type { Logger } from 'pino';
import { listen } from '../../shared/database/listen.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';

/** Told of each task that may show something else; of no task in particular when changes may have been missed. */
type TaskListener = (taskId?: string) => void;

/** Tells when tasks change, whichever process changed them. */
export interface TaskChanges {
  /** Answers how to stop listening. */
  onChange(listener: TaskListener): () => void;
}

/** Where the database tells of them, on commit. The function `gateway.move` does. */
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
