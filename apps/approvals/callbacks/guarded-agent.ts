import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';

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
export interface GuardedAgent {
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
