import type { Logger } from 'pino';
import { type GatedCallState, isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { Clock } from '../clock.ts';
import type { Running } from '../lifecycle.ts';
import { fewAtATime, startRounds } from './rounds.ts';

export interface DueCalls {
  /** Calls past the deadline of their state, without the first `skipped` of them. */
  due(limit: number, skipped: number): Promise<string[]>;
  /** Calls without a handle for this long, whose submission no process has leased. */
  abandoned(olderThanMs: number, limit: number): Promise<string[]>;
  expire(gatedCallId: string): Promise<GatedCallState>;
  /** Deletes the content of calls past their retention. */
  forget(limit: number): Promise<number>;
  /** Encrypts data keys with the current key of the configuration; returns how many. */
  rewrap(limit: number): Promise<number>;
  end(gatedCallId: string, to: 'cancelled', reason: 'abandoned', cause: 'sweeper'): Promise<GatedCallState>;
}

const BATCH = 200;
const AT_ONCE = 4;
/** Batches of due calls in one round, so that ten thousand calls that were opened together also end together. */
const BATCHES = 50;

export interface ExpiryOptions {
  readonly calls: DueCalls;
  readonly intervalMs: number;
  readonly abandonAfterMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Carries deadlines out, without Temporal and the workflows. Several may run at once: the row's lock decides each end. */
export function startExpiry(options: ExpiryOptions): Running {
  const { intervalMs, clock, log } = options;
  return startRounds({ name: 'expiry of calls', pauseMs: () => intervalMs, round: createRound(options), clock, log });
}

function createRound({ calls, abandonAfterMs, log }: ExpiryOptions): (stop: AbortSignal) => Promise<void> {
  /** Ends all of them, although some may fail; returns how many failed. */
  async function endAll(ids: readonly string[], end: (id: string) => Promise<GatedCallState>): Promise<number> {
    let failed = 0;
    const one = async (gatedCallId: string) => {
      try {
        if (!isTerminal(await end(gatedCallId))) failed += 1;
      } catch (error) {
        failed += 1;
        log.error({ gatedCall: gatedCallId, err: error }, 'a call could not be ended');
      }
    };
    await fewAtATime(ids, AT_ONCE, one);
    return failed;
  }
  async function expireDue(stop: AbortSignal): Promise<void> {
    let failed = 0;
    for (let batch = 0; batch < BATCHES && !stop.aborted; batch += 1) {
      const due = await calls.due(BATCH, failed);
      failed += await endAll(due, (id) => calls.expire(id));
      if (due.length < BATCH) return;
    }
  }
  return async (stop) => {
    await expireDue(stop);
    const abandoned = await calls.abandoned(abandonAfterMs, BATCH);
    await endAll(abandoned, (id) => calls.end(id, 'cancelled', 'abandoned', 'sweeper'));
    await calls.forget(BATCH);
    const rewrapped = await calls.rewrap(BATCH);
    if (rewrapped > 0) log.info({ rewrapped }, 'data keys were encrypted with the current sealing key');
  };
}
