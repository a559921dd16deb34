import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import * as z from 'zod';
import { isLoopbackHttp } from '../http/known-hosts.ts';

export const port = z.number().int().min(1).max(65_535);
export const count = z.number().int().positive();
/** Ten years. A longer duration is a slip of the pen, such as milliseconds, and some dates after it cannot be written. */
const LONGEST_SECONDS = 10 * 366 * 86_400;
/** A duration in seconds, from one second to ten years. */
export const seconds = z
  .number()
  .int()
  .positive()
  .max(LONGEST_SECONDS, `use at most ${LONGEST_SECONDS} seconds (ten years)`);
export const text = z.string().min(1);
/** Switches, by their default. */
export const off = z.boolean().default(false);
export const on = z.boolean().default(true);
/**
 * An object, a list or a record that the file can leave out. Every member of a section has a default, which the type of `{}` cannot show
 * for all shapes.
 */
export const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape).prefault({} as never);
/** An object whose author learns the names that it can have. */
export const named = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? `use ${Object.keys(shape).join(', ')}` : undefined),
  });

export const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).default([]);
export const recordOf = <Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(key: Key, value: Value) =>
  z.record(key, value).default({} as never);
/** A name that fits into paths, variables and tokens. */
export const plainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'use letters, digits, dot, dash and underscore, at most 63');
/** The same in lower case only. */
export const lowerCaseName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'use lower-case letters, digits, dot, dash and underscore, at most 63');
/** @see RFC 6749, section 3.3 */
export const scope = z
  .string()
  .regex(/^[\u0021\u0023-\u005B\u005D-\u007E]+$/, 'use printable characters without blanks and quotes');

/** An address range: `10.0.0.0/8`. */
export const network = z.string().refine((text) => {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}, 'use an address, a slash and a prefix length, such as 10.0.0.0/8');

/** Whether this machine knows a time zone by this IANA name. */
export function isTimeZone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The secret itself, or a file that holds it. The file is read at each use. */
export const secret = z.union([z.string(), z.strictObject({ file: text })]);

/** Whether no third party can answer or listen at this address. Services there issue identities or receive confidential data. */
export const isTrustworthy = (url: string) =>
  /^https:/i.test(url) || (URL.canParse(url) && isLoopbackHttp(new URL(url)));
export const NOT_TRUSTWORTHY = 'use https; http is allowed only to this machine';
export const trustworthyUrl = z.url().refine(isTrustworthy, NOT_TRUSTWORTHY);

/** How Countersign treats senders that are not authenticated yet: it knows only their addresses. */
export const addressSettings = section({
  trustedProxies: listOf(
    z.string().refine(isNetwork, 'use an address, a network such as 10.0.0.0/8, or a name such as "loopback"'),
  ).describe(
    'Addresses and networks of your reverse proxies, or `loopback` for proxies on the same machine. Countersign believes ' +
      '`X-Forwarded-For` only from these. Without it, all clients behind one proxy share one address.',
  ),
  maxUnknownPerSecond: count
    .default(1_000)
    .describe(
      'Requests per second without a valid credential that each port accepts from one address. The server answers further ' +
        'requests with HTTP 429.',
    ),
}).describe('How Countersign tells client addresses apart before a client has authenticated.');

export type AddressSettings = z.infer<typeof addressSettings>;

function isNetwork(name: string): boolean {
  try {
    proxyAddr.compile(name);
    return true;
  } catch {
    return false;
  }
}
