import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';

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

/** The URL parser has normalized other spellings of 127.0.0.1, such as 0x7f.1 and 2130706433. */
const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '');

/** Whether a text is an address of the public internet. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !internalIpv4.check(address);
  return isIP(address) === 6 && globalIpv6.check(address, 'ipv6') && !notGlobalIpv6.check(address, 'ipv6');
}

interface GuardOptions {
  /** What the operator can do about a refused address, for the error. */
  readonly advice: string;
  readonly maxAnswerBytes?: number | undefined;
  /** For tests. */
  readonly lookup?: typeof systemLookup;
  /** Certificates to trust besides those of Node.js, for tests. */
  readonly ca?: string;
}

/** A name or an address that leads to no address that may be called. */
class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

/** Whether nothing could be sent because the name has no address now, or none that may be called. */
export const leadsNowhere = (error: unknown): boolean =>
  error instanceof ForbiddenAddress || (error as NodeJS.ErrnoException | undefined)?.syscall === 'getaddrinfo';

export type GuardedAgent = ReturnType<typeof createGuardedAgent>;

/**
 * Connects only to public addresses and to allowed networks. Checks the address of each connection, so that a name cannot bypass the check
 * by resolving differently the next time (DNS rebinding). Aborts an answer longer than `maxAnswerBytes`.
 * @see ARAP-CB-03
 */
export function createGuardedAgent(
  networks: readonly string[],
  { advice, maxAnswerBytes, lookup = systemLookup, ca }: GuardOptions,
) {
  const allowed = blockList(networks);
  const mayCall = (address: string) => isPublic(address) || allowed.check(address, familyOf(address));
  const refused = (host: string) => new ForbiddenAddress(`${host} is not a public address; ${advice}`);
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
  /** Throws for a forbidden IP address in the URL. Host names are checked when they are resolved. */
  const check = (url: string): void => {
    const host = hostOf(url);
    if (isIP(host) !== 0 && !mayCall(host)) throw refused(host);
  };
  const connect = { lookup: guarded, ...(ca !== undefined && { ca }) };
  return {
    agent: new Agent({ connect, ...(maxAnswerBytes && { maxResponseSize: maxAnswerBytes }) }),
    check,
    /**
     * Rejects unless the host of the URL has an address now that may be called. The next connection is checked again, because a name can
     * lead to another address by then.
     */
    async resolve(url: string): Promise<void> {
      check(url);
      const host = hostOf(url);
      if (isIP(host) !== 0) return;
      await new Promise<void>((resolve, reject) => {
        guarded(host, { all: true }, (error) => (error === null ? resolve() : reject(error)));
      });
    },
  };
}
