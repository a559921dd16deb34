import * as z from 'zod';

export const ORDERS = ['oldest', 'newest'] as const;
/** Which end of a list comes first. */
export type Order = (typeof ORDERS)[number];

/** The position of a row in a list that is sorted by an instant and then by id. */
export interface Position {
  /** UTC with microseconds, so that two rows of one millisecond have an order. */
  readonly at: string;
  readonly id: string;
}

/** The list continues with the rows on one side of a position. */
export interface Cursor extends Position {
  readonly towards: 'next' | 'previous';
}

const MAX_LENGTH = 600;
/** Refuses values that no row can have, so that they never reach the database. */
const cursor = z.tuple([
  z.enum(['next', 'previous']),
  z.iso.datetime({ precision: 6 }).refine((text) => text >= '1970'),
  z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
]);

/** The cursor as one opaque word. It grants no access: the rows of a page are filtered for each reader. */
export function writeCursor({ towards, at, id }: Cursor): string {
  return Buffer.from(JSON.stringify([towards, at, id])).toString('base64url');
}

/** A local address with the parameters that have a value. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, `${value}`]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** A query parameter with a cursor. */
export const cursorParameter = z.string().transform((text, context) => {
  const found = readCursor(text);
  if (found === undefined) context.addIssue('this service did not issue it; start again without it');
  return found ?? z.NEVER;
});

/** Undefined for a text that `writeCursor` did not return. */
function readCursor(text: string): Cursor | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    const [towards, at, id] = cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return { towards, at, id };
  } catch {
    return undefined;
  }
}
