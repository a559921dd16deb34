import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** How often each of many may do something. Counted in this process. */
export interface RateLimit {
  /** Counts one, or more at once. Answers how many milliseconds to wait when that was too much. */
  take(key: string, cost?: number): Promise<number | undefined>;
  /** Takes one back that came to nothing. */
  giveBack(key: string): Promise<void>;
}

/** @param count How much one key may take within `seconds`, from its first. */
export function createRateLimit({ count, seconds }: { count: number; seconds: number }): RateLimit {
  const limiter = new RateLimiterMemory({ points: count, duration: seconds });
  return {
    async take(key, cost = 1) {
      try {
        // What costs more than everything could never be had.
        await limiter.consume(key, Math.min(cost, count));
        return undefined;
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
        throw refused;
      }
    },
    giveBack: async (key) => void (await limiter.reward(key)),
  };
}
