import { canonicalJson } from '../../../workflows/domain/canonical-json.ts';
import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { Code } from '../../shared/pages/visible.tsx';
import { DECIDING_FORMS } from './deciding-forms.ts';
import { WhatIsDecided } from './decision.tsx';
import { argumentsIn, openValues, type OpenValue, sortOf } from '../grants/scope.ts';
import { LONGEST_TEXT, textFor, type Refused } from './refused.tsx';
import { canGiveGrant, type Seat } from './seat.ts';
import { Agent, Person } from './names.tsx';
import { LeafValue } from './summary.tsx';
import { useRequestAddress } from './near.tsx';

interface GrantFormProps {
  readonly request: AccessRequest;
  readonly seat: Seat;
  readonly csrfToken: string;
  readonly refused: Refused | undefined;
}

/** What the form proposes, if policy allows that much. */
const USUAL = { minutes: 30, uses: 10 } as const;
const LONGEST_BEGINNING = 500;

/** The form with which the visitor approves the call and gives a grant on further calls like it. Folded, since most need only one. */
export function GrantForm({ request, seat, csrfToken, refused }: GrantFormProps) {
  const addressOf = useRequestAddress();
  const { grantable } = request;
  const args = argumentsIn(request.context);
  if (grantable === undefined || args === undefined || !canGiveGrant(seat, request)) return null;
  const typed = textFor('grant', refused);
  return (
    <section class="card" aria-labelledby="grant">
      <details open={refused?.typed.form === 'grant'}>
        <summary id="grant">Approve further calls like this</summary>
        <form
          class="decision"
          id={DECIDING_FORMS[1]}
          method="post"
          action={addressOf(request.id, 'grants')}
          data-decides
          data-shows={addressOf(request.id)}
        >
          <WhatIsDecided request={request} csrfToken={csrfToken} />
          <Explanation of={request} />
          <Amount name="minutes" label="Minutes" max={Math.floor(grantable.seconds / 60)} usual={USUAL.minutes} />
          <Amount name="uses" label="Further calls" max={grantable.uses} usual={USUAL.uses} />
          {openValues(args).map((value, index) => (
            <ValueChoice key={value.path} index={index} of={value} />
          ))}
          <p class="hint">Lists, and which arguments there are, stay as in this call.</p>
          <Reason typed={typed} />
          <div class="decision-buttons">
            <button
              class="approve"
              type="submit"
              name="verdict"
              value="approve"
              data-undo="You approve this and further calls like it"
            >
              Approve and give the grant
            </button>
          </div>
          <p class="hint" data-unread hidden>
            To give a grant, first scroll to the end of the call.
          </p>
          <p class="hint">You can revoke it at any time, on the page “Grants”.</p>
        </form>
      </details>
    </section>
  );
}

const Explanation = ({ of: { tool, requester, stages } }: { of: AccessRequest }) => (
  <p>
    A grant approves this call now, and further calls of <Code text={tool} /> by{' '}
    <Agent clientId={requester.clientId ?? ''} /> for <Person subject={requester.subject} />, in your name. Policy is
    asked about each, and each has its own record. Calls that wait already are not covered.
    {stages[0]?.grantsEndAtSignOut === true && ' The grant ends when you sign out, or sign in again.'}
  </p>
);

function Reason({ typed }: { typed: string | undefined }) {
  return (
    <div>
      <label for="grant-reason">Reason for the grant</label>
      <textarea id="grant-reason" name="reason" maxLength={LONGEST_TEXT} aria-describedby="grant-hint" value={typed} />
      <p class="hint" id="grant-hint">
        Optional. Kept on record with your name; the agent does not see it.
      </p>
    </div>
  );
}

interface AmountProps {
  readonly name: string;
  readonly label: string;
  readonly max: number;
  readonly usual: number;
}

const Amount = ({ name, label, max, usual }: AmountProps) => (
  <div>
    <label for={`grant-${name}`}>{label}</label>
    <input
      type="number"
      id={`grant-${name}`}
      name={name}
      required
      min={1}
      max={max}
      value={Math.min(max, usual)}
      aria-describedby={`grant-${name}-hint`}
    />
    <p class="hint" id={`grant-${name}-hint`}>
      Policy allows at most {max.toLocaleString('en')}.
    </p>
  </div>
);

/** What a giver can type for a text. */
const BEGINNINGS = {
  path: { option: 'In the folder below', label: 'Folder' },
  address: { option: 'At or below this address', label: 'Address of a host or a folder' },
  text: { option: 'Begins with the text below', label: 'Beginning' },
} as const;

function ValueChoice({ index, of: { path, value } }: { index: number; of: OpenValue }) {
  const [how, begins] = [`how-${index}`, `begins-${index}`];
  return (
    <div>
      <label for={how}>
        <Code text={path} />
      </label>
      <p class="soft">
        <LeafValue leaf={{ path, json: canonicalJson(value) }} />
      </p>
      <select id={how} name={how}>
        <option value="exact">Exactly this value</option>
        {typeof value === 'string' && <option value="begins">{BEGINNINGS[sortOf(value)].option}</option>}
        <option value="any">Any value</option>
      </select>
      {typeof value === 'string' && (
        <>
          <label class="soft" for={begins}>
            {BEGINNINGS[sortOf(value)].label}, if you chose that
          </label>
          <input type="text" id={begins} name={begins} maxLength={LONGEST_BEGINNING} />
        </>
      )}
    </div>
  );
}
