import * as z from 'zod';

/** In characters, as the browser counts them. */
export const LONGEST_TEXT = 2_000;

/** Text of a form field. Browsers count a line break as one character but send two. */
export const typedText = z
  .string()
  .transform((text) => text.replaceAll('\r\n', '\n'))
  .pipe(z.string().max(LONGEST_TEXT));
