import type { ComponentChildren } from 'preact';
import type { Person } from '../../config/config.ts';
import { Facts, Page, renderPage } from '../../pages/layout.tsx';
import { Code, Visible } from '../../pages/visible.tsx';
import type { Agreement } from './agreement.ts';
import { targetOf } from './host-metadata.ts';
import { kindOfHost } from './hosts.ts';
import { nameOf, People } from './sign-in-page.tsx';

/** A scope of the resource, and the tools that need it. A scope that every request needs has no tools. */
export interface ScopeUse {
  readonly scope: string;
  readonly tools: readonly string[];
}

export interface HostPage {
  readonly action: string;
  readonly people: readonly Person[];
  readonly agreement: Agreement;
  readonly digest: string;
  /** When the host registered itself, in milliseconds since 1970. */
  readonly registeredAt: number | undefined;
  readonly scopes: readonly ScopeUse[];
  readonly sessionSeconds: number;
  /** Whether the person answered another version of this page. */
  readonly hasChanged: boolean;
}

const TITLE = 'Let a program act for you?';

/** Asks a person whether a host may act for them, and who they are. One press answers both, because this is development. */
export function hostPage(page: HostPage): string {
  const { action, people, agreement, digest, hasChanged } = page;
  return renderPage(
    <Page title={TITLE} section="Sign-in">
      <div class="narrow">
        <h1>{TITLE}</h1>
        {hasChanged && (
          <div class="notice warn" role="alert">
            <p>What the program asks for has changed since you opened this page. Read it again.</p>
          </div>
        )}
        <Elsewhere {...agreement} />
        <div class="card">
          <Facts
            rows={[
              ['Program', <ProgramName key="name" name={agreement.clientName} />],
              ['Identified by', <IdentifiedBy key="known" {...page} />],
              ['Goes back to', <GoesBackTo key="target" {...agreement} />],
              ['May', <Rights key="rights" {...page} />],
              ['For', lifetime(page.sessionSeconds)],
            ]}
          />
        </div>
        <p>
          Choose the person for whom the program acts. <strong>The program cannot approve its own calls</strong>: this
          person confirms them in the inbox where a rule lets them, and otherwise another person has to. This sign-in is
          for development. It asks for no password.
        </p>
        <form method="post" action={action}>
          <input type="hidden" name="agreement" value={digest} />
          <People people={people} label={(person) => `Allow as ${nameOf(person)}`} />
          <p>
            <button class="deny" type="submit" name="refuse" value="yes">
              Refuse
            </button>
          </p>
        </form>
      </div>
    </Page>,
  );
}

function ProgramName({ name }: { name: string }) {
  if (name === '') return <>A program without a name.</>;
  return (
    <>
      <strong>
        <Visible text={name} />
      </strong>
      . The program chose this name. Countersign has not checked it.
    </>
  );
}

function IdentifiedBy({ agreement: { clientId }, registeredAt }: HostPage) {
  if (kindOfHost(clientId) === 'document') {
    return (
      <>
        <strong>
          <Visible text={new URL(clientId).host} />
        </strong>
        , which publishes a document about it: <Code text={clientId} />
      </>
    );
  }
  const at = registeredAt === undefined ? '' : ` at ${instant(registeredAt)}`;
  return <>Nothing. It registered itself{at}.</>;
}

function GoesBackTo({ redirectUri }: Agreement) {
  const { kind, name } = targetOf(redirectUri);
  const shown = (
    <strong>
      <Visible text={name} />
    </strong>
  );
  if (kind === 'machine') {
    return (
      <>
        {shown}, a program on this machine. Any program on this machine can pretend to be another one. Go on only if you
        have just started a sign-in in it.
      </>
    );
  }
  if (kind === 'scheme') return <>the program of this machine that opens addresses of {shown}</>;
  return shown;
}

/** Warns of a host whose document is at one site, and whose answer goes to another. */
function Elsewhere({ clientId, redirectUri }: Agreement) {
  const { kind, name } = targetOf(redirectUri);
  const publisher = kindOfHost(clientId) === 'document' ? new URL(clientId).host : name;
  if (kind !== 'site' || publisher === name) return null;
  return (
    <div class="notice warn" role="note">
      <p>
        The program is identified by <Visible text={publisher} />, but goes back to <Visible text={name} />.
      </p>
    </div>
  );
}

function Rights({ agreement, scopes }: HostPage) {
  const rights: ComponentChildren[] = scopes.map(({ scope, tools }) => (
    <li key={scope}>
      {tools.length === 0 ? (
        <>call tools at {agreement.resource} in your name, as far as the policies allow</>
      ) : (
        <>
          call {tools.join(', ')} (<Code text={scope} />)
        </>
      )}
    </li>
  ));
  if (agreement.scopes.includes('openid')) rights.push(<li key="openid">learn your name and your roles</li>);
  return <ul>{rights}</ul>;
}

const HOUR_SECONDS = 3_600;
const UNITS = [
  ['day', 24 * HOUR_SECONDS],
  ['hour', HOUR_SECONDS],
  ['minute', 60],
  ['second', 1],
] as const;

/** `30 days`: in the largest unit that has no rest. */
function lifetime(seconds: number): string {
  const [unit, length] = UNITS.find(([, size]) => seconds % size === 0) ?? UNITS[3];
  const count = seconds / length;
  return `${count} ${unit}${count === 1 ? '' : 's'}. Then the program asks again.`;
}

const instant = (at: number) => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
