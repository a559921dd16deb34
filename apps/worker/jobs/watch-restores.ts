import type { Logger } from 'pino';
import {
  AFTER_A_RESTORE,
  FINDINGS,
  type FenceMark,
  type FenceState,
} from '../../../workflows/domain/gated-call/fence.ts';
import type { Clock } from '../../shared/clock.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';
import type { EngineMemory } from '../../shared/temporal/fence-mark.ts';

interface WatchRestoresOptions {
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
/** Until the first comparison. The worker claims no call before. */
const FIRST_INTERVAL_MS = 500;
/** The engine keeps each mark as a workflow for its retention period. A call's own history needs no mark. */
const WRITE_AFTER_MS = 60_000;
const REPEAT_ALARM_AFTER_MS = 600_000;

/**
 * Compares the database with what the engine remembers of it: at the start, after an outage of the database, and every few
 * seconds. The worker claims no call before the first comparison, nor while the database is frozen.
 */
export function startWatchRestores(options: WatchRestoresOptions) {
  const { fence, engine, intervalMs = INTERVAL_MS, clock, log } = options;
  const raiseAlarm = createAlarm(log, clock);
  const compare = createComparison(options);
  let isCompared = false;
  let doubts = 0;
  let pauseMs = 0;

  function doubt(): void {
    isCompared = false;
    doubts += 1;
  }

  const rounds = startRounds({
    ...{ name: 'restore watch', clock, log, pauseMs: () => pauseMs },
    async round() {
      pauseMs = Math.min(FIRST_INTERVAL_MS, intervalMs);
      try {
        const doubtsBefore = doubts;
        const state = await compare();
        // A report came meanwhile, and the comparison may have read the database before it.
        if (doubts !== doubtsBefore) return;
        isCompared = state === 'whole';
        pauseMs = intervalMs;
        raiseAlarm(state);
      } catch (error) {
        isCompared = false;
        log.debug(
          { err: error },
          'the database cannot be compared with the engine; this worker claims no call meanwhile',
        );
      }
    },
  });
  return {
    ...rounds,
    isCompared: () => isCompared,
    contradicts: (gatedCallId: string) => engine.wentFurther(gatedCallId),
    async report(gatedCallId: string): Promise<void> {
      if (isCompared) log.error({ gatedCall: gatedCallId }, FINDINGS.call_ran);
      doubt();
      await fence.suspend();
      // A comparison that began while the database was being frozen may have found it whole.
      doubt();
      raiseAlarm((await fence.read()).state);
    },
  };
}

/** Compares once, and answers what the database is afterwards. */
function createComparison({ fence, engine, clock }: WatchRestoresOptions) {
  const writeMark = createMarkWriter(engine, clock);
  return async (): Promise<FenceState> => {
    const { state, installation } = await fence.read();
    if (state !== 'whole') return state;
    // The mark is read first. By the time the database is read, it can only be further, unless it lost rows.
    const found = await engine.readMark(installation);
    const held = await fence.holdAgainst(found);
    if (held.state === 'whole') await writeMark(installation, found, held);
    return held.state;
  };
}

/** Raises the alarm `restored` when the database is frozen, and repeats it from time to time. */
function createAlarm(log: Logger, clock: Clock): (state: FenceState) => void {
  let reported: FenceState = 'whole';
  let repeatAt = 0;
  return (state) => {
    if (state === 'whole') {
      if (reported !== 'whole') log.info('the database was reconciled: calls are executed again');
    } else if (state !== reported || clock.monotonicMs() >= repeatAt) {
      repeatAt = clock.monotonicMs() + REPEAT_ALARM_AFTER_MS;
      const consequence = 'No call is executed and no open call ends until the database is reconciled';
      log.error({ alarm: 'restored', found: state }, `${FINDINGS[state]}. ${consequence}: ${AFTER_A_RESTORE}`);
    }
    reported = state;
  };
}

/** Writes a mark if the engine has none or an old one, but not too often. */
function createMarkWriter(engine: EngineMemory, clock: Clock) {
  let nextAt = 0;
  return async (installation: string, found: FenceMark | undefined, { epoch, claims }: FenceMark): Promise<void> => {
    if (found?.epoch === epoch && (found.claims === claims || clock.monotonicMs() < nextAt)) return;
    await engine.writeMark(installation, { epoch, claims });
    nextAt = clock.monotonicMs() + WRITE_AFTER_MS;
  };
}
