import proxyAddr from 'proxy-addr';
import * as z from 'zod';

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
