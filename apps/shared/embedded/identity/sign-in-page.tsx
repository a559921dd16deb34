import type { Person } from '../../config/config.ts';
import { Page, renderPage } from '../../pages/layout.tsx';

const SECTION = 'Sign-in';

export const SIGN_IN = '/sign-in';

export const signInPath = (uid: string) => `${SIGN_IN}/${uid}`;

/** One button for each person, without a password, because this is development. */
export function signInPage({ action, people }: { action: string; people: readonly Person[] }): string {
  return renderPage(
    <Page title="Who are you?" section={SECTION}>
      <h1>Who are you?</h1>
      <p>This is the identity provider of development. It asks for no password.</p>
      <form method="post" action={action}>
        <ul class="rows">
          {people.map((person) => (
            <li key={person.name}>
              <button class="button" type="submit" name="person" value={person.name}>
                {person.displayName ?? person.name}
              </button>
              <span class="row-side">{person.roles.join(', ')}</span>
            </li>
          ))}
        </ul>
      </form>
    </Page>,
  );
}

/** Asks for confirmation. The provider's own form has no button; this one submits it. */
export function signOutPage(form: string): string {
  return renderPage(
    <Page title="Sign out" section={SECTION}>
      <div class="card empty">
        <h1>Sign out</h1>
        <p>You are signed in at the identity provider of development.</p>
        <div dangerouslySetInnerHTML={{ __html: form }} />
        <button class="button" type="submit" form="op.logoutForm" name="logout" value="yes">
          Sign out
        </button>
      </div>
    </Page>,
  );
}

export function problemPage(detail: string): string {
  return renderPage(
    <Page title="You cannot sign in this way" section={SECTION}>
      <div class="card empty">
        <h1>You cannot sign in this way</h1>
        <p>{detail}</p>
        <p>Go back to the page you came from and sign in again.</p>
      </div>
    </Page>,
  );
}
