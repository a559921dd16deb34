import { decideBefore } from '../../../workflows/domain/access-request/deadline.ts';
import type { Leaf } from '../../../workflows/domain/access-request/outline.ts';
import { partIn } from '../../../workflows/domain/access-request/parties.ts';
import { Countdown, Time, usePageTime } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import type { ListedRequest } from '../stores/lists.ts';
import { Person } from './names.tsx';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import type { Voter } from './authenticate.ts';
import { useRequestAddress } from './near.tsx';
import { confirmationBy, namesOf } from './seat.ts';
import { AskedBy, EffectBadge, LeafValue, Summary, summaryOf } from './summary.tsx';
import { DECIDED, openingsByOthers, stageView, StatusBadge } from './view.tsx';

interface RowProps {
  readonly request: AccessRequestSummary & Pick<Partial<ListedRequest>, 'emergency'>;
  /** The operator's sentence for calls of this tool. */
  readonly template: string | undefined;
  /** The visitor, whose own request it may be. */
  readonly visitor: Voter;
  /** Whether it can be decided together with others. Undefined where nothing can be selected. */
  readonly select?: 'can' | 'cannot' | undefined;
  /** Other open requests of the same kind, and those in its row that stand out. */
  readonly alike: { readonly others: number; readonly href: string; readonly odd: readonly OddOne[] } | undefined;
}

/** One request in a list, in two lines: what will happen, then who asks and how far it is. */
export function Row({ request, template, visitor, select, alike }: RowProps) {
  const addressOf = useRequestAddress();
  const { id, status, endedAt } = request;
  return (
    <li id={`row-${id}`} data-request={id} data-ended={endedAt !== undefined && ''}>
      {select === 'can' && <Select id={id} isSelected={false} />}
      <a class="row-title" id={`row-${id}-title`} href={addressOf(id)}>
        <Summary parts={summaryOf(request, template)} />
      </a>{' '}
      <span class="row-badges">
        {request.outline !== undefined && <EffectBadge effect={request.effect} />}
        <Own request={request} visitor={visitor} />
      </span>
      <div class="row-note">
        {alike !== undefined && <Alike {...alike} />}
        <Asked request={request} isNamed={template !== undefined} />
        <OpenedBy request={request} visitor={visitor} />
      </div>
      <div class="row-side">
        {endedAt === undefined ? (
          <Waiting request={request} />
        ) : (
          <>
            <How request={request} /> <StatusBadge status={status} /> <Time at={endedAt} />
          </>
        )}
      </div>
    </li>
  );
}

/** A request that stands out among others of its kind: the argument, and why. */
export interface OddOne {
  readonly id: string;
  readonly path: string;
  /** Undefined where it is missing. */
  readonly leaf: Leaf | undefined;
  readonly why: string;
}

/** More do not fit in a line. The table of the kind marks all. */
const ODD_SHOWN = 2;

function Alike({ others, href, odd }: NonNullable<RowProps['alike']>) {
  const addressOf = useRequestAddress();
  return (
    <>
      <a class="row-alike" href={href}>
        {others === 1 ? '1 more like this' : `${others.toLocaleString('en')} more like this`}
      </a>
      {odd.length > 0 && (
        <>
          {' · '}
          <span class="badge warn">{odd.length === 1 ? '1 stands out' : `${odd.length} stand out`}</span>
        </>
      )}
      {odd.slice(0, ODD_SHOWN).map(({ id, path, leaf, why }) => (
        <>
          {' '}
          <a key={id} class="row-alike" href={addressOf(id)} title={why}>
            <Visible text={path} /> {leaf === undefined ? 'missing' : <LeafValue leaf={leaf} />}
          </a>
        </>
      ))}
      {' · '}
    </>
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
      {votes.map(({ approver, castBy, verdict, stage, via, grant }) => (
        <span key={`${stage} ${approver.subject}`}>
          {' · '}
          {DECIDED[verdict]} by <Person subject={castBy ?? approver.subject} isShort />
          {WAYS[via] !== undefined && ` ${WAYS[via]}`}
          {grant !== undefined && (
            <>
              {' '}
              <Code text={grant} />
            </>
          )}
        </span>
      ))}
    </>
  );
}

/** Ways of a vote other than the page of the request. */
const WAYS: Readonly<Partial<Record<VoteChannel, string>>> = {
  ...{ slack: 'in Slack', webhook: 'by webhook', api: 'by a program', agent: '(an agent)' },
  ...{ automatic: '(automatic)', grant: 'by the grant' },
};

/** How a request ended, where its votes do not say it, and what became of its approval as far as this service knows. */
function How({ request: { emergency, approval, cancelled } }: { request: RowProps['request'] }) {
  const now = usePageTime();
  const canceller = cancelled?.subject;
  return (
    <>
      {emergency !== undefined && (
        <span class="badge bad">
          in an emergency, by <Person subject={emergency.by} isShort />
        </span>
      )}
      {canceller !== undefined && (
        <>
          by <Person subject={canceller} isShort />{' '}
        </>
      )}
      {approval !== undefined && ` ${afterApproval(approval, now)}`}
    </>
  );
}

type Approval = NonNullable<AccessRequestSummary['approval']>;

function afterApproval({ fetchedAt, approvedUntil, revoked }: Approval, now: Date): string {
  if (revoked !== undefined) return 'revoked';
  if (fetchedAt !== undefined && fetchedAt < approvedUntil) return 'taken by its client';
  return Date.parse(approvedUntil) <= now.getTime() ? 'not used' : 'not taken yet';
}

/** Other people who look at it, so that two do not do the same work. */
function OpenedBy({ request, visitor }: Pick<RowProps, 'request' | 'visitor'>) {
  return openingsByOthers(request, visitor.subject).map(({ by, at }) => (
    <span class="row-opened" key={by}>
      {' · '}opened by <Person subject={by} isShort /> <Time at={at} />
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
