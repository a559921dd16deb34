import { ineligibilityOf } from '../../../workflows/domain/access-request/eligibility.ts';
import { Page, type SignedIn } from '../../shared/pages/layout.tsx';
import { Time } from '../../shared/pages/time.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { Visitor } from './authenticate.ts';
import { StatusBadge } from './words.tsx';

export interface RequestListProps {
  readonly requests: readonly AccessRequestSummary[];
  readonly which: 'pending' | 'ended';
  /** The most that are shown. */
  readonly limit: number;
  readonly person: SignedIn;
  readonly visitor: Visitor;
}

/** The inbox: what waits for a decision, or what came of the rest. */
export function RequestList({ requests, which, limit, person, visitor }: RequestListProps) {
  return (
    <Page title={which === 'pending' ? 'Open requests' : 'Ended requests'} section="Approvals" person={person}>
      <div class="title-row">
        <h1>Requests</h1>
        <nav class="tabs" aria-label="Which requests">
          <Tab href="/requests" label="Open" current={which === 'pending'} />
          <Tab href="/requests?status=ended" label="Ended" current={which === 'ended'} />
        </nav>
      </div>
      {requests.length === 0 ? (
        <Empty which={which} />
      ) : (
        <ul class="rows">
          {requests.map((request) => (
            <Row
              key={request.id}
              request={request}
              isOwn={ineligibilityOf(visitor, request.requester) === 'own_request'}
            />
          ))}
        </ul>
      )}
      {requests.length === limit && (
        <p class="soft">
          These are the first {limit}.{' '}
          {which === 'pending' ? 'More appear as these are decided.' : 'Older ones are not shown.'}
        </p>
      )}
    </Page>
  );
}

function Tab({ href, label, current }: { href: string; label: string; current: boolean }) {
  return (
    <a href={href} {...(current && { 'aria-current': 'page' })}>
      {label}
    </a>
  );
}

function Empty({ which }: { which: 'pending' | 'ended' }) {
  return (
    <div class="card empty">
      <h2>{which === 'pending' ? 'Nothing waits for you' : 'Nothing has ended yet'}</h2>
      <p>
        {which === 'pending'
          ? 'When an agent makes a call that needs an approval, it appears here.'
          : 'Requests that were approved, denied, cancelled or left to expire appear here.'}
      </p>
    </div>
  );
}

function Row({ request, isOwn }: { request: AccessRequestSummary; isOwn: boolean }) {
  const { id, tool, title, requester, status, createdAt, expiresAt, endedAt } = request;
  return (
    <li>
      <div>
        <a class="row-title" href={`/requests/${id}`}>
          <Code text={tool} />
        </a>
        {isOwn && <span class="badge row-own">yours: somebody else decides</span>}
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
      </div>
      <div class="row-side">
        {endedAt === undefined ? (
          <>
            <span>
              asked <Time at={createdAt} />
            </span>
            <span>
              <span class="between">, </span>ends <Time at={expiresAt} />
            </span>
          </>
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
