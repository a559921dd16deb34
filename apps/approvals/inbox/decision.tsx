import { isEnded, type AccessRequest, type Vote } from '../../../workflows/domain/access-request/access-request.ts';
import { resolutionOf, type Tallied, tally } from '../../../workflows/domain/access-request/quorum.ts';
import { requesterPerson } from '../../../workflows/domain/access-request/requester-question.ts';
import { type Confirmer, openStage } from '../../../workflows/domain/access-request/stages.ts';
import { isOnePerson } from '../../../workflows/domain/access-request/same-person.ts';
import { freshSignInPath, isFreshSignIn } from '../../shared/auth/fresh-sign-in.ts';
import { Time, usePageTime } from '../../shared/pages/layout.tsx';
import { visibleTitle } from '../../shared/pages/visible-text.ts';
import { Visible } from '../../shared/pages/visible.tsx';
import { MAX_AGENT_MESSAGE_LENGTH } from '../../../workflows/domain/access-request/agent-message.ts';
import type { Voter } from './authenticate.ts';
import { DECIDING_FORMS } from './deciding-forms.ts';
import { isShown } from './kept-forms.ts';
import { useRequestAddress } from './near.tsx';
import { canConfirm, type PasskeyDemand, PasskeyPart } from './passkey-part.tsx';
import { Decided, LONGEST_TEXT, RefusedNotice, textFor, type Refused } from './refused.tsx';
import {
  capacitiesOf,
  type Capacity,
  confirmationBy,
  type Obstacle,
  obstacleTo,
  ownVote,
  type Reading,
} from './seat.ts';
import { effectWord } from './summary.tsx';
import { DECIDED, endOf, wordsOf } from './view.tsx';

interface SeatedProps extends Pick<Reading, 'request' | 'seat'> {
  /** The visitor's last form, if it was refused. */
  readonly refused: Refused | undefined;
}

/** Why the visitor has no decision to make: they decided, the request ended, or they are not eligible. Never read from the address. */
export function Standing({ request, seat, broken, refused }: SeatedProps & Pick<Reading, 'broken'>) {
  const now = usePageTime();
  const decided = { request, broken, people: seat.people };
  if (refused !== undefined) {
    const isKept = isShown(refused.typed.form, { request, seat, broken }, now);
    return <RefusedNotice {...decided} refused={refused} outcome={outcome(request)} isKept={isKept} />;
  }
  const vote = ownVote(seat, request);
  if (vote !== undefined) return <Confirmation request={request} vote={vote} visitor={seat.visitor} />;
  const obstacle = obstacleTo(seat, request);
  if (obstacle === undefined) return null;
  const isOver = obstacle === 'final' || obstacle === 'already_voted';
  return (
    <div class="notice info" role="status">
      <strong>{isOver ? 'This request has ended.' : 'You cannot decide this request.'}</strong>
      {isOver && <Decided {...decided} />}
      <p>{isOver ? outcome(request) : OBSTACLES[obstacle]}</p>
      {obstacle === 'own_request' && requesterPerson(request) === undefined && <p>{OF_A_PROGRAM}</p>}
    </div>
  );
}

type DecisionFormProps = SeatedProps &
  Pick<Reading, 'presetReasons'> & { readonly csrfToken: string; readonly passkey: PasskeyDemand | undefined };

/** The form with which the visitor decides, if they can. */
export function DecisionForm({ request, seat, presetReasons, csrfToken, passkey, refused }: DecisionFormProps) {
  const addressOf = useRequestAddress();
  const capacities = obstacleTo(seat, request) === undefined ? capacitiesOf(seat, request) : [];
  const [first] = capacities;
  if (first === undefined) return null;
  const confirmer = confirmationBy(seat, request);
  return (
    <section class="card" id={`stage-${request.stage}`} aria-labelledby="decide">
      <h2 id="decide">{confirmer ? 'You confirm what your own agent wants to do' : 'Your decision'}</h2>
      <form
        class="decision"
        id={DECIDING_FORMS[0]}
        method="post"
        action={addressOf(request.id, 'votes')}
        data-decides
        data-careful={isCareful(request) && ''}
        data-shows={addressOf(request.id)}
        {...(passkey && { 'data-passkeys': JSON.stringify(passkey.options) })}
      >
        <WhatIsDecided request={request} csrfToken={csrfToken} />
        <InWhoseName capacities={capacities} chosen={refused?.typed.onBehalfOf} />
        <PresetReasons reasons={presetReasons} chosen={refused?.typed.presetReason} />
        <Reason typed={textFor('vote', refused)} isSecond={presetReasons.length > 0} />
        {passkey && <PasskeyPart demand={passkey} />}
        <Buttons {...{ request, seat, confirmer, passkey }} />
        <p class="hint">{consequence(request, first, confirmer ? 'confirm' : 'approve')}</p>
        <MessageForAgent typed={refused?.typed.agentMessage} />
      </form>
    </section>
  );
}

/** The call and the stage that the visitor looked at. */
export const WhatIsDecided = ({ request, csrfToken }: { request: AccessRequest; csrfToken: string }) => (
  <>
    <input type="hidden" name="csrfToken" value={csrfToken} />
    <input type="hidden" name="callDigest" value={request.callDigest} />
    <input type="hidden" name="generation" value={String(request.generation)} />
    <input type="hidden" name="stage" value={String(request.stage)} />
  </>
);

function Reason({ typed, isSecond }: { typed: string | undefined; isSecond: boolean }) {
  return (
    <div>
      <label for="reason">Reason</label>
      <textarea id="reason" name="reason" maxLength={LONGEST_TEXT} aria-describedby="reason-hint" value={typed} />
      <p class="hint" id="reason-hint">
        {isSecond
          ? 'Optional. Both reasons are kept on record with your name; the agent does not see them.'
          : 'Optional. Kept on record with your name; the agent does not see it.'}
      </p>
    </div>
  );
}

/** Whether a key alone is too easily pressed for this approval. */
const isCareful = ({ effect }: Pick<AccessRequest, 'effect'>) => effect !== 'read' && effect !== 'write';

interface ButtonsProps extends Omit<SeatedProps, 'refused'>, Pick<DecisionFormProps, 'passkey'> {
  readonly confirmer: Confirmer | undefined;
}

/** The two verdicts, in a bar that stays in sight at the lower edge of the window. A requester whose sign-in is not recent finds the way to the sign-in in their place. */
function Buttons({ request, seat, confirmer, passkey }: ButtonsProps) {
  const addressOf = useRequestAddress();
  const now = usePageTime();
  const { signedInAt } = seat.visitor.session ?? {};
  if (confirmer && !isFreshSignIn({ signedInAt }, confirmer.freshSeconds, now.getTime())) {
    return (
      <>
        <p>To show that it is you and not your agent, sign in again. This tab keeps the text that you typed.</p>
        <p>
          <a class="button" href={freshSignInPath(addressOf(request.id))}>
            Sign in again
          </a>
        </p>
      </>
    );
  }
  const { heading, confirm } = wordsOf(request);
  // A passkey is a second, deliberate act: its approval is sent at once.
  const approval = confirmer ? 'You confirm this' : 'You approve this';
  return (
    <div class="decide-bar">
      <p class="hint" data-unread hidden>
        To {confirmer ? 'confirm' : 'approve'}, first scroll to the end of “{heading.open}”.
      </p>
      <p class="hint" data-again role="status" hidden>
        This call {effectWord(request.effect) ?? 'has an effect that no operator has stated'}. Press the key again to
        approve it.
      </p>
      <div class="decision-buttons">
        {(passkey === undefined || canConfirm(passkey)) && (
          <button
            class="approve"
            type="submit"
            name="verdict"
            value="approve"
            data-undo={passkey ? undefined : approval}
          >
            {confirmer ? confirm : 'Approve'}
          </button>
        )}
        <button class="deny" type="submit" name="verdict" value="deny" data-undo="You deny this">
          Deny
        </button>
      </div>
    </div>
  );
}

/** Folded, since few decisions have one. */
function MessageForAgent({ typed }: { typed: string | undefined }) {
  return (
    <details open={typed !== undefined}>
      <summary>Message for the agent</summary>
      <label for="agent-message">What the agent reads</label>
      <textarea
        id="agent-message"
        name="agentMessage"
        maxLength={MAX_AGENT_MESSAGE_LENGTH}
        aria-describedby="agent-message-hint"
        value={typed}
      />
      <p class="hint" id="agent-message-hint">
        Optional, in one paragraph. The agent reads it as the words of an approver, without your name. It is kept on
        record.
      </p>
    </details>
  );
}

/** The reasons that the operator prepared. The chosen one goes on record before what the visitor writes. */
function PresetReasons({ reasons, chosen }: { reasons: readonly string[]; chosen: string | undefined }) {
  if (reasons.length === 0) return null;
  return (
    <div>
      <label for="preset-reason">Prepared reason</label>
      <select id="preset-reason" name="presetReason">
        <option value="">None</option>
        {reasons.map((reason) => (
          <option key={reason} value={reason} selected={reason === chosen}>
            {visibleTitle(reason)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Says in whose name the vote counts, unless the visitor's own is the only choice. */
function InWhoseName({ capacities, chosen }: { capacities: readonly Capacity[]; chosen: string | undefined }) {
  if (capacities.every(({ standIn }) => standIn === undefined)) return null;
  return (
    <div>
      <label for="on-behalf-of">Decide as</label>
      <select id="on-behalf-of" name="onBehalfOf">
        {capacities.map(({ approver, standIn }) => (
          <option
            key={approver.subject}
            value={standIn === undefined ? '' : approver.subject}
            selected={standIn !== undefined && approver.subject === chosen}
          >
            {visibleTitle(approver.subject)}
            {standIn === undefined ? ' (yourself)' : ' (you stand in for them)'}
          </option>
        ))}
      </select>
      <p class="hint">
        You have one decision. If you decide for another approver, you cannot also decide for yourself.
      </p>
    </div>
  );
}

function consequence(request: AccessRequest, { approver }: Capacity, verb: 'approve' | 'confirm'): string {
  const mine = { approver, verdict: 'approve', stage: request.stage } as const;
  const after = { ...request, votes: [...request.votes, mine] };
  const next = resolutionOf(after);
  if (next === 'granted') {
    return `If you ${verb}, ${wordsOf(request).onceGranted} You cannot change either decision later.`;
  }
  const denial = openStage(request).veto
    ? 'A denial ends the request.'
    : 'A denial ends it once too few approvers are left to approve it.';
  if (typeof next === 'number') {
    return `If you ${verb}, others decide next: “${openStage({ ...request, stage: next }).name}”. ${denial}`;
  }
  return `If you ${verb}, ${moreApprovals(after)} needed in this stage. ${denial}`;
}

function moreApprovals(request: Tallied): string {
  const { missing } = tally(request);
  return `${missing} more ${missing === 1 ? 'approval is' : 'approvals are'}`;
}

function Confirmation({ request, vote, visitor }: { request: AccessRequest; vote: Vote; visitor: Voter }) {
  const { approver, castBy, asRequester, verdict, at } = vote;
  const isOwn = isOnePerson([approver.subject], [visitor.subject, ...visitor.aliases]);
  return (
    <div class={`notice ${verdict === 'approve' ? 'good' : 'bad'}`} role="status">
      <strong>
        {isOwn && castBy !== undefined ? <Visible text={castBy} /> : 'You'}{' '}
        {asRequester && verdict === 'approve' ? 'confirmed' : DECIDED[verdict]} this
        {isOwn && castBy !== undefined && ' for you'}
        {!isOwn && (
          <>
            {' on behalf of '}
            <Visible text={approver.subject} />
          </>
        )}{' '}
        <Time at={at} />.
      </strong>
      <p>{outcome(request)}</p>
    </div>
  );
}

function outcome(request: AccessRequest): string {
  const { status } = request;
  if (isEnded(status) && status !== 'pending') return endOf({ ...request, status });
  return `It is still open: ${moreApprovals(request)} needed in the stage “${openStage(request).name}”.`;
}

/** The template may let the requester confirm. It is known here only for requests of people. */
const OF_A_PROGRAM =
  'It came with a token of a program, which names no person, such as `countersign token` prints. A template can let you confirm what your own agent asks. That needs an agent to which you signed in: make the call again through a host with a sign-in.';

const OBSTACLES = {
  own_request: 'You or your agent requested this, so another approver has to decide it.',
  delegate_of_requester: 'You stand in for a person who requested this, so another approver has to decide it.',
  not_eligible: '“Who decides” lists the approvers who can.',
} as const satisfies Record<Exclude<Obstacle, 'final' | 'already_voted'>, string>;
