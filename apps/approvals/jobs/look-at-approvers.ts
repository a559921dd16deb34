import type { Logger } from 'pino';
import type { KnownPeople } from '../../../workflows/domain/access-request/reach.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { Clock } from '../../shared/clock.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';
import { reportOutOfReach, whyOutOfReach } from '../out-of-reach.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

const EVERY_MS = 5_000;
const BATCH = 100;
const FIRST = { id: '' };

export interface LookingAtApproversOptions {
  readonly store: Pick<AccessRequestStore, 'find' | 'newStages' | 'openStages' | 'giveUpStage'>;
  readonly known: () => KnownPeople;
  readonly people: DirectorySource;
  /** Whether a person may grant alone, past the stages. */
  readonly hasBreakGlass: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Looks at each stage when it opens. A stage that opened with too few people to settle it is given up: the next one takes its place, or the
 * request is denied with the reason. At the start and when the directory changes, it looks at all open stages again, a batch in each round.
 * If people left a stage later, only the alarm is raised: a broken export of a directory must not deny everything that waits. Any number
 * of processes may run it at once.
 */
export function startLookingAtApprovers(options: LookingAtApproversOptions): Running {
  const { store, people, clock, log } = options;
  const again = createLookAgain(options);
  /** The new stages that were looked at. */
  let looked = new Set<string>();
  let seen = people();
  let from: Parameters<typeof store.openStages>[0] | undefined = FIRST;
  return startRounds({
    name: 'look at the approvers of open stages',
    pauseMs: () => EVERY_MS,
    async round(stop) {
      if (people() !== seen) [seen, from] = [people(), FIRST];
      const opened = (await store.newStages()).map((one) => ({ ...one, key: `${one.id} ${one.stage}` }));
      looked = new Set(opened.map(({ key }) => key).filter((key) => looked.has(key)));
      for (const { key, id, stage } of opened) {
        if (stop.aborted) return;
        if (!looked.has(key)) await lookAtNew({ id, stage }, options);
        looked.add(key);
      }
      if (from !== undefined) from = await again(from, stop);
    },
    ...{ clock, log },
  });
}

interface Opened {
  readonly id: string;
  readonly stage: number;
}

/** Why too few people can settle a stage that is still open. Undefined if they can, if that cannot be known, or if the stage is over. */
async function whyOf({ id, stage }: Opened, { store, known }: LookingAtApproversOptions) {
  const request = await store.find(id);
  if (request?.status !== 'pending' || request.stage !== stage) return undefined;
  const why = whyOutOfReach(request, known());
  return why === undefined ? undefined : { why, escalates: openStage(request).then === 'escalate' };
}

async function lookAtNew(opened: Opened, options: LookingAtApproversOptions): Promise<void> {
  const { store, hasBreakGlass, log } = options;
  const found = await whyOf(opened, options);
  if (found === undefined) return;
  // A denial would take the request from the person who may grant it alone.
  if (hasBreakGlass && !found.escalates) return reportOutOfReach(log, [opened.id], `${found.why} ${IT_WAITS}`);
  const outcome = await store.giveUpStage(opened.id, opened.stage, found.why);
  if (outcome !== null) reportOutOfReach(log, [opened.id], `${found.why} ${WHAT_FOLLOWED[outcome]}`);
}

/** Looks at one batch, with one alarm for each reason in it. Returns where the next batch begins; undefined after the last. */
function createLookAgain(options: LookingAtApproversOptions) {
  return async (from: Parameters<typeof options.store.openStages>[0], stop: AbortSignal) => {
    const batch = await options.store.openStages(from, BATCH);
    const waiting = new Map<string, string[]>();
    for (const one of batch) {
      if (stop.aborted) return from;
      const { why } = (await whyOf(one, options)) ?? {};
      if (why !== undefined) waiting.set(why, [...(waiting.get(why) ?? []), one.id]);
    }
    for (const [why, ids] of waiting) reportOutOfReach(options.log, ids, `${why} ${IT_WAITS}`);
    return batch.length < BATCH ? undefined : batch.at(-1);
  };
}

const IT_WAITS = 'It waits until its end.';
const WHAT_FOLLOWED = { escalated: 'The next stage takes its place.', denied: 'The request was denied.' } as const;
