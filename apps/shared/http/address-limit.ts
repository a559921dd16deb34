import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { AddressSettings } from '../config/units.ts';
import type { Timing } from '../limits.ts';
import type { Admit, Listening } from './listen.ts';

const TOO_MANY = 429;
const UNAUTHORIZED = 401;
/** A sender with an IPv6 address commonly has the whole network of these first bytes. IPv4 addresses are shorter. */
const NETWORK_BYTES = 8;

/** By response: takes the count back when the sender turns out to be known. */
const counted = new WeakMap<object, () => void>();

/** Call it when the sender is authenticated: the limits of callers apply from here on. */
export function senderIsKnown(response: object): void {
  counted.get(response)?.();
}

/**
 * Counts requests by their address before anything of them is verified or read, so that a sender cannot make the process check one
 * invalid credential after the other. A request with a valid credential, or without need of one, is not counted.
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

/** The listen options of a deployable. */
export const openTo = (
  { host, addresses }: { readonly host: string; readonly addresses: AddressSettings },
  { port, urls }: { readonly port: number; readonly urls?: readonly string[] },
  { log, clock, limits }: Timing & { readonly log: Logger },
): Listening => ({ host, port, ...(urls && { urls }), clock, limits, admit: limitByAddress(addresses, log) });

function refuse(response: ServerResponse, waitMs: number): void {
  const text = 'Too many requests from this address have no valid credential. Try again later.\n';
  response.statusCode = TOO_MANY;
  response.setHeader('retry-after', Math.max(1, Math.ceil(waitMs / 1_000)));
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  // Otherwise Node would parse the unread rest of this request as the next one.
  response.setHeader('connection', 'close');
  response.end(text);
}

/** The network of the address that a trusted proxy reports, else of the peer of the connection. */
function createAddressOf({ trustedProxies }: AddressSettings, log: Logger): (request: IncomingMessage) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  let isReported = false;
  const throughProxy = (request: IncomingMessage) => {
    const { remoteAddress = '' } = request.socket;
    if (!isReported && !isTrusted(remoteAddress, 0)) {
      isReported = true;
      log.warn(
        { remoteAddress },
        'requests come through a proxy that is not in addresses.trustedProxies: all of its clients count as one address',
      );
    }
    return networkOf(proxyAddr(request, isTrusted));
  };
  /** The peer stays the same for all requests of a connection. */
  const peers = new WeakMap<Socket, string>();
  return (request) => {
    if (request.headers['x-forwarded-for'] !== undefined) return throughProxy(request);
    const { socket } = request;
    const peer = peers.get(socket) ?? networkOf(socket.remoteAddress ?? '');
    peers.set(socket, peer);
    return peer;
  };
}

function networkOf(address: string): string {
  // A trusted proxy may report any text.
  if (isIP(address) === 0) return address;
  const bytes = ipaddr.process(address).toByteArray();
  return bytes.slice(0, NETWORK_BYTES).join('.');
}

export type RateLimit = ReturnType<typeof createRateLimit>;

/** Limits what each key takes in this process to `count` points within `seconds`, from its first. */
export function createRateLimit({ count, seconds }: { count: number; seconds: number }) {
  const limiter = new RateLimiterMemory({ points: count, duration: seconds });
  return {
    /** Takes `cost` points. Returns how many milliseconds to wait when that exceeds the limit. */
    async take(key: string, cost = 1): Promise<number | undefined> {
      try {
        // A cost above the limit could never be paid.
        await limiter.consume(key, Math.min(cost, count));
        return undefined;
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
        throw refused;
      }
    },
    /** Returns one point. */
    giveBack: async (key: string) => void (await limiter.reward(key)),
  };
}
