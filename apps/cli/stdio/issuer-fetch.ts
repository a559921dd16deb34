import type { Clock } from '../../shared/clock.ts';
import type { Limits } from '../../shared/limits.ts';

/**
 * Requests to an issuer, which answers soon or never. Codes and tokens are in bodies, and are only for the address to which they were sent,
 * so a request with a body follows no redirect.
 */
export const issuerFetch =
  ({ tokenMs }: Limits, clock: Pick<Clock, 'signalAfter'>): typeof fetch =>
  (input, init) =>
    fetch(input, {
      redirect: init?.body === undefined ? 'follow' : 'error',
      ...init,
      signal: clock.signalAfter(tokenMs),
    });
