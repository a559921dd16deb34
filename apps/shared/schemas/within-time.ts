import { createContext, Script } from 'node:vm';

const globals: { task?: () => unknown } = {};
const context = createContext(globals);
const run = new Script('task()');

/**
 * Runs the task, and throws when it takes longer. Node can stop code that never waits in this way only: while it runs, no timer
 * of ours fires.
 *
 * @param ms Of the clock on the wall.
 */
export function withinTime<T>(ms: number, task: () => T): T {
  globals.task = task;
  try {
    return run.runInContext(context, { timeout: ms }) as T;
  } finally {
    delete globals.task;
  }
}
