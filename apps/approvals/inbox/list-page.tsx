import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import type { Order } from '../../shared/http/list-cursor.ts';
import { Page, type SignedIn, Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { ListChoice } from '../listing.ts';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import type { Page as PageOf, RequestPage } from '../stores/lists.ts';
import { addressOf, InboxTabs, PageLinks } from './paging.tsx';
import { Unreviewed } from './emergency.tsx';
import type { Voter } from './authenticate.ts';
import { namesOf } from './seat.ts';
import { stageView, StatusBadge } from './view.tsx';

export interface RequestListProps {
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
export function RequestList(props: RequestListProps) {
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
