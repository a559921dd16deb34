import express, { type Request, type Response, type Router } from 'express';
import type { Logger } from 'pino';
import * as z from 'zod';
import type { Clock } from '../../shared/clock.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { Page as Frame, Instant, renderPage, type SignedIn } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { randomText } from '../../shared/crypto.ts';
import type { StandIns } from '../stand-ins.ts';
import type { Delegation, DelegationList } from '../stores/delegation.store.ts';
import type { Page } from '../stores/lists.ts';
import { visitorOf } from './authenticate.ts';
import { cursorParameter, cursorsOf, given, InboxTabs, PageLinks } from './paging.tsx';

interface DelegationsProps {
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
const CURSORS = {
  made: 'madeCursor',
  received: 'receivedCursor',
  over: 'overCursor',
} as const satisfies Record<DelegationList, string>;

/** Who decides while the visitor is away, and for whom they decide. */
function DelegationsPage({ made, received, over, parameters, person }: DelegationsProps) {
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

const DAY_MS = 86_400_000;
/** A day less than what the database takes at most, so that the last day is in it whole. */
const LONGEST_DAYS = 91;
/** Delegations on one page of each list. */
const LIST_LIMIT = 50;
const LINK = { href: '/delegations', label: 'To your delegations' };
const UNLISTED =
  'The directory does not list you, so it could not end the delegation when you leave. Ask the people who keep it to add you.';

interface DelegationsHttp {
  readonly delegations: StandIns;
  readonly people: () => Directory;
  readonly clock: Clock;
  readonly log: Logger;
}

/** `/delegations`: who decides for the visitor while they are away. Needs the visitor, parsed bodies and the CSRF check before it. */
export function delegationsRouter(http: DelegationsHttp): Router {
  const router = express.Router();
  router.get('/', show(http));
  router.post('/', add(http));
  router.post('/:id/revoke', revoke(http));
  return router;
}

const listQuery = z.object({
  madeCursor: cursorParameter,
  receivedCursor: cursorParameter,
  overCursor: cursorParameter,
});

function show({ delegations }: DelegationsHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(request, response);
    const query = listQuery.safeParse(request.query);
    if (!query.success) throw new Refusal(400, 'There is no such page', 'Start again without a cursor.', LINK);
    const page = (which: DelegationList) =>
      delegations.list(which, visitor.subject, { cursor: query.data[CURSORS[which]], limit: LIST_LIMIT });
    const [made, received, over] = await Promise.all([page('made'), page('received'), page('over')]);
    if (!wantsPage(request)) {
      return void response.json({
        ...{ made: made.rows, ...cursorsOf(made, 'Made') },
        ...{ received: received.rows, ...cursorsOf(received, 'Received') },
        ...{ over: over.rows, ...cursorsOf(over, 'Over') },
      });
    }
    const parameters = given(request, Object.values(CURSORS));
    const emptied = Object.entries({ made, received, over }).find(
      ([which, { rows }]) => rows.length === 0 && query.data[CURSORS[which as DelegationList]] !== undefined,
    );
    // What was on this page is over meanwhile.
    if (emptied !== undefined) return response.redirect(303, '/delegations');
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    response.send(renderPage(<DelegationsPage {...{ made, received, over, parameters, person }} />));
  };
}

/** A day means its end, by UTC. */
const until = z.union([
  z.iso.date().transform((day) => new Date(Date.parse(day) + DAY_MS).toISOString()),
  z.iso.datetime({ offset: true }),
]);
const newDelegation = z.object({ delegate: z.string().trim().min(1).max(255), until });

function add({ delegations, people, clock, log }: DelegationsHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(request, response);
    const body = newDelegation.safeParse(request.body);
    if (!body.success) {
      throw new Refusal(400, 'This is no delegation', 'Say who stands in, and until which day or instant.', LINK);
    }
    const { delegate, until: end } = body.data;
    refuseUnfit(visitor.subject, delegate, people());
    if (Date.parse(end) > clock.now() + LONGEST_DAYS * DAY_MS) {
      throw new Refusal(400, 'That is too long', 'A delegation lasts 90 days at most. Make another one then.', LINK);
    }
    const id = `dlg_${randomText(16)}`;
    const { issuer, subject, roles, chain } = visitor;
    const outcome = await delegations.add({ id, delegator: { issuer, subject, roles }, chain, delegate, until: end });
    if (outcome === 'past')
      throw new Refusal(400, 'That is over already', 'Choose a day that is not in the past.', LINK);
    if (outcome === 'unlisted') throw new Refusal(409, 'You cannot let another person decide for you', UNLISTED, LINK);
    log.info({ delegationId: id, until: end }, 'somebody lets another decide for them');
    if (wantsPage(request)) return response.redirect(303, '/delegations');
    response.status(201).json({ id, delegate, until: end });
  };
}

function refuseUnfit(delegator: string, delegate: string, directory: Directory): void {
  if (delegate === delegator) throw new Refusal(400, 'That is you', 'Name somebody else.', LINK);
  if (directory.people.length === 0 || directory.find(delegate)?.isActive === true) return;
  throw new Refusal(400, 'There is nobody of that name', 'Use the identifier with which they sign in.', LINK);
}

function revoke({ delegations, log }: DelegationsHttp) {
  return async (request: Request, response: Response) => {
    const { subject } = visitorOf(request, response);
    const id = String(request.params['id']);
    if (!/^dlg_[A-Za-z0-9_-]{1,64}$/.test(id) || (await delegations.revoke(id, subject)) !== 'revoked') {
      throw new Refusal(404, 'You made no such delegation', 'Look at the list of your own.', LINK);
    }
    log.info({ delegationId: id }, 'a delegation was revoked');
    if (wantsPage(request)) return response.redirect(303, '/delegations');
    response.json({ id, status: 'revoked' });
  };
}
