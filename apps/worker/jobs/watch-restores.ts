import type { Logger } from 'pino';
import {
  AFTER_A_RESTORE,
  FINDINGS,
  type FenceMark,
  type FenceState,
} from '../../../workflows/domain/gated-call/fence.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';
import type { EngineMemory } from '../../shared/temporal/fence-mark.ts';

export interface WatchRestoresOptions {
  readonly fence: {
    read(): Promise<{ state: FenceState; installation: string }>;
    holdAgainst(mark: FenceMark | undefined): Promise<FenceMark & { readonly state: FenceState }>;
    suspend(): Promise<void>;
  };
  readonly engine: EngineMemory;
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 5_000;
/** As long as nothing was compared, since nothing is claimed until it was. */
const FIRST_INTERVAL_MS = 500;
/** Each mark is a workflow that the engine keeps for its retention period. What a call's own history tells needs no mark. */
const WRITE_AFTER_MS = 60_000;
const SAY_AGAIN_AFTER_MS = 600_000;

/**
 * Holds the database against what the engine remembers of it: at the start, after the database was away, and every few
 * seconds. Until they were compared, and while the database is frozen, nothing is claimed.
 */
export function startWatchRestores(options: WatchRestoresOptions): Running & {
  isCompared(): boolean;
  contradicts(gatedCallId: string): Promise<boolean>;
  report(gatedCallId: string): Promise<void>;
} {
  const { fence, engine, intervalMs = INTERVAL_MS, clock, log } = options;
  const say = createSay(log, clock);
  const writeMark = createMarkWriter(engine, clock);
  let isCompared = false;
  let pauseMs = 0;

  async function compare(): Promise<FenceState> {
    const { state, installation } = await fence.read();
    if (state !== 'whole') return state;
    // Read first: the database can only be further than that by then, unless it has forgotten something.
    const found = await engine.readMark(installation);
    const held = await fence.holdAgainst(found);
    if (held.state === 'whole') await writeMark(installation, found, held);
    return held.state;
  }
  const rounds = startRounds({
    ...{ name: 'restore watch', clock, log, pauseMs: () => pauseMs },
    async round() {
      pauseMs = Math.min(FIRST_INTERVAL_MS, intervalMs);
      try {
        const state = await compare();
        isCompared = state === 'whole';
        pauseMs = intervalMs;
        say(state);
      } catch (error) {
        isCompared = false;
        log.debug({ err: error }, 'the database cannot be held against the engine now; nothing is claimed meanwhile');
      }
    },
  });
  return {
    ...rounds,
    isCompared: () => isCompared,
    contradicts: (gatedCallId) => engine.wentFurther(gatedCallId),
    async report(gatedCallId) {
      if (isCompared) log.error({ gatedCall: gatedCallId }, FINDINGS.call_ran);
      isCompared = false;
      await fence.suspend();
      say((await fence.read()).state);
    },
  };
}

/** Says aloud when the database is frozen, and again from time to time. */
function createSay(log: Logger, clock: Clock): (state: FenceState) => void {
  let said: FenceState = 'whole';
  let sayAgainAt = 0;
  return (state) => {
    if (state === 'whole') {
      if (said !== 'whole') log.info('the database was reconciled: calls are executed again');
    } else if (state !== said || clock.monotonicMs() >= sayAgainAt) {
      sayAgainAt = clock.monotonicMs() + SAY_AGAIN_AFTER_MS;
      const consequence = 'Nothing is executed and no open call ends until this is reconciled';
      log.error({ alarm: 'restored', found: state }, `${FINDINGS[state]}. ${consequence}: ${AFTER_A_RESTORE}`);
    }
    said = state;
  };
}

/** Writes the mark where the engine has none, or an old one; and not too often. */
function createMarkWriter(engine: EngineMemory, clock: Clock) {
  let nextAt = 0;
  return async (installation: string, found: FenceMark | undefined, { epoch, claims }: FenceMark): Promise<void> => {
    if (found?.epoch === epoch && (found.claims === claims || clock.monotonicMs() < nextAt)) return;
    await engine.writeMark(installation, { epoch, claims });
    nextAt = clock.monotonicMs() + WRITE_AFTER_MS;
  };
}
