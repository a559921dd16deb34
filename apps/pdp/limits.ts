import type { RequestHandler } from 'express';
import { bearerHolderOf } from '../shared/http/bearer.ts';
import { createRateLimit } from '../shared/http/rate-limit.ts';
import type { EnforcementPoint } from './enforcement-points.ts';

/** A request that comes too soon. The message is sent to the caller. */
export class TooMany extends Error {
  override readonly name = 'TooMany';
  /** Whole seconds after which it is worth another try. */
  readonly retryAfterSeconds: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  }
}

export interface RequestRates {
  /** Before the body is read: bounds how many are worked on at a time, and counts one evaluation. */
  readonly admit: RequestHandler;
  /** Counts the evaluations behind the first of a request. Throws `TooMany`. */
  readonly charge: (requester: string, evaluations: number) => Promise<void>;
}

/** Limits of this process: one enforcement point cannot take what the others need. @see AuthZEN, Availability and DoS */
export function createLimits(of: { maxEvaluationsPerSecond: number; maxConcurrentRequests: number }): RequestRates {
  const rate = createRateLimit({ count: of.maxEvaluationsPerSecond, seconds: 1 });
  let working = 0;

  async function take(requester: string, evaluations: number): Promise<void> {
    const waitMs = await rate.take(requester, evaluations);
    if (waitMs !== undefined) throw new TooMany('too many evaluations in a second: ask again later', waitMs);
  }

  return {
    admit: async (_request, response, next) => {
      if (working >= of.maxConcurrentRequests) throw new TooMany('too many requests at a time: ask again later', 0);
      working += 1;
      response.once('close', () => (working -= 1));
      await take(bearerHolderOf<EnforcementPoint>(response).name, 1);
      next();
    },
    charge: async (requester, evaluations) => {
      if (evaluations > 0) await take(requester, evaluations);
    },
  };
}
