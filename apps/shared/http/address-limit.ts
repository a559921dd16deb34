import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { AddressSettings } from '../config/units.ts';
import type { Timing } from '../limits.ts';
import type { Admit, Listening } from './listen.ts';

const TOO_MANY = 429;
const UNAUTHORIZED = 401;
/** A sender with one address of IPv6 commonly has all that begin with these bytes. Addresses of IPv4 have fewer. */
const NETWORK_BYTES = 8;

/** What is taken back when the sender of a request has proven who it is. */
const counted = new WeakMap<object, () => void>();

/** Tells that the sender of the request is known: from here on the limits of callers count. */
export function senderIsKnown(response: object): void {
  counted.get(response)?.();
}

/**
 * Counts requests by the address that they come from, before anything of them is verified or read: a sender without a good
 * credential cannot make the process check one after the other. What turns out to have one, or to need none, is not counted.
 */
export function limitByAddress(settings: AddressSettings, log: Logger): Admit {
  const limit = createRateLimit({ count: settings.maxUnknownPerSecond, seconds: 1 });
  const addressOf = createAddressOf(settings, log);
  return (request, response, serve) => {
    const key = addressOf(request);
    void limit.take(key).then((waitMs) => {
      if (waitMs !== undefined) return refuse(response, waitMs);
      const giveBack = () => {
        if (counted.delete(response)) void limit.giveBack(key);
      };
      counted.set(response, giveBack);
      response.once('close', () => {
        if (response.statusCode !== UNAUTHORIZED) giveBack();
      });
      serve();
    });
  };
}

/** How a deployable of this configuration listens on its port, at its addresses. */
export const openTo = (
  { host, addresses }: { readonly host: string; readonly addresses: AddressSettings },
  { port, urls }: { readonly port: number; readonly urls?: readonly string[] },
  { log, clock, limits }: Timing & { readonly log: Logger },
): Listening => ({ host, port, ...(urls && { urls }), clock, limits, admit: limitByAddress(addresses, log) });

function refuse(response: ServerResponse, waitMs: number): void {
  const text = 'Too many requests from this address bring no good credential. Come again later.\n';
  response.statusCode = TOO_MANY;
  response.setHeader('retry-after', Math.max(1, Math.ceil(waitMs / 1_000)));
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  // What has not been read of the request would be taken for the next one.
  response.setHeader('connection', 'close');
  response.end(text);
}

/** The address of the sender: what a trusted proxy says, and else the other end of the connection. */
function createAddressOf({ trustedProxies }: AddressSettings, log: Logger): (request: IncomingMessage) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  let isReported = false;
  return (request) => {
    const { remoteAddress = '' } = request.socket;
    if (!isReported && request.headers['x-forwarded-for'] !== undefined && !isTrusted(remoteAddress, 0)) {
      isReported = true;
      log.warn(
        { remoteAddress },
        'requests come through a proxy that is not in addresses.trustedProxies: all its clients count as one address',
      );
    }
    return networkOf(proxyAddr(request, isTrusted));
  };
}

function networkOf(address: string): string {
  // A trusted proxy may write anything.
  if (isIP(address) === 0) return address;
  const bytes = ipaddr.process(address).toByteArray();
  return bytes.slice(0, NETWORK_BYTES).join('.');
}

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
