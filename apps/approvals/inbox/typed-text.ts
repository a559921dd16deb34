import * as z from 'zod';

/** The longest text of a form, as its field counts. */
export const LONGEST_TEXT = 2_000;

/** What was typed into a form. Browsers count a line break as one character, and send it as two. */
export const typedText = z
  .string()
  .transform((text) => text.replaceAll('\r\n', '\n'))
  .pipe(z.string().max(LONGEST_TEXT));
