import proxyAddr from 'proxy-addr';
import * as z from 'zod';
import { isLoopbackHttp } from '../http/known-hosts.ts';

export const port = z.number().int().min(1).max(65_535);
/** A duration, at least one second. */
export const seconds = z.number().int().positive();
/** @see RFC 6749, section 3.3 */
export const scope = z
  .string()
  .regex(/^[\u0021\u0023-\u005B\u005D-\u007E]+$/, 'printable characters without blanks and quotes');

/** A secret as it is written, or a file whose content it is, read whenever it is used. */
export const secret = z.union([z.string(), z.strictObject({ file: z.string().min(1) })]);

/** An address where no third party can answer or listen: the service there gives out identities, or receives confidential data. */
export const isTrustworthy = (url: string) =>
  /^https:/i.test(url) || (URL.canParse(url) && isLoopbackHttp(new URL(url)));

/** What is known of senders before they have proven who they are: the addresses that they come from. */
export const addressSettings = z
  .strictObject({
    trustedProxies: z
      .array(z.string().refine(isNetwork, 'an address, a network such as 10.0.0.0/8, or a name such as "loopback"'))
      .default([])
      .describe(
        'Addresses and networks of your reverse proxies, or `loopback` for proxies on the same machine. Countersign believes ' +
          '`X-Forwarded-For` only from these. Without it, all clients behind one proxy share one address.',
      ),
    maxUnknownPerSecond: z
      .number()
      .int()
      .positive()
      .default(1_000)
      .describe(
        'Requests per second without a valid credential that each port accepts from one address. The server answers further ' +
          'requests with HTTP 429.',
      ),
  })
  .prefault({})
  .describe('How Countersign tells client addresses apart before a client has authenticated.');

export type AddressSettings = z.infer<typeof addressSettings>;

function isNetwork(text: string): boolean {
  try {
    proxyAddr.compile(text);
    return true;
  } catch {
    return false;
  }
}
