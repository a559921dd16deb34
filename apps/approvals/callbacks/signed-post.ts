import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { type Clock, timeLimit } from '../../shared/clock.ts';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import type { Timing } from '../../shared/limits.ts';

interface Message {
  readonly id: string;
  readonly body: string;
}
interface Sender {
  /** Standard Webhooks. */
  readonly secret: string;
  /** What is not public and may be called all the same. */
  readonly networks: readonly string[];
}

interface QuestionLimits {
  /** For the whole answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly clock: Clock;
}

/** Posts a JSON message once, signed, follows no redirect, and answers the status. Rejects when there is none. */
export type SignedPost = (endpoint: string, message: Message) => Promise<number>;

export function createSignedPost(sender: Sender, { clock, limits }: Timing): SignedPost {
  const send = createSend(sender, { clock });
  return async (endpoint, message) => {
    const answer = await send(endpoint, message, clock.signalAfter(limits.webhookMs));
    await answer.body.dump();
    return answer.statusCode;
  };
}

/**
 * As `createSignedPost`, and answers the text as well. Rejects when it is not there, whole, in time, or is longer than is said; and
 * when `stopping` aborts.
 */
export function createSignedQuestion(sender: Sender, limits: QuestionLimits) {
  const send = createSend(sender, limits);
  return async (
    endpoint: string,
    message: Message,
    stopping: AbortSignal,
  ): Promise<{ status: number; type: string | undefined; text: string }> => {
    const { signal, end } = timeLimit(limits.clock, limits.timeoutMs, stopping);
    try {
      const { statusCode, headers, body } = await send(endpoint, message, signal);
      return { status: statusCode, type: headers['content-type']?.toString(), text: await body.text() };
    } finally {
      end();
    }
  };
}

function createSend({ secret, networks }: Sender, limits: Pick<QuestionLimits, 'clock'> & { maxAnswerBytes?: number }) {
  const webhook = new Webhook(secret);
  const guard = createGuardedAgent(networks, { maxAnswerBytes: limits.maxAnswerBytes });
  return (endpoint: string, message: Message, signal: AbortSignal) => {
    guard.check(endpoint);
    const headers = signedHeaders(webhook, { ...message, at: new Date(limits.clock.now()) });
    const { body } = message;
    return request(endpoint, { method: 'POST', headers, body, signal, dispatcher: guard.agent });
  };
}

/** A message only makes its receiver look earlier. After a day it has looked by itself, or it no longer helps. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Whether a message, due since that instant, is done with: it was taken, or is given up. Throws when it has to be sent again. */
export async function isTaken(
  posted: Promise<number>,
  { since, what, clock }: { since: string; what: string; clock: Clock },
): Promise<boolean> {
  const answer = await posted.catch((error: unknown) => error);
  if (typeof answer === 'number' && answer >= 200 && answer < 300) return true;
  if (answer === 410 || clock.now() - Date.parse(since) > GIVE_UP_MS) return false;
  throw new Error(`the receiver did not take ${what}`, { cause: answer });
}

/** Networks of IPv4 that nobody on the internet can mean. @see IANA IPv4 Special-Purpose Address Registry */
const INTERNAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** The one network of IPv6 that has public addresses, and what in it is none: translated and documented ones. */
const GLOBAL_IPV6 = ['2000::/3'];
const NOT_GLOBAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

const familyOf = (address: string) => (isIP(address) === 4 ? 'ipv4' : 'ipv6');

const internalIpv4 = blockList(INTERNAL_IPV4);
const globalIpv6 = blockList(GLOBAL_IPV6);
const notGlobalIpv6 = blockList(NOT_GLOBAL_IPV6);

/** Whether it is an address of the public internet. What is no address at all is not. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !internalIpv4.check(address);
  return isIP(address) === 6 && globalIpv6.check(address, 'ipv6') && !notGlobalIpv6.check(address, 'ipv6');
}

/** Connections that only go to public addresses and to the networks that are allowed. */
interface GuardedAgent {
  readonly agent: Agent;
  /** Throws for an address that is written out in the URL and must not be called. Names are checked when they are resolved. */
  check(url: string): void;
}

/**
 * What is checked is the address that is connected to, so a name that resolves to another one at the next time gains
 * nothing. An answer longer than `maxAnswerBytes`, where that is given, breaks off. `lookup` is for tests.
 * @see ARAP-CB-03
 */
export function createGuardedAgent(
  networks: readonly string[],
  { lookup = systemLookup, maxAnswerBytes }: { lookup?: typeof systemLookup; maxAnswerBytes?: number | undefined } = {},
): GuardedAgent {
  const allowed = blockList(networks);
  const mayCall = (address: string) => isPublic(address) || allowed.check(address, familyOf(address));
  const guarded: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const addresses = found.filter(({ address }) => mayCall(address));
      const [first] = addresses;
      if (first === undefined) return callback(refused(hostname), []);
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
  return {
    agent: new Agent({ connect: { lookup: guarded }, ...(maxAnswerBytes && { maxResponseSize: maxAnswerBytes }) }),
    check(url) {
      // The parser has made 127.0.0.1 of 0x7f.1, 2130706433 and whatever else it can be written as.
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0 && !mayCall(host)) throw refused(host);
    },
  };
}

const refused = (host: string) =>
  new Error(
    `${host} is no public address; if it is the right one, name its network in callbackNetworks of the client, or in networks of the notifications or the resolver`,
  );
