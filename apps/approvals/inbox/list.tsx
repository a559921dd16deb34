import type { Request, Response } from 'express';
import { namesAtIssuer } from '../../../workflows/domain/access-request/eligibility.ts';
import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { LIST_CHOICES, REQUEST_ORDERS } from '../listing.ts';
import type { AskedRequests } from '../stores/requester-questions.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import { voterOf } from './authenticate.ts';
import { whyLeftOut } from './batch.tsx';
import { renderNamed } from './names.tsx';
import { RequestList } from './list-page.tsx';
import { DEFAULT_LIMIT, listed, type ListQuery, listQuery, MAX_LIMIT } from './list-query.ts';
import { filling, isGathered } from './rows.tsx';
import type { RequestPage } from '../stores/lists.ts';
import { personOf } from './person.ts';
import { cursorsOf, given } from './paging.tsx';
import { type InboxHttp, readerRowOf, seatOf } from './seat.ts';
import { summaryView } from './view.tsx';

/** Emergency grants are listed above the requests and have to leave room for them. */
const UNREVIEWED_LIMIT = 20;
/** The same holds for requests with questions to the visitor. */
const QUESTIONS_LIMIT = 10;
/** A program is no requester who can answer. */
const NO_QUESTIONS: AskedRequests = { rows: [], count: 0 };

/** `GET /requests`: a page of the requests that the visitor may read. */
export function list(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const query = readQuery(request);
    const { cursor, unreviewedCursor, questionsCursor } = query;
    const { choice: status, order, filter } = listed(query);
    const isOpen = status === 'pending' || status === 'yours';
    const visitor = voterOf(response);
    const seat = await seatOf(http, visitor);
    const reader = readerRowOf(seat);
    const [page, unreviewed, kinds, questions] = await Promise.all([
      pageOf(http, { choice: status, order, filter, reader }, { query, isFilled: wantsPage(request) && isOpen }),
      http.brokenGlass.unreviewed(reader, { cursor: unreviewedCursor, limit: UNREVIEWED_LIMIT }),
      isOpen && wantsPage(request) ? http.store.kinds(status, reader) : [],
      visitor.via === 'agent'
        ? NO_QUESTIONS
        : http.store.askedOf(
            { issuer: visitor.issuer, names: namesAtIssuer(visitor) },
            { cursor: questionsCursor, limit: QUESTIONS_LIMIT },
          ),
    ]);
    if (!wantsPage(request)) {
      return void response.json({
        requests: page.rows.map((row) => ({ ...summaryView(row), alike: row.alike })),
        count: page.count,
        ...cursorsOf(page),
        /** The visitor's own requests whose approvers wait for an answer. */
        questions: questions.rows,
        questionsCount: questions.count,
        ...cursorsOf(questions, 'Questions'),
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
    const person = personOf(http, request, visitor);
    const shown = { page, questions, unreviewed, kinds, status, order, filter, parameters, visitor, person };
    const canTogether = (one: AccessRequestSummary) => whyLeftOut({ request: one, seat }) === undefined;
    const list = <RequestList {...shown} summaries={http.summaries} canTogether={canTogether} />;
    response.send(renderNamed(http, list));
  };
}

type Listing = Parameters<InboxHttp['store']['list']>[0];

/**
 * A page of the list. A page for people has so many requests that it is filled with rows, although many of one kind have one: agents that
 * ask for much would leave it almost empty.
 */
async function pageOf(
  { store }: Pick<InboxHttp, 'store'>,
  listing: Listing,
  { query: { cursor, limit }, isFilled }: { readonly query: ListQuery; readonly isFilled: boolean },
): Promise<RequestPage> {
  if (!isFilled || limit !== undefined || cursor?.towards === 'previous' || !isGathered(listing.filter)) {
    return store.list(listing, { cursor, limit: limit ?? DEFAULT_LIMIT });
  }
  const most = await store.list(listing, { cursor, limit: MAX_LIMIT });
  const filled = filling(most.rows, DEFAULT_LIMIT);
  return filled === most.rows.length ? most : store.list(listing, { cursor, limit: filled });
}

function readQuery(request: Request): ListQuery {
  const query = listQuery.safeParse(request.query);
  if (query.success) return query.data;
  const link = { href: '/requests', label: 'To the open requests' };
  const isStatus = query.error.issues.some(({ path }) => path[0] === 'status');
  if (isStatus) throw new Refusal(400, 'There is no such status', `Use one of: ${LIST_CHOICES.join(', ')}.`, link);
  throw new Refusal(
    400,
    'There is no such page',
    `Start again without a cursor; limit is between 1 and ${MAX_LIMIT}, order is ${REQUEST_ORDERS.join(', ')}, effect is ${EFFECTS.join(', ')}.`,
    link,
  );
}
