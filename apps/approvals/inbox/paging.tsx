import type { Request } from 'express';
import * as z from 'zod';
import { readCursor, writeCursor } from '../../shared/http/list-cursor.ts';
import type { Page } from '../stores/lists.ts';

const TABS = [
  ['yours', '/requests?status=yours', 'Yours to decide'],
  ['pending', '/requests', 'Open'],
  ['ended', '/requests?status=ended', 'Ended'],
  ['delegations', '/delegations', 'Out of office'],
] as const;

/** Where one is in the inbox, and where else one can go. */
export function InboxTabs({ current }: { current: (typeof TABS)[number][0] }) {
  return (
    <nav class="tabs" aria-label="Parts of the inbox">
      {TABS.map(([name, href, label]) => (
        <a key={name} href={href} {...(name === current && { 'aria-current': 'page' })}>
          {label}
        </a>
      ))}
    </nav>
  );
}

/** The parameter of an address that says where a list goes on. */
export const cursorParameter = z
  .string()
  .transform((text, context) => {
    const cursor = readCursor(text);
    if (cursor === undefined) context.addIssue({ code: 'custom', message: 'is none that this service gave out' });
    return cursor ?? z.NEVER;
  })
  .optional();

type Neighbours = Pick<Page<unknown>, 'next' | 'previous'>;

/** The cursors of a page for programs: `nextCursor` and `previousCursor`, or with the name of the list between the words. */
export function cursorsOf({ next, previous }: Neighbours, list = ''): Record<string, string> {
  return {
    ...(next && { [`next${list}Cursor`]: writeCursor(next) }),
    ...(previous && { [`previous${list}Cursor`]: writeCursor(previous) }),
  };
}

interface PageLinksProps {
  readonly page: Neighbours;
  /** What is in the list, for those who hear the page. */
  readonly of: string;
  readonly path: string;
  /** Every parameter of the address. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** The one that says where this list goes on. */
  readonly name: string;
}

/** The ways to the pages beside this one; nothing when there are none. */
export function PageLinks({ page: { next, previous }, of, path, parameters, name }: PageLinksProps) {
  if (next === undefined && previous === undefined) return null;
  const to = (cursor: NonNullable<typeof next>) => addressOf(path, { ...parameters, [name]: writeCursor(cursor) });
  return (
    <nav class="pages" aria-label={`Pages of ${of}`}>
      {previous && (
        <a class="button quiet" rel="prev" href={to(previous)}>
          ← Previous
        </a>
      )}
      {next && (
        <a class="button quiet" rel="next" href={to(next)}>
          Next →
        </a>
      )}
    </nav>
  );
}

/** Those of the named parameters that an address has, once they were read: each is one text. */
export const given = (
  { query }: Pick<Request, 'query'>,
  names: readonly string[],
): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, query[name] as string | undefined]));

/** A local address with those parameters that have a value. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
