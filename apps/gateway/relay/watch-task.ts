import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { UpstreamTask } from '../../../workflows/domain/relay.ts';
import type { Clock } from '../../shared/clock.ts';
import { askAboutTask, type RelayedTask, type RelayedTaskDeps, type TaskAsker } from './relayed-tasks.ts';

/** No listener makes us ask an upstream more often than this, and none waits longer for news, whatever the upstream says. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Shows a task of an upstream at each look, until it has ended, is gone, or nobody listens any more. The upstream is asked at
 * its own pace: it knows nothing of who listens here.
 */
export async function watchRelayedTask(
  deps: RelayedTaskDeps & { readonly clock: Clock },
  task: RelayedTask,
  asker: TaskAsker,
  show: (seen: UpstreamTask) => Promise<void>,
): Promise<void> {
  const { signal } = asker;
  let pauseMs = SHORTEST_PAUSE_MS;
  while (!signal.aborted) {
    const seen = await look(deps, task, asker);
    if (signal.aborted || seen === 'gone') return;
    if (seen !== 'unseen') {
      await show(seen);
      if (seen.status !== 'working' && seen.status !== 'input_required') return;
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, seen.pollIntervalMs ?? 0));
    }
    await deps.clock.after(pauseMs, signal);
  }
}

/** `unseen`: it cannot be looked at now, or not by a listener that declared so little. */
async function look(
  deps: RelayedTaskDeps,
  task: RelayedTask,
  asker: TaskAsker,
): Promise<UpstreamTask | 'gone' | 'unseen'> {
  try {
    const seen = await askAboutTask(deps, task, 'tasks/get', asker);
    return seen.kind === 'task' ? seen.task : 'unseen';
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'ERR_GATED_CALL_NOT_FOUND') return 'gone';
    if (error.retryable) return 'unseen';
    throw error;
  }
}
