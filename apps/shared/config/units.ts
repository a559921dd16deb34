import * as z from 'zod';
import { isLoopbackHttp } from '../http/loopback.ts';

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
