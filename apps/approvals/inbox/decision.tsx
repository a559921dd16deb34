import { isEnded, type AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { tally } from '../../../workflows/domain/access-request/quorum.ts';
import { resolutionOf } from '../../../workflows/domain/access-request/resolution.ts';
import { Time } from '../../shared/pages/time.tsx';
import type { Visitor } from './authenticate.ts';
import { obstacleTo, ownVote, type Obstacle } from './view.ts';
import { DECIDED, ENDED } from './words.tsx';

export interface StandingProps {
  readonly request: AccessRequest;
  readonly visitor: Visitor;
}

/**
 * What stands between the visitor and a decision, if anything does: theirs, an end, or that they may not. It comes from
 * the stored request alone, never from the address.
 */
export function Standing({ request, visitor }: StandingProps) {
  const vote = ownVote(visitor, request);
  if (vote !== undefined) return <Confirmation request={request} verdict={vote.verdict} at={vote.at} />;
  const obstacle = obstacleTo(visitor, request);
  return obstacle === undefined ? null : <NotYours request={request} obstacle={obstacle} />;
}

/** The form with which the visitor decides; nothing when they cannot. */
export function DecisionForm({ request, visitor, csrfToken }: StandingProps & { readonly csrfToken: string }) {
  if (obstacleTo(visitor, request) !== undefined) return null;
  return (
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">Your decision</h2>
      <form class="decision" method="post" action={`/requests/${request.id}/votes`} data-decides>
        <input type="hidden" name="csrfToken" value={csrfToken} />
        <input type="hidden" name="callDigest" value={request.callDigest} />
        <input type="hidden" name="generation" value={String(request.generation)} />
        <div>
          <label for="reason">Reason</label>
          <textarea id="reason" name="reason" maxLength={2_000} aria-describedby="reason-hint" />
          <p class="hint" id="reason-hint">
            Optional. Kept on record with your name; the agent does not see it.
          </p>
        </div>
        <div class="decision-buttons">
          <button class="approve" type="submit" name="verdict" value="approve">
            Approve
          </button>
          <button class="deny" type="submit" name="verdict" value="deny">
            Deny
          </button>
        </div>
        <p class="hint" data-unread hidden>
          Scroll to the end of the call to approve it.
        </p>
        <p class="hint">{consequence(request, visitor)}</p>
      </form>
    </section>
  );
}

function consequence({ votes, quorum }: AccessRequest, approver: Visitor): string {
  const mine = { approver, verdict: 'approve' } as const;
  if (resolutionOf([...votes, mine], quorum) === 'granted') {
    return 'If you approve, exactly this call runs, once, as soon as policy confirms it. Neither answer can be taken back.';
  }
  const { missing } = tally([...votes, mine], quorum);
  return `If you approve, ${missing} more ${missing === 1 ? 'approval is' : 'approvals are'} needed. A denial ends the request.`;
}

function Confirmation({ request, verdict, at }: { request: AccessRequest; verdict: 'approve' | 'deny'; at: string }) {
  return (
    <div class={`notice ${verdict === 'approve' ? 'good' : 'bad'}`} role="status">
      <strong>
        You {DECIDED[verdict]} this <Time at={at} />.
      </strong>
      <p>{outcome(request)}</p>
      <p>
        <a href="/requests">To the open requests</a>
      </p>
    </div>
  );
}

function outcome(request: AccessRequest): string {
  if (isEnded(request.status) && request.status !== 'pending') return ENDED[request.status];
  const { missing } = tally(request.votes, request.quorum);
  return `It waits for ${missing} more ${missing === 1 ? 'approval' : 'approvals'}.`;
}

const OBSTACLES = {
  own_request: 'You asked for this yourself, or your agent did, so somebody else has to decide it.',
  role_missing: 'Only approvers decide requests.',
} as const satisfies Record<Exclude<Obstacle, 'final' | 'already_voted'>, string>;

function NotYours({ request, obstacle }: { request: AccessRequest; obstacle: Obstacle }) {
  if (obstacle === 'own_request' || obstacle === 'role_missing') {
    return (
      <div class="notice info" role="status">
        <strong>You cannot decide this request.</strong>
        <p>{OBSTACLES[obstacle]}</p>
      </div>
    );
  }
  return (
    <div class="notice info" role="status">
      <strong>This request has ended.</strong>
      <p>{outcome(request)}</p>
    </div>
  );
}
