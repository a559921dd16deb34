import type { Request } from 'express';
import { addressOf, writeCursor } from '../../shared/http/list-cursor.ts';
import type { Page } from '../../shared/database/pages.ts';
import { isOverseer, type Voter } from './authenticate.ts';

const TABS = [
  ['yours', '/requests?status=yours', 'Yours to decide'],
  ['pending', '/requests', 'Open'],
  ['ended', '/requests?status=ended', 'Ended'],
  ['grants', '/grants', 'Grants'],
  ['delegations', '/delegations', 'Out of office'],
  ['passkeys', '/passkeys', 'Passkeys'],
  ['figures', '/figures', 'Figures'],
] as const;

interface InboxTabsProps {
  readonly current: (typeof TABS)[number][0];
  readonly visitor: Pick<Voter, 'roles' | 'via'>;
}

/** The parts of the inbox that the visitor can open. */
export function InboxTabs({ current, visitor }: InboxTabsProps) {
  return (
    <nav class="tabs" aria-label="Parts of the inbox">
      {TABS.filter(([name]) => name !== 'figures' || isOverseer(visitor)).map(([name, href, label]) => (
        <a key={name} href={href} {...(name === current && { 'aria-current': 'page' })}>
          {label}
        </a>
      ))}
    </nav>
  );
}

type Neighbours = Pick<Page<unknown>, 'next' | 'previous'>;

/** The cursors of a page in JSON: `nextCursor` and `previousCursor`, or with the list's name, `nextMadeCursor`. */
export function cursorsOf({ next, previous }: Neighbours, list = ''): Record<string, string> {
  return {
    ...(next && { [`next${list}Cursor`]: writeCursor(next) }),
    ...(previous && { [`previous${list}Cursor`]: writeCursor(previous) }),
  };
}

interface PageLinksProps {
  readonly page: Neighbours;
  /** Names the list for screen readers. */
  readonly of: string;
  readonly path: string;
  /** All query parameters of the page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** The query parameter with this list's cursor. */
  readonly name: string;
}

/** Links to the previous and the next page, if there are any. */
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

/** The named query parameters. Expects a query that was validated: each is one string. */
export const given = (
  { query }: Pick<Request, 'query'>,
  names: readonly string[],
): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, query[name] as string | undefined]));

/** A number of requests in words. */
export const requestsIn = (count: number): string =>
  count === 1 ? '1 request' : `${count.toLocaleString('en')} requests`;
