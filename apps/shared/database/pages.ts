import type { QueryResultRow } from 'pg';
import type { Cursor, Order, Position } from '../http/list-cursor.ts';
import { inUtc } from './function-call.ts';
import { one, type Query } from './query.ts';

/** A list of rows, sorted by an instant and then by id. */
export interface Listing {
  /** Name of its prepared statements. Absent: they differ each time. */
  readonly name?: string;
  readonly columns: string;
  /** `FROM … WHERE …`: the rows of the list. */
  readonly from: string;
  /** Expressions for the instant and the id. */
  readonly at: string;
  readonly id: string;
  readonly order: Order;
  /** Values for the parameters in `columns` and `from`. */
  readonly values: readonly unknown[];
}

export interface PageRequest {
  readonly cursor?: Cursor | undefined;
  readonly limit: number;
}

/** Rows in the order of their list. A cursor is present when there are rows on its side. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next?: Cursor;
  readonly previous?: Cursor;
}

interface Place {
  readonly placed_at: string;
  readonly placed_id: string;
}

const SORT = {
  oldest: { start: '-infinity', beyond: '>', direction: 'ASC', reversed: 'newest' },
  newest: { start: 'infinity', beyond: '<', direction: 'DESC', reversed: 'oldest' },
} as const;

/**
 * Reads a page from a row and not from an offset, so that concurrent inserts and deletes neither hide nor repeat rows. An empty page
 * has no cursors: its reader starts again without one.
 */
export async function readPage<Row extends QueryResultRow>(
  query: Query,
  listing: Listing,
  { cursor, limit }: PageRequest,
): Promise<Page<Row>> {
  const isBackward = cursor?.towards === 'previous';
  const order = isBackward ? SORT[listing.order].reversed : listing.order;
  // One extra row tells whether there is another page.
  const found = await beyond<Row & Place>(query, { ...listing, order }, { from: cursor, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const isMore = found.length > limit;
  // No row is before these: this is the first page, which is read again as a whole one.
  if (isBackward && !isMore) return readPage(query, listing, { limit });
  if (isBackward) rows.reverse();
  const [first, last] = [rows.at(0), rows.at(-1)];
  if (first === undefined || last === undefined) return { rows: [] };
  const isBehind = cursor !== undefined && (await isFollowed(query, listing, isBackward ? last : first, isBackward));
  const [hasPrevious, hasNext] = isBackward ? [true, isBehind] : [isBehind, isMore];
  return {
    rows: rows.map(({ placed_at: _at, placed_id: _id, ...row }) => row as unknown as Row),
    ...(hasPrevious && { previous: { towards: 'previous', ...positionOf(first) } }),
    ...(hasNext && { next: { towards: 'next', ...positionOf(last) } }),
  };
}

const positionOf = ({ placed_at: at, placed_id: id }: Place): Position => ({ at, id });

/** Whether there are rows after this one (`inOrder`) or before it. */
async function isFollowed(query: Query, listing: Listing, row: Place, inOrder: boolean): Promise<boolean> {
  const order = inOrder ? listing.order : SORT[listing.order].reversed;
  return (await beyond(query, { ...listing, columns: 'NULL', order }, { from: positionOf(row), limit: 1 })).length > 0;
}

function beyond<Row extends QueryResultRow>(
  query: Query,
  { name, columns, from, at, id, order, values }: Listing,
  bounds: { readonly from: Position | undefined; readonly limit: number },
): Promise<Row[]> {
  const sort = SORT[order];
  const [place, tie, limit] = [1, 2, 3].map((more) => `$${values.length + more}`);
  return query<Row>(
    name && `${name}-${order}${columns === 'NULL' ? '-any' : ''}`,
    `SELECT ${columns}, ${inUtc(at)} AS placed_at, ${id} AS placed_id ${from} AND (${at}, ${id}) ${sort.beyond} (${place}::timestamptz, ${tie})
     ORDER BY ${at} ${sort.direction}, ${id} ${sort.direction} LIMIT ${limit}`,
    [...values, bounds.from?.at ?? sort.start, bounds.from?.id ?? '', bounds.limit],
  );
}

/** What is around a position of a list, whether or not a row is there. */
export interface Around<Row> {
  readonly previous?: Row;
  readonly next?: Row;
  /** Whether a row is at the position. */
  readonly isThere: boolean;
  /** Rows before the position, and rows of the list. */
  readonly before: number;
  readonly count: number;
}

export async function readAround<Row extends QueryResultRow>(
  query: Query,
  listing: Listing,
  from: Position,
): Promise<Around<Row>> {
  const reversed = SORT[listing.order].reversed;
  const [next] = await beyond<Row & Place>(query, listing, { from, limit: 1 });
  const [previous] = await beyond<Row & Place>(query, { ...listing, order: reversed }, { from, limit: 1 });
  const { name, at, id, values } = listing;
  const [place, tie] = [1, 2].map((more) => `$${values.length + more}`);
  const text = `SELECT count(*)::int AS count, coalesce(bool_or(${id} = ${tie}), false) AS "isThere",
      count(*) FILTER (WHERE (${at}, ${id}) ${SORT[reversed].beyond} (${place}::timestamptz, ${tie}))::int AS before ${listing.from}`;
  const counted = query<Pick<Around<Row>, 'isThere' | 'before' | 'count'>>(
    name && `${name}-${listing.order}-around`,
    text,
    [...values, from.at, from.id],
  );
  return { ...(previous && { previous }), ...(next && { next }), ...(await one(counted)) };
}

export async function countRows(query: Query, { name, from, values }: Listing): Promise<number> {
  const text = `SELECT count(*)::int AS count ${from}`;
  return (await one(query<{ count: number }>(name && `${name}-count`, text, [...values]))).count;
}
