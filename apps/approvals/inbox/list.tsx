import type { Request, Response } from 'express';
import * as z from 'zod';
import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { addressOf, cursorParameter, type Order, ORDERS } from '../../shared/http/list-cursor.ts';
import { Page, renderPage, type SignedIn, Time } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import { LIST_CHOICES, type ListChoice } from '../listing.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import type { Page as PageOf } from '../../shared/database/pages.ts';
import type { RequestPage } from '../stores/lists.ts';
import { type Voter, voterOf } from './authenticate.ts';
import { Unreviewed } from './emergency.tsx';
import { cursorsOf, given, InboxTabs, PageLinks } from './paging.tsx';
import { type InboxHttp, namesOf, readerRowOf, seatOf } from './seat.ts';
import { stageView, StatusBadge, summaryView } from './view.tsx';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
/** Emergency grants are listed above the requests and have to leave room for them. */
const UNREVIEWED_LIMIT = 20;

const listQuery = z.object({
  /** `yours`: pending requests that the visitor may decide. */
  status: z.enum(LIST_CHOICES).default('pending'),
  /** Default: `oldest` for open requests, `newest` for ended ones. */
  order: z.enum(ORDERS).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  cursor: cursorParameter.optional(),
  unreviewedCursor: cursorParameter.optional(),
});

/** `GET /requests`: a page of the requests that the visitor may read. */
export function list(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const { status, cursor, unreviewedCursor, limit, ...query } = readQuery(request);
    const isOpen = status === 'pending' || status === 'yours';
    const order = query.order ?? (isOpen ? 'oldest' : 'newest');
    const visitor = voterOf(response);
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

interface RequestListProps {
  readonly page: RequestPage;
  /** Emergency grants without a review. */
  readonly unreviewed: PageOf<BrokenGlass> & { readonly count: number };
  readonly status: ListChoice;
  readonly order: Order;
  /** Query parameters of this page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly person: SignedIn;
  readonly visitor: Voter;
}

const TITLES = { yours: 'Yours to decide', pending: 'Open requests', ended: 'Ended requests' } as const;

const ORDER = { oldest: 'Oldest', newest: 'Newest' } as const satisfies Record<Order, string>;

const EMPTY = {
  yours: ['Nothing is waiting for you', 'When an agent makes a call that you can decide, it appears here.'],
  pending: ['Nothing is waiting', 'When a call needs approval and you can see it, it appears here.'],
  ended: ['Nothing has ended yet', 'Requests that were approved, denied or cancelled, or that expired, appear here.'],
} as const;

/** The inbox: requests that wait for a decision, or that have ended. */
function RequestList(props: RequestListProps) {
  const { page, unreviewed, status, person, visitor, parameters } = props;
  const which = status === 'pending' || status === 'yours' ? status : 'ended';
  return (
    <Page title={TITLES[which]} section="Approvals" person={person}>
      <div class="title-row">
        <h1>Requests</h1>
        <InboxTabs current={which} />
      </div>
      <Unreviewed unreviewed={unreviewed} parameters={parameters} />
      {page.rows.length === 0 ? (
        <Empty which={which} />
      ) : (
        <>
          <Extent {...props} />
          <ul class="rows">
            {page.rows.map((request) => (
              <Row key={request.id} request={request} isOwn={partIn(request, namesOf(visitor)) === 'own_request'} />
            ))}
          </ul>
          <PageLinks page={page} of="requests" path="/requests" parameters={parameters} name="cursor" />
        </>
      )}
    </Page>
  );
}

function Extent({ page: { count }, status, order, parameters }: RequestListProps) {
  const other = order === 'oldest' ? 'newest' : 'oldest';
  const many = count === 1 ? '1 request' : `${count?.toLocaleString('en')} requests`;
  return (
    <p class="soft extent">
      {count !== undefined && `${many} ${status === 'yours' ? 'for you to decide' : 'open'}. `}
      {ORDER[order]} first.{' '}
      <a href={addressOf('/requests', { ...parameters, cursor: undefined, order: other })}>{ORDER[other]} first</a>
    </p>
  );
}

function Empty({ which }: { which: keyof typeof EMPTY }) {
  return (
    <div class="card empty">
      <h2>{EMPTY[which][0]}</h2>
      <p>{EMPTY[which][1]}</p>
    </div>
  );
}

function Row({ request, isOwn }: { request: AccessRequestSummary; isOwn: boolean }) {
  const { id, tool, title, requester, status, endedAt, bundle } = request;
  return (
    <li>
      <div>
        <a class="row-title" href={`/requests/${id}`}>
          <Code text={tool} />
        </a>
        {isOwn && <span class="badge row-own">yours: another approver decides</span>}
      </div>
      <div class="row-note">
        {title !== undefined && (
          <>
            <Visible text={title} />
            {' · '}
          </>
        )}
        asked by <Visible text={requester.subject} />
        {requester.clientId !== undefined && requester.clientId !== requester.subject && (
          <>
            {' through '}
            <Visible text={requester.clientId} />
          </>
        )}
        {bundle !== undefined && (
          <>
            {' · '}item {bundle.position} of {bundle.size} in <Code text={bundle.id} />
          </>
        )}
      </div>
      <div class="row-side">
        {endedAt === undefined ? (
          <Waiting request={request} />
        ) : (
          <>
            <StatusBadge status={status} />
            <Time at={endedAt} />
          </>
        )}
      </div>
    </li>
  );
}

/** The earlier deadline, of the stage or of the request. */
function endOf({ expiresAt, stageEndsAt = expiresAt }: AccessRequestSummary): string {
  return stageEndsAt < expiresAt ? stageEndsAt : expiresAt;
}

function Waiting({ request }: { request: AccessRequestSummary }) {
  const { createdAt, remindedAt } = request;
  const stage = stageView(request);
  return (
    <>
      <span>
        asked <Time at={createdAt} />
      </span>
      {remindedAt !== undefined && (
        <span>
          <span class="between">, </span>reminded <Time at={remindedAt} />
        </span>
      )}
      <span>
        <span class="between">, </span>ends <Time at={endOf(request)} />
      </span>
      <span>
        <span class="between">, </span>
        {stage.approvals} of {stage.quorum} approvals{stage.of > 1 && ` in stage ${stage.position} of ${stage.of}`}
      </span>
    </>
  );
}
