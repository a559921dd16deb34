import { decideBefore } from '../../../workflows/domain/access-request/deadline.ts';
import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import { Countdown, Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { Voter } from './authenticate.ts';
import { useRequestAddress } from './near.tsx';
import { confirmationBy, namesOf } from './seat.ts';
import { AskedBy, EffectBadge, Summary, summaryOf } from './summary.tsx';
import { DECIDED, openingsByOthers, stageView, StatusBadge } from './view.tsx';

interface RowProps {
  readonly request: AccessRequestSummary;
  /** The operator's sentence for calls of this tool. */
  readonly template: string | undefined;
  /** The visitor, whose own request it may be. */
  readonly visitor: Voter;
  /** Present where several requests can be decided together. */
  readonly select?: true | undefined;
  /** Other open requests of the same kind. */
  readonly alike: { readonly others: number; readonly href: string } | undefined;
}

/** One request in a list, in two lines: what will happen, then who asks and how far it is. */
export function Row({ request, template, visitor, select, alike }: RowProps) {
  const addressOf = useRequestAddress();
  const { id, status, endedAt } = request;
  return (
    <li id={`row-${id}`} data-request={id} data-ended={endedAt !== undefined && ''}>
      {select !== undefined && <Select id={id} isSelected={false} />}
      <a class="row-title" id={`row-${id}-title`} href={addressOf(id)}>
        <Summary parts={summaryOf(request, template)} />
      </a>{' '}
      <span class="row-badges">
        {request.outline !== undefined && <EffectBadge effect={request.effect} />}
        <Own request={request} visitor={visitor} />
      </span>
      <div class="row-note">
        {alike !== undefined && (
          <>
            <a class="row-alike" href={alike.href}>
              {alike.others === 1 ? '1 more like this' : `${alike.others.toLocaleString('en')} more like this`}
            </a>
            {' · '}
          </>
        )}
        <Asked request={request} isNamed={template !== undefined} />
        <OpenedBy request={request} visitor={visitor} />
      </div>
      <div class="row-side">
        {endedAt === undefined ? (
          <Waiting request={request} />
        ) : (
          <>
            <StatusBadge status={status} /> <Time at={endedAt} />
          </>
        )}
      </div>
    </li>
  );
}

/** Marks a request of the visitor's own agent. */
function Own({ request, visitor }: Pick<RowProps, 'request' | 'visitor'>) {
  if (partIn(request, namesOf(visitor)) !== 'own_request') return null;
  const confirms = confirmationBy({ visitor }, request) !== undefined;
  return <span class="badge row-own">{confirms ? 'your agent' : 'yours: another approver decides'}</span>;
}

/** Selects a request, to be decided together with others. */
export function Select({ id, isSelected }: { id: string; isSelected: boolean }) {
  return (
    <label class="row-select">
      <span class="unseen">Select this request</span>
      <input
        type="checkbox"
        form="batch"
        name="id"
        value={id}
        checked={isSelected}
        aria-describedby={`row-${id}-title`}
      />
    </label>
  );
}

/** Who asks, and why it needs approval. */
function Asked({ request, isNamed }: { request: AccessRequestSummary; isNamed: boolean }) {
  const { tool, title, requester, bundle, votes, createdAt, remindedAt } = request;
  return (
    <>
      <AskedBy requester={requester} /> <Time at={createdAt} />
      {remindedAt !== undefined && (
        <>
          , reminded <Time at={remindedAt} />
        </>
      )}
      {isNamed && (
        <>
          {' · '}
          <Code text={tool} />
        </>
      )}
      {title !== undefined && (
        <>
          {' · '}
          <Visible text={title} />
        </>
      )}
      {bundle !== undefined && (
        <>
          {' · '}item {bundle.position} of {bundle.size} in <Code text={bundle.id} />
        </>
      )}
      {votes.map(({ approver, castBy, verdict, stage }) => (
        <span key={`${stage} ${approver.subject}`}>
          {' · '}
          {DECIDED[verdict]} by <Visible text={castBy ?? approver.subject} />
        </span>
      ))}
    </>
  );
}

/** Other people who look at it, so that two do not do the same work. */
function OpenedBy({ request, visitor }: Pick<RowProps, 'request' | 'visitor'>) {
  return openingsByOthers(request, visitor.subject).map(({ by, at }) => (
    <span class="row-opened" key={by}>
      {' · '}opened by <Visible text={by} /> <Time at={at} />
    </span>
  ));
}

/** The deadline, and how far the request is if more than one person has to agree. */
function Waiting({ request }: { request: AccessRequestSummary }) {
  const { approvals, quorum, position, of } = stageView(request);
  return (
    <>
      ends <Countdown to={decideBefore(request)} />
      {(quorum > 1 || of > 1) && `, ${approvals} of ${quorum} approvals`}
      {of > 1 && ` in stage ${position} of ${of}`}
    </>
  );
}
