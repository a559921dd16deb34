import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { textFor, type Refused } from './refused.tsx';
import { handOverBy, type Seat } from './seat.ts';
import { PeopleChoice } from './people-choice.tsx';
import { useRequestAddress } from './near.tsx';

interface HandOverFormProps {
  readonly request: AccessRequest;
  readonly seat: Seat;
  readonly csrfToken: string;
  readonly refused: Refused | undefined;
}

/** The form with which an approver lets another person decide this request in their place. Folded, since most decide themselves. */
export function HandOverForm({ request, seat, csrfToken, refused }: HandOverFormProps) {
  const addressOf = useRequestAddress();
  const number = handOverBy(seat, request);
  if (number === undefined) return null;
  return (
    <section class="card" aria-labelledby="hand-over">
      <details open={refused?.typed.form === 'hand-over'}>
        <summary id="hand-over">Hand this request over</summary>
        <form class="decision" method="post" action={addressOf(request.id, 'hand-overs')}>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <input type="hidden" name="stage" value={String(request.stage)} />
          <input type="hidden" name="number" value={String(number)} />
          <p>
            Another approver may then decide this request in your place, and no other. You have one vote together: the
            first of you to decide has used it.
          </p>
          <div>
            <label for="hand-over-to">Who decides in your place</label>
            <input
              type="text"
              id="hand-over-to"
              name="to"
              required
              maxLength={255}
              list="hand-over-people"
              aria-describedby="hand-over-hint"
              value={textFor('hand-over', refused)}
            />
            <PeopleChoice id="hand-over-people" people={seat.people} except={seat.visitor.subject} />
            <p class="hint" id="hand-over-hint">
              The identifier they sign in with. They are told if a channel reaches them. You can take it back on the
              page “Out of office”.
            </p>
          </div>
          <div class="decision-buttons">
            <button type="submit">Hand over</button>
          </div>
        </form>
      </details>
    </section>
  );
}
