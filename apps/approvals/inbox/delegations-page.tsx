import { Page, type SignedIn } from '../../shared/pages/layout.tsx';
import { Instant } from '../../shared/pages/time.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import type { Delegation } from '../stores/delegation.store.ts';
import { InboxTabs } from './tabs.tsx';

export interface DelegationsProps {
  /** Those that the visitor made, the latest first. */
  readonly made: readonly Delegation[];
  /** Those by which the visitor may speak for somebody now. */
  readonly received: readonly Delegation[];
  readonly person: SignedIn;
  readonly now: Date;
}

/** Who decides while the visitor is away, and for whom they decide. */
export function DelegationsPage({ made, received, person, now }: DelegationsProps) {
  const active = made.filter((one) => isActive(one, now));
  const over = made.filter((one) => !isActive(one, now));
  return (
    <Page title="Out of office" section="Approvals" person={person}>
      <div class="title-row">
        <h1>Out of office</h1>
        <InboxTabs current="delegations" />
      </div>
      <div class="stack">
        <section class="card" aria-labelledby="made">
          <h2 id="made">Who decides for you</h2>
          {active.length === 0 ? (
            <p class="soft">Nobody, at present.</p>
          ) : (
            <ul class="votes">
              {active.map((one) => (
                <Active key={one.id} delegation={one} csrfToken={person.csrfToken} />
              ))}
            </ul>
          )}
          <NewDelegation csrfToken={person.csrfToken} />
        </section>
        {received.length > 0 && (
          <section class="card" aria-labelledby="received">
            <h2 id="received">For whom you decide</h2>
            <ul class="votes">
              {received.map((one) => (
                <li key={one.id}>
                  <strong>
                    <Visible text={one.delegator.subject} />
                  </strong>{' '}
                  until <Instant at={one.until} />
                </li>
              ))}
            </ul>
          </section>
        )}
        {over.length > 0 && <Over delegations={over} />}
      </div>
    </Page>
  );
}

const isActive = ({ until, revokedAt }: Delegation, now: Date) =>
  revokedAt === undefined && Date.parse(until) > now.getTime();

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

function Over({ delegations }: { delegations: readonly Delegation[] }) {
  return (
    <section class="card" aria-labelledby="over">
      <h2 id="over">What is over</h2>
      <ul class="votes">
        {delegations.map(({ id, delegate, createdAt, until, revokedAt }) => (
          <li key={id}>
            <Visible text={delegate} />, from <Instant at={createdAt} /> until <Instant at={revokedAt ?? until} />
            {revokedAt !== undefined && ' (revoked)'}
          </li>
        ))}
      </ul>
    </section>
  );
}
