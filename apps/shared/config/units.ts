import * as z from 'zod';

export const port = z.number().int().min(1).max(65_535);
/** A duration, at least one second. */
export const seconds = z.number().int().positive();
/** @see RFC 6749, section 3.3 */
export const scope = z
  .string()
  .regex(/^[\u0021\u0023-\u005B\u005D-\u007E]+$/, 'printable characters without blanks and quotes');
