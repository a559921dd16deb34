import { Instant, Page, type SignedIn } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import type { Passkey } from '../stores/passkey.store.ts';
import { isOverseer, type Visitor } from './authenticate.ts';
import { InboxTabs } from './paging.tsx';

interface PasskeysProps {
  /** With the removed ones. */
  readonly all: readonly Passkey[];
  readonly owner: string;
  readonly isOwn: boolean;
  readonly visitor: Visitor;
  readonly person: SignedIn;
}

/** The passkeys of one person: those that work, and those that were removed. */
export function PasskeysPage({ all, owner, isOwn, visitor, person }: PasskeysProps) {
  const usable = all.filter(({ revokedAt }) => revokedAt === undefined);
  const removed = all.filter(({ revokedAt }) => revokedAt !== undefined);
  const { csrfToken } = person;
  return (
    <Page title="Passkeys" section="Approvals" person={person}>
      <div class="title-row">
        <h1>Passkeys</h1>
        <InboxTabs current="passkeys" visitor={visitor} />
      </div>
      <div class="stack">
        <section class="card" aria-labelledby="passkeys">
          <h2 id="passkeys">{isOwn ? 'Your passkeys' : <>Passkeys of {<Visible text={owner} />}</>}</h2>
          {usable.length === 0 && <p class="soft">No passkey is registered.</p>}
          <ul class="votes">
            {usable.map((passkey) => (
              <li key={passkey.id}>
                <Usable {...{ passkey, isOwn, csrfToken }} />
              </li>
            ))}
          </ul>
          {isOwn && (
            <p>
              <a class="button" href="/passkeys/new">
                Add a passkey
              </a>
            </p>
          )}
          <p class="hint">
            Some approvals need a passkey. Register two: if you lose one, the other still works, and you can remove the
            lost one here. To add or remove one, you sign in again.
          </p>
        </section>
        {removed.length > 0 && <Removed passkeys={removed} />}
        {isOverseer(visitor) && <OfAnother />}
      </div>
    </Page>
  );
}

function Usable({ passkey, isOwn, csrfToken }: { passkey: Passkey; isOwn: boolean; csrfToken: string }) {
  const { id, name, subject, deviceType, registeredAt, lastUsedAt } = passkey;
  return (
    <>
      <form class="inline" method="post" action={`/passkeys/${id}/revoke`}>
        <input type="hidden" name="csrfToken" value={csrfToken} />
        {!isOwn && <input type="hidden" name="of" value={subject} />}
        <span>
          <strong>
            <Visible text={name} />
          </strong>
          , {deviceType === 'multiDevice' ? 'shared between devices' : 'on one device'}, registered{' '}
          <Instant at={registeredAt} />
          {lastUsedAt !== undefined && (
            <>
              , last used <Instant at={lastUsedAt} />
            </>
          )}
        </span>
        <button class="quiet" type="submit">
          Remove
        </button>
      </form>
      {isOwn && (
        <details>
          <summary>Rename</summary>
          <form class="inline" method="post" action={`/passkeys/${id}/rename`}>
            <input type="hidden" name="csrfToken" value={csrfToken} />
            <label for={`name-${id}`}>Name</label>
            <input type="text" id={`name-${id}`} name="name" required maxLength={60} value={name} />
            <button class="quiet" type="submit">
              Save
            </button>
          </form>
        </details>
      )}
    </>
  );
}

function Removed({ passkeys }: { passkeys: readonly Passkey[] }) {
  return (
    <section class="card" aria-labelledby="removed">
      <h2 id="removed">Removed passkeys</h2>
      <ul class="votes">
        {passkeys.map(({ id, name, revokedAt = '', revokedBy }) => (
          <li key={id}>
            <Visible text={name} />, removed <Instant at={revokedAt} />
            {revokedBy === undefined ? (
              ', because its counter showed that there is a copy of it'
            ) : (
              <>
                {' by '}
                <Visible text={revokedBy} />
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** For overseers: a person who lost a device may ask for help. */
function OfAnother() {
  return (
    <section class="card" aria-labelledby="another">
      <h2 id="another">Another person</h2>
      <form class="decision" method="get" action="/passkeys">
        <div>
          <label for="of">Identifier they sign in with</label>
          <input type="text" id="of" name="of" required maxLength={1_024} />
        </div>
        <div>
          <button type="submit">Show their passkeys</button>
        </div>
      </form>
    </section>
  );
}
