import { Page as Frame, type SignedIn } from '../../shared/pages/layout.tsx';
import { Instant } from '../../shared/pages/time.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import type { Delegation, DelegationList } from '../stores/delegation.store.ts';
import type { Page } from '../stores/keyset.ts';
import { PageLinks } from './paging.tsx';
import { InboxTabs } from './tabs.tsx';

export interface DelegationsProps {
  /** Those that the visitor made and that are in force, the latest first. */
  readonly made: Page<Delegation>;
  /** Those by which the visitor may speak for somebody now. */
  readonly received: Page<Delegation>;
  /** Those that the visitor made and that are over. */
  readonly over: Page<Delegation>;
  /** Of the address of this page. */
  readonly parameters: Parameters;
  readonly person: SignedIn;
}

type Parameters = Readonly<Record<string, string | undefined>>;

/** The parameter of the address that says where a list goes on. */
export const CURSORS = {
  made: 'madeCursor',
  received: 'receivedCursor',
  over: 'overCursor',
} as const satisfies Record<DelegationList, string>;

/** Who decides while the visitor is away, and for whom they decide. */
export function DelegationsPage({ made, received, over, parameters, person }: DelegationsProps) {
  return (
    <Frame title="Out of office" section="Approvals" person={person}>
      <div class="title-row">
        <h1>Out of office</h1>
        <InboxTabs current="delegations" />
      </div>
      <div class="stack">
        <section class="card" aria-labelledby="made">
          <h2 id="made">Who decides for you</h2>
          {made.rows.length === 0 ? (
            <p class="soft">Nobody, at present.</p>
          ) : (
            <ul class="votes">
              {made.rows.map((one) => (
                <Active key={one.id} delegation={one} csrfToken={person.csrfToken} />
              ))}
            </ul>
          )}
          <Pages page={made} list="made" of="those who decide for you" parameters={parameters} />
          <NewDelegation csrfToken={person.csrfToken} />
        </section>
        {received.rows.length > 0 && (
          <section class="card" aria-labelledby="received">
            <h2 id="received">For whom you decide</h2>
            <ul class="votes">
              {received.rows.map((one) => (
                <li key={one.id}>
                  <strong>
                    <Visible text={one.delegator.subject} />
                  </strong>{' '}
                  until <Instant at={one.until} />
                </li>
              ))}
            </ul>
            <Pages page={received} list="received" of="those for whom you decide" parameters={parameters} />
          </section>
        )}
        {over.rows.length > 0 && <Over delegations={over} parameters={parameters} />}
      </div>
    </Frame>
  );
}

interface PagesProps {
  readonly page: Page<Delegation>;
  readonly list: DelegationList;
  readonly of: string;
  readonly parameters: Parameters;
}

const Pages = ({ list, ...rest }: PagesProps) => <PageLinks {...rest} path="/delegations" name={CURSORS[list]} />;

function Active({ delegation, csrfToken }: { delegation: Delegation; csrfToken: string }) {
  return (
    <li>
      <form class="inline" method="post" action={`/delegations/${delegation.id}/revoke`}>
        <input type="hidden" name="csrfToken" value={csrfToken} />
        <span>
          <strong>
            <Visible text={delegation.delegate} />
          </strong>{' '}
          until <Instant at={delegation.until} />
        </span>
        <button class="quiet" type="submit">
          Revoke
        </button>
      </form>
    </li>
  );
}

function NewDelegation({ csrfToken }: { csrfToken: string }) {
  return (
    <form class="decision" method="post" action="/delegations">
      <input type="hidden" name="csrfToken" value={csrfToken} />
      <div>
        <label for="delegate">Stand-in</label>
        <input type="text" id="delegate" name="delegate" required maxLength={255} aria-describedby="delegate-hint" />
        <p class="hint" id="delegate-hint">
          The identifier with which they sign in. What they decide for you counts as yours; they cannot hand it on.
        </p>
      </div>
      <div>
        <label for="until">Last day</label>
        <input type="date" id="until" name="until" required aria-describedby="until-hint" />
        <p class="hint" id="until-hint">
          It ends with that day, at midnight UTC; 90 days from now at most. You can revoke it earlier.
        </p>
      </div>
      <div>
        <button type="submit">Let them decide for you</button>
      </div>
    </form>
  );
}

function Over({ delegations, parameters }: { delegations: Page<Delegation>; parameters: Parameters }) {
  return (
    <section class="card" aria-labelledby="over">
      <h2 id="over">What is over</h2>
      <ul class="votes">
        {delegations.rows.map(({ id, delegate, createdAt, until, revokedAt }) => (
          <li key={id}>
            <Visible text={delegate} />, from <Instant at={createdAt} /> until <Instant at={revokedAt ?? until} />
            {revokedAt !== undefined && ' (revoked)'}
          </li>
        ))}
      </ul>
      <Pages page={delegations} list="over" of="what is over" parameters={parameters} />
    </section>
  );
}
