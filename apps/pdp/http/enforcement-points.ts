import type { RequestHandler } from 'express';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/pep.ts';
import type { Config } from '../../shared/config/config.ts';
import { secretText } from '../../shared/config/secret-text.ts';
import { bearerHolderOf } from '../../shared/http/bearer.ts';
import { createRateLimit } from '../../shared/http/rate-limit.ts';

/** A caller of the PDP: a name, to which denials and approvals are bound, and the bearer token that proves it. */
export interface EnforcementPoint {
  readonly name: string;
  readonly token: string;
}

/** Gateway and worker as one, whichever replica calls, then the configured ones. Throws `ERR_CONFIG_INVALID`. */
export async function enforcementPoints({ pdp }: Config, ownToken: string): Promise<EnforcementPoint[]> {
  const configured = Object.entries(pdp.enforcementPoints).map(async ([name, { token }]) => ({
    name,
    token: await secretText(token, `pdp.enforcementPoints.${name}.token`),
  }));
  return [{ name: PEP_CLIENT_ID, token: ownToken }, ...(await Promise.all(configured))];
}

/** A request that comes too soon. The message is sent to the caller. */
export class TooMany extends Error {
  override readonly name = 'TooMany';
  /** Whole seconds after which a repetition is worthwhile. */
  readonly retryAfterSeconds: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  }
}

export interface RequestRates {
  /** Before the body is read: limits the requests at work at a time, and counts one evaluation. */
  readonly admit: RequestHandler;
  /** Counts the evaluations of a request after its first. Throws `TooMany`. */
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
