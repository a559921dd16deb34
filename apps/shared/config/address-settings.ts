import proxyAddr from 'proxy-addr';
import * as z from 'zod';

/** What is known of senders before they have proven who they are: the addresses that they come from. */
export const addressSettings = z
  .strictObject({
    /**
     * Addresses and networks of reverse proxies, or `loopback` for those of this machine. What these say in `X-Forwarded-For` is
     * where a request comes from. Default: none, so that all that comes through a proxy comes from one address.
     */
    trustedProxies: z
      .array(z.string().refine(isNetwork, 'an address, a network such as 10.0.0.0/8, or a name such as "loopback"'))
      .default([]),
    /** Requests of one address in a second that this process takes though they bring no good credential; more are refused. */
    maxUnknownPerSecond: z.number().int().positive().default(1_000),
  })
  .prefault({});

export type AddressSettings = z.infer<typeof addressSettings>;

function isNetwork(text: string): boolean {
  try {
    proxyAddr.compile(text);
    return true;
  } catch {
    return false;
  }
}
