import { isTerminal } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Actors } from './actors.ts';
import type { Chance } from './chance.ts';
import type { Scheduler } from './scheduler.ts';

interface Healing {
  readonly actors: Actors;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly decide: (verdict: 'granted' | 'denied') => unknown;
  /** Whether the agent repeats its call while it has no task yet. */
  readonly isRepeated: boolean;
}

const MOST_ROUNDS = 20;
const MOST_STEPS = 1_000;
const READS_AFTERWARDS = 3;

/** Lets pending work end, then does the work of a healthy engine, outbox and sweeper, until every call has ended. */
export async function comeToRest(healing: Healing): Promise<void> {
  const { actors } = healing;
  await finish(healing.scheduler);
  if (actors.ids().length === 0) await complete(healing, actors.toolCall());
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    await emptyOutbox(healing);
    let open = 0;
    for (const id of actors.ids()) {
      if (isTerminal(await actors.stateOf(id))) continue;
      open += 1;
      await driveOn(healing, id);
    }
    if (open === 0 && (await actors.outbox()).length === 0) break;
  }
  // A second read after the end must show the same.
  for (let reads = 0; reads < READS_AFTERWARDS; reads += 1) {
    actors.read();
    await finish(healing.scheduler);
  }
}

async function emptyOutbox({ actors, scheduler }: Healing): Promise<void> {
  for (const row of await actors.outbox()) {
    actors.handle(row);
    await finish(scheduler);
  }
}

/** One turn of the workflow, as far as it goes; or the repetition of a call that has no workflow yet. */
async function driveOn(healing: Healing, id: string): Promise<void> {
  const { actors, chance, decide } = healing;
  if ((await actors.stateOf(id)) === 'preparing') return finishOpening(healing, id);
  if (!actors.isDriven(id)) actors.find('the engine was never told of a call that waits');
  const step = await complete(healing, actors.claim(id));
  const kind = kindOf(step);
  if (kind === 'claimed') return execute(healing, id);
  if (kind !== 'retry' && kind !== 'open') return;
  if (chance.happens(0.8)) return void (await decide(chance.happens(0.9) ? 'granted' : 'denied'));
  await actors.wait('the request deadline passes', id);
  await complete(healing, actors.sweep());
}

/**
 * Either the agent repeats its call after the lease of the dead process has run out, or the sweeper gives the creation
 * up.
 */
async function finishOpening(healing: Healing, id: string): Promise<void> {
  const { actors, isRepeated } = healing;
  await actors.wait('the lease runs out', id);
  await complete(healing, isRepeated ? actors.toolCall(actors.callerOf(id)) : actors.sweep());
}

async function execute(healing: Healing, id: string): Promise<void> {
  const { actors } = healing;
  await complete(healing, actors.invoke(id));
  // A claim that was given up is made anew in the next round.
  if (kindOf(await complete(healing, actors.settle(id))) !== 'retry') return;
  await actors.wait('the execution deadline passes', id);
  await complete(healing, actors.settle(id));
  await complete(healing, actors.sweep());
}

const kindOf = (result: unknown) => (result as { kind?: string } | undefined)?.kind;

/** Runs a started operation to its end and answers its result. */
async function complete({ actors, scheduler }: Healing, key: string | undefined): Promise<unknown> {
  await finish(scheduler);
  return key === undefined ? undefined : actors.resultOf(key);
}

/** Lets all waiting calls happen, in order. */
async function finish(scheduler: Scheduler): Promise<void> {
  for (let left = MOST_STEPS; left > 0; left -= 1) {
    const waiting = await scheduler.settled();
    if (waiting > 0) await scheduler.release(0, 'done');
    else if (scheduler.isIdle()) return;
  }
  throw new Error('something never ends');
}
