import type { Request, Response } from 'express';
import * as z from 'zod';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { ORDERS } from '../../shared/http/list-cursor.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { LIST_CHOICES } from '../listing.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { BreakGlassStore } from '../stores/break-glass.store.ts';
import { voterOf } from './authenticate.ts';
import { RequestList } from './list-page.tsx';
import { addressOf, cursorParameter, cursorsOf, given } from './paging.tsx';
import { readerRowOf, type ReadingHttp, seatOf } from './seat.ts';
import { summaryView } from './view.tsx';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
/** Emergency grants are listed above the requests and have to leave room for them. */
const UNREVIEWED_LIMIT = 20;

export interface ListHttp extends ReadingHttp {
  readonly store: Pick<AccessRequestStore, 'find' | 'list'>;
  readonly brokenGlass: Pick<BreakGlassStore, 'find' | 'unreviewed'>;
}

const listQuery = z.object({
  /** `yours`: pending requests that the visitor may decide. */
  status: z.enum(LIST_CHOICES).default('pending'),
  /** Default: `oldest` for open requests, `newest` for ended ones. */
  order: z.enum(ORDERS).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  cursor: cursorParameter,
  unreviewedCursor: cursorParameter,
});

/** `GET /requests`: a page of the requests that the visitor may read. */
export function list(http: ListHttp) {
  return async (request: Request, response: Response) => {
    const { status, cursor, unreviewedCursor, limit, ...query } = readQuery(request);
    const isOpen = status === 'pending' || status === 'yours';
    const order = query.order ?? (isOpen ? 'oldest' : 'newest');
    const visitor = voterOf(request, response);
    const reader = readerRowOf(await seatOf(http, visitor));
    const [page, unreviewed] = await Promise.all([
      http.store.list({ choice: status, order, reader }, { cursor, limit }),
      http.brokenGlass.unreviewed(reader, { cursor: unreviewedCursor, limit: UNREVIEWED_LIMIT }),
    ]);
    if (!wantsPage(request)) {
      return void response.json({
        requests: page.rows.map(summaryView),
        count: page.count,
        ...cursorsOf(page),
        unreviewed: unreviewed.rows,
        unreviewedCount: unreviewed.count,
        ...cursorsOf(unreviewed, 'Unreviewed'),
      });
    }
    const parameters = { ...given(request, Object.keys(listQuery.shape)), status };
    // The requests on this page have been decided meanwhile.
    if (cursor !== undefined && page.rows.length === 0) {
      return response.redirect(303, addressOf('/requests', { ...parameters, cursor: undefined }));
    }
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    const shown = { page, unreviewed, status, order, parameters, visitor, person };
    response.send(renderPage(<RequestList {...shown} />, http.clock.now()));
  };
}

function readQuery(request: Request): z.infer<typeof listQuery> {
  const query = listQuery.safeParse(request.query);
  if (query.success) return query.data;
  const link = { href: '/requests', label: 'To the open requests' };
  const isStatus = query.error.issues.some(({ path }) => path[0] === 'status');
  if (isStatus) throw new Refusal(400, 'There is no such status', `Use one of: ${LIST_CHOICES.join(', ')}.`, link);
  throw new Refusal(
    400,
    'There is no such page',
    `Start again without a cursor; limit is between 1 and ${MAX_LIMIT}, order is ${ORDERS.join(' or ')}.`,
    link,
  );
}
