import type { Logger } from 'pino';
import type { Running } from './lifecycle.ts';
import type { Timing } from './limits.ts';
import { startRounds } from './maintenance/rounds.ts';

/** Something outside a process, without which it does not do all of its work. */
export interface Need {
  /** The alarm that is raised while it is missing, such as `database_unusable`. */
  readonly alarm: string;
  /** Whether the process can do nothing without it, and so is not ready. Otherwise some work waits, or is refused. */
  readonly isVital: boolean;
  /** What is wrong, with the next step; undefined if nothing is. It may reject, or take too long. */
  readonly problem: () => Promise<string | undefined>;
}

/** The need for the policy decision point. A process that still shows tasks works in part without it. */
export const pdpNeed = (problem: Need['problem']): Need => ({ alarm: 'pdp_unusable', isVital: false, problem });

/** A need that is not met, and what is wrong. */
export interface Unmet extends Pick<Need, 'alarm' | 'isVital'> {
  readonly problem: string;
}

/** The needs that are not met now. Each look takes at most `healthMs`, because probes give up soon; without an answer in time, it is unmet. */
export function lookAt(needs: readonly Need[], time: Timing): Promise<readonly Unmet[]> {
  return Promise.all(needs.map((need) => look(need, time))).then((found) => found.flat());
}

async function look({ alarm, isVital, problem }: Need, { clock, limits }: Timing): Promise<readonly Unmet[]> {
  const unknown = `this process could not find out within ${limits.healthMs / 1_000} seconds whether it can work`;
  const over = new AbortController();
  const late = clock.after(limits.healthMs, over.signal).then(() => unknown);
  const found = await Promise.race([problem(), late])
    .catch(() => unknown)
    .finally(() => over.abort());
  return found === undefined ? [] : [{ alarm, isVital, problem: found }];
}

const LOOK_EVERY_MS = 10_000;
/** The line of an alarm that no operator has seen by now has scrolled away. */
const RAISE_AGAIN_MS = 10 * 60_000;

interface WatchOptions extends Timing {
  readonly needs: readonly Need[];
  readonly log: Logger;
}

/**
 * Raises the alarm of each need that is not met at two looks in a row, ten seconds apart, so that a short interruption raises none. Raises
 * it again every ten minutes and when the problem is another one, and says when the need is met again.
 */
export function startWatchingNeeds({ needs, log, ...time }: WatchOptions): Running {
  /** By alarm: the problem that was seen, when its alarm is due, on the monotonic clock, and whether it was raised before. */
  const unmet = new Map<string, { problem: string; dueMs: number; isRaised: boolean }>();
  const round = async () => {
    const found = await lookAt(needs, time);
    const now = time.clock.monotonicMs();
    for (const { alarm, problem } of found) {
      const before = unmet.get(alarm);
      if (before?.problem !== problem) unmet.set(alarm, { problem, dueMs: now, isRaised: before?.isRaised ?? false });
      else if (now >= before.dueMs) {
        unmet.set(alarm, { problem, dueMs: now + RAISE_AGAIN_MS, isRaised: true });
        log.error({ alarm }, problem);
      }
    }
    for (const [alarm, { isRaised }] of unmet) {
      if (found.some((one) => one.alarm === alarm)) continue;
      unmet.delete(alarm);
      if (isRaised) log.info({ ended: alarm }, `the alarm ${alarm} has ended`);
    }
  };
  return startRounds({ name: 'watch over what the process needs', pauseMs: () => LOOK_EVERY_MS, round, log, ...time });
}
