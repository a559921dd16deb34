import { Page, type SignedIn } from '../../shared/pages/layout.tsx';
import type { RegistrationOptions } from '../passkeys/passkeys.ts';
import { Elsewhere, type Place } from './passkey-part.tsx';

interface NewPasskeyProps {
  readonly place: Place;
  /** Absent where browsers offer no passkeys. */
  readonly options: RegistrationOptions | undefined;
  readonly person: SignedIn;
}

/** The form that registers a passkey. */
export function NewPasskeyPage({ place, options, person }: NewPasskeyProps) {
  return (
    <Page title="Add a passkey" section="Approvals" person={person}>
      <a class="crumb" href="/passkeys">
        ← Passkeys
      </a>
      <h1>Add a passkey</h1>
      <section class="card">
        {options === undefined ? (
          <Elsewhere {...place} />
        ) : (
          <form class="decision" method="post" action="/passkeys" data-passkey-registration={JSON.stringify(options)}>
            <input type="hidden" name="csrfToken" value={person.csrfToken} />
            <input type="hidden" name="passkey" value="" />
            <div>
              <label for="name">Name</label>
              <input type="text" id="name" name="name" required maxLength={60} aria-describedby="name-hint" />
              <p class="hint" id="name-hint">
                For you, such as “Work laptop”.
              </p>
            </div>
            <p class="notice warn" data-without-script>
              A passkey needs JavaScript. Switch it on for this site, and open this page again.
            </p>
            <p class="notice warn" role="alert" data-passkey-problem hidden />
            <div>
              <button type="submit">Create the passkey</button>
            </div>
            <p class="hint">
              Your device asks for your fingerprint, face or PIN. To use a phone or a security key, choose it in the
              dialog of your browser. This page works for five minutes.
            </p>
            <script src="/assets/passkeys.js" defer />
          </form>
        )}
      </section>
    </Page>
  );
}
