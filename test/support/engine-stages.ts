import { startWorkflow } from '../../apps/worker/jobs/restart-lost.ts';
import type { Engine } from './engine.ts';
import type { WorldCall } from './engine-world.ts';
import { waitFor } from './wait-for.ts';

/** The stages in a call's life at which a test interferes with its workflow. */
export const STAGES = [
  'waits since its start',
  'awaits its resolution',
  'awaits a decision',
  'is claimed and has no permit',
  'is sent and has no answer',
  'has its result stored',
] as const;
export type Stage = (typeof STAGES)[number];

/** Brings a new call to the stage and keeps it there. */
export async function callAt(stage: Stage, { world, workflows, handle }: Engine): Promise<WorldCall> {
  const call = await world.hold();
  // Starts the workflow as the outbox does. The outbox would come in between when the maintenance runs.
  if (stage === 'waits since its start') {
    const { state, generation, remainingMs, readAt } = await world.fixture.lifecycle.progress(call.gatedCallId);
    const deadlineMs = readAt.databaseMs + remainingMs;
    await startWorkflow(workflows, { id: call.gatedCallId, state, generation, deadlineMs });
    await waitFor(() => isPaused(handle(call)), { timeoutMs: 400_000 });
    return call;
  }
  if (stage === 'awaits its resolution') {
    await workflows.signal(call.gatedCallId);
    await waitFor(() => isPaused(handle(call)), { timeoutMs: 400_000 });
    return call;
  }
  world.approve(call);
  if (stage === 'awaits a decision') {
    world.say(call, { decision: { kind: 'retry', retryAfterMs: 1_000 } });
    await workflows.signal(call.gatedCallId);
    await waitFor(async () => (await world.stateOf(call)) === 'granted' && (await isPaused(handle(call))));
    return call;
  }
  const point = { 'is claimed and has no permit': 'permit', 'is sent and has no answer': 'tool' }[stage as string];
  const isThere = world.keep((point ?? 'settled') as 'permit' | 'tool' | 'settled', call);
  await workflows.signal(call.gatedCallId);
  await waitFor(isThere);
  return call;
}

/** Lets everything succeed from here on. */
export function goOn({ world }: Engine, calls: readonly WorldCall[]): void {
  for (const call of calls) {
    world.approve(call);
    world.say(call, { decision: { kind: 'allow' } });
  }
  world.releaseAll();
}

async function isPaused(handle: ReturnType<Engine['handle']>): Promise<boolean> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).some((event) => event.timerStartedEventAttributes);
}
