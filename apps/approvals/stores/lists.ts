import type { Order } from '../../shared/http/list-cursor.ts';
import type { ListChoice, ReaderRow } from '../listing.ts';
import {
  FROM_ACCESS_REQUESTS,
  SUMMARY_COLUMNS,
  summaryFrom,
  type AccessRequestRow,
  type AccessRequestSummary,
} from './access-request.row.ts';
import { countRows, readPage, type Listing, type Page, type PageRequest } from './keyset.ts';
import type { Query } from './query.ts';
import { whereListed } from './readable.ts';

/** Which requests are listed, to whom, and which of them first. */
export interface RequestListing {
  readonly choice: ListChoice;
  readonly order: Order;
  readonly reader: ReaderRow;
}

const isOpen = (choice: ListChoice) => choice === 'pending' || choice === 'yours';

/** Lists of access requests: open ones by when they were opened, ended ones by when they ended. */
export function lists(query: Query) {
  const listingOf = ({ choice, order, reader }: RequestListing): Listing => ({
    name: `list-${choice}`,
    columns: SUMMARY_COLUMNS,
    from: `${FROM_ACCESS_REQUESTS}${whereListed(choice)}`,
    at: isOpen(choice) ? 'r.created_at' : 'r.ended_at',
    id: 'r.id',
    order,
    values: [reader],
  });
  return {
    /** A page of the list; of open requests also how many there are. Deadlines that have passed are carried out before. */
    async list(listing: RequestListing, page: PageRequest): Promise<RequestPage> {
      await query('carry-out-due', 'SELECT count(*) FROM approvals.carry_out_due(1000)');
      const listed = listingOf(listing);
      const { rows, ...rest } = await readPage<AccessRequestRow>(query, listed, page);
      const count = isOpen(listing.choice) ? await countRows(query, listed) : undefined;
      return { ...rest, rows: rows.map(summaryFrom), ...(count !== undefined && { count }) };
    },
  };
}

export type RequestPage = Page<AccessRequestSummary> & { readonly count?: number };
