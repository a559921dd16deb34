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
  /** Non-public networks that may be called. */
  readonly networks: readonly string[];
}

interface QuestionLimits {
  /** For the complete answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly clock: Clock;
}

/** Posts a signed JSON message once, without following redirects, and returns the status. Rejects without a response. */
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
 * Like `createSignedPost`, but also returns the text. Rejects when the answer is late, incomplete or too long, and when `stopping`
 * aborts.
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

/** A message only makes its receiver poll earlier. After a day it no longer helps. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Whether the receiver accepted a message that is due since `since`; false if it is given up. Throws when it has to be sent again. */
export async function isAccepted(
  posted: Promise<number>,
  { since, what, clock }: { since: string; what: string; clock: Clock },
): Promise<boolean> {
  const answer = await posted.catch((error: unknown) => error);
  if (typeof answer === 'number' && answer >= 200 && answer < 300) return true;
  if (answer === 410 || clock.now() - Date.parse(since) > GIVE_UP_MS) return false;
  throw new Error(`the receiver did not accept ${what}`, { cause: answer });
}

/** IPv4 networks without public addresses. @see IANA IPv4 Special-Purpose Address Registry */
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
/** The IPv6 network with public addresses, and its exceptions: translation and documentation ranges. */
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

/** Whether a text is an address of the public internet. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !internalIpv4.check(address);
  return isIP(address) === 6 && globalIpv6.check(address, 'ipv6') && !notGlobalIpv6.check(address, 'ipv6');
}

/**
 * Connects only to public addresses and to allowed networks. Checks the address of each connection, so that a name cannot bypass the check by resolving differently the next time (DNS
 * rebinding). Aborts an answer longer than `maxAnswerBytes`. `lookup` is for tests.
 * @see ARAP-CB-03
 */
export function createGuardedAgent(
  networks: readonly string[],
  { lookup = systemLookup, maxAnswerBytes }: { lookup?: typeof systemLookup; maxAnswerBytes?: number | undefined } = {},
) {
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
    /** Throws for a forbidden IP address in the URL. Host names are checked when they are resolved. */
    check(url: string) {
      // The URL parser has normalized other spellings of 127.0.0.1, such as 0x7f.1 and 2130706433.
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0 && !mayCall(host)) throw refused(host);
    },
  };
}

const refused = (host: string) =>
  new Error(
    `${host} is not a public address; if it is correct, add its network to the client's callbackNetworks, or to networks of the notifications or the resolver`,
  );
