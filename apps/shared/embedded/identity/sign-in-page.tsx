import type { Person } from '../../config/config.ts';
import { Page, renderPage } from '../../pages/layout.tsx';

const SECTION = 'Sign-in';

export const SIGN_IN = '/sign-in';

export const signInPath = (uid: string) => `${SIGN_IN}/${uid}`;

export const nameOf = ({ displayName, name }: Person): string => displayName ?? name;

/** One button for each person, beside their roles. */
export function People({ people, label }: { people: readonly Person[]; label: (person: Person) => string }) {
  return (
    <ul class="rows people">
      {people.map((person) => (
        <li key={person.name}>
          <button class="button" type="submit" name="person" value={person.name}>
            {label(person)}
          </button>
          <span class="row-side">{person.roles.join(', ')}</span>
        </li>
      ))}
    </ul>
  );
}

/** One button for each person, without a password, because this is development. */
export function signInPage({ action, people }: { action: string; people: readonly Person[] }): string {
  return renderPage(
    <Page title="Who are you?" section={SECTION}>
      <div class="narrow">
        <h1>Who are you?</h1>
        <p>This sign-in is for development. It asks for no password.</p>
        <form method="post" action={action}>
          <People people={people} label={nameOf} />
        </form>
      </div>
    </Page>,
  );
}

/** Asks for confirmation. The provider's own form has no button; this one submits it. */
export function signOutPage(form: string): string {
  return renderPage(
    <Page title="Sign out" section={SECTION}>
      <div class="card empty alone">
        <h1>Sign out</h1>
        <p>You are still signed in at the identity provider, which all pages of Countersign share.</p>
        <div dangerouslySetInnerHTML={{ __html: form }} />
        <button class="button" type="submit" form="op.logoutForm" name="logout" value="yes">
          Sign out
        </button>
      </div>
    </Page>,
  );
}

/** Why a person cannot sign in, and what they can do. */
export interface Problem {
  readonly detail: string;
  readonly nextStep?: string;
}

const AGAIN = 'Go back to the page or the program that you came from, and sign in again.';

export function problemPage({ detail, nextStep = AGAIN }: Problem): string {
  return renderPage(
    <Page title="You cannot sign in this way" section={SECTION}>
      <div class="card empty alone">
        <h1>You cannot sign in this way</h1>
        <p>{detail}</p>
        <p>{nextStep}</p>
      </div>
    </Page>,
  );
}
