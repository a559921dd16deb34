import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import { isOnePerson } from '../../../workflows/domain/access-request/same-person.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { cursorParameter } from '../../shared/http/list-cursor.ts';
import { Page as Frame, Instant, renderPage, type SignedIn } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { randomText } from '../../shared/crypto.ts';
import type { Delegation, DelegationList } from '../stores/delegation.store.ts';
import type { Page } from '../../shared/database/pages.ts';
import { type Visitor, visitorOf } from './authenticate.ts';
import type { InboxHttp } from './seat.ts';
import { PeopleChoice } from './people-choice.tsx';
import { cursorsOf, given, InboxTabs, PageLinks } from './paging.tsx';

interface DelegationsProps {
  /** Delegations that the visitor made and that are in force, newest first. */
  readonly made: Page<Delegation>;
  /** Delegations that let the visitor decide for others now. */
  readonly received: Page<Delegation>;
  /** Delegations that the visitor made and that have ended. */
  readonly over: Page<Delegation>;
  readonly parameters: Parameters;
  readonly visitor: Visitor;
  readonly person: SignedIn;
  readonly people: Directory;
}

type Parameters = Readonly<Record<string, string | undefined>>;

/** The query parameter with the cursor of each list. */
const CURSORS = {
  made: 'madeCursor',
  received: 'receivedCursor',
  over: 'overCursor',
} as const satisfies Record<DelegationList, string>;

function DelegationsPage({ made, received, over, parameters, visitor, person, people }: DelegationsProps) {
  return (
    <Frame title="Out of office" section="Approvals" person={person}>
      <div class="title-row">
        <h1>Out of office</h1>
        <InboxTabs current="delegations" visitor={visitor} />
      </div>
      <div class="stack">
        <section class="card" aria-labelledby="made">
          <h2 id="made">Who decides for you</h2>
          {made.rows.length === 0 ? (
            <p class="soft">No stand-in at the moment.</p>
          ) : (
            <ul class="votes">
              {made.rows.map((one) => (
                <Active key={one.id} delegation={one} csrfToken={person.csrfToken} />
              ))}
            </ul>
          )}
          <Pages page={made} list="made" of="your stand-ins" parameters={parameters} />
          <NewDelegation csrfToken={person.csrfToken} {...{ people, visitor }} />
        </section>
        {received.rows.length > 0 && (
          <section class="card" aria-labelledby="received">
            <h2 id="received">People you decide for</h2>
            <ul class="votes">
              {received.rows.map((one) => (
                <li key={one.id}>
                  <strong>
                    <Visible text={one.delegator.subject} />
                  </strong>{' '}
                  <ForWhat request={one.accessRequestId} /> until <Instant at={one.until} />
                </li>
              ))}
            </ul>
            <Pages page={received} list="received" of="people you decide for" parameters={parameters} />
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
          <ForWhat request={delegation.accessRequestId} /> until <Instant at={delegation.until} />
        </span>
        <button class="quiet" type="submit">
          Revoke
        </button>
      </form>
    </li>
  );
}

/** Names the request, if the delegation is for one alone. */
const ForWhat = ({ request: id }: { request: string | undefined }) =>
  id === undefined ? null : (
    <>
      for <a href={`/requests/${encodeURIComponent(id)}`}>one request</a>
    </>
  );

interface NewDelegationProps extends Pick<DelegationsProps, 'people' | 'visitor'> {
  readonly csrfToken: string;
}

function NewDelegation({ csrfToken, people, visitor }: NewDelegationProps) {
  return (
    <form class="decision" method="post" action="/delegations">
      <input type="hidden" name="csrfToken" value={csrfToken} />
      <div>
        <label for="delegate">Stand-in</label>
        <input
          type="text"
          id="delegate"
          name="delegate"
          required
          maxLength={255}
          list="people"
          aria-describedby="delegate-hint"
        />
        <PeopleChoice id="people" people={people} except={visitor.subject} />
        <p class="hint" id="delegate-hint">
          The identifier they sign in with. Their decisions for you count as yours. They cannot delegate further.
        </p>
      </div>
      <div>
        <label for="until">Last day</label>
        <input type="date" id="until" name="until" required aria-describedby="until-hint" />
        <p class="hint" id="until-hint">
          The delegation ends at the end of that day (midnight UTC), 90 days from now at most. You can revoke it
          earlier.
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
      <h2 id="over">Past delegations</h2>
      <ul class="votes">
        {delegations.rows.map(({ id, delegate, createdAt, until, revokedAt, accessRequestId }) => (
          <li key={id}>
            <Visible text={delegate} /> <ForWhat request={accessRequestId} />, from <Instant at={createdAt} /> until{' '}
            <Instant at={revokedAt ?? until} />
            {revokedAt !== undefined && ' (revoked)'}
          </li>
        ))}
      </ul>
      <Pages page={delegations} list="over" of="past delegations" parameters={parameters} />
    </section>
  );
}

const DAY_MS = 86_400_000;
/** One day less than the database allows, so that the whole last day fits. */
const LONGEST_DAYS = 91;
const LIST_LIMIT = 50;
const LINK = { href: '/delegations', label: 'To your delegations' };
const UNLISTED =
  'The directory does not list you, so it could not end the delegation when you leave. Ask its administrators to add you.';

type DelegationsHttp = Pick<InboxHttp, 'delegations' | 'people' | 'clock' | 'log'>;

/** `/delegations`: who decides for the visitor while they are away. Expects the visitor, parsed bodies and the CSRF check before it. */
export function delegationsRouter(http: DelegationsHttp): Router {
  const router = express.Router();
  router.get('/', show(http));
  router.post('/', add(http));
  router.post('/:id/revoke', revoke(http));
  return router;
}

const listQuery = z.object({
  madeCursor: cursorParameter.optional(),
  receivedCursor: cursorParameter.optional(),
  overCursor: cursorParameter.optional(),
});

function show({ delegations, people }: DelegationsHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(response);
    const query = listQuery.safeParse(request.query);
    if (!query.success) throw new Refusal(400, 'There is no such page', 'Start again without a cursor.', LINK);
    const page = (which: DelegationList) =>
      delegations.list(which, visitor.subject, { cursor: query.data[CURSORS[which]], limit: LIST_LIMIT });
    const [made, received, over] = await Promise.all([page('made'), page('received'), page('over')]);
    if (!wantsPage(request)) {
      return void response.json({
        ...{ made: made.rows.map(viewOf), ...cursorsOf(made, 'Made') },
        ...{ received: received.rows.map(viewOf), ...cursorsOf(received, 'Received') },
        ...{ over: over.rows.map(viewOf), ...cursorsOf(over, 'Over') },
      });
    }
    const parameters = given(request, Object.values(CURSORS));
    const emptied = Object.entries({ made, received, over }).find(
      ([which, { rows }]) => rows.length === 0 && query.data[CURSORS[which as DelegationList]] !== undefined,
    );
    // The delegations on this page have ended meanwhile.
    if (emptied !== undefined) return response.redirect(303, '/delegations');
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    response.send(
      renderPage(<DelegationsPage {...{ made, received, over, parameters, visitor, person, people: people() }} />),
    );
  };
}

/** Other names of a person are for comparisons alone. */
const viewOf = ({ delegator: { aliases: _aliases, ...delegator }, ...delegation }: Delegation) => ({
  ...delegation,
  delegator,
});

/** A day means the end of that day in UTC. */
const until = z.union([
  z.iso.date().transform((day) => new Date(Date.parse(day) + DAY_MS).toISOString()),
  z.iso.datetime({ offset: true }),
]);
const newDelegation = z.object({ delegate: z.string().trim().min(1).max(255), until });

function add({ delegations, people, clock, log }: DelegationsHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(response);
    const body = newDelegation.safeParse(request.body);
    if (!body.success) {
      throw new Refusal(400, 'The delegation is incomplete', 'Name the stand-in and the last day or instant.', LINK);
    }
    const { delegate, until: end } = body.data;
    refuseUnfit(visitor, delegate, people());
    if (Date.parse(end) > clock.now() + LONGEST_DAYS * DAY_MS) {
      throw new Refusal(
        400,
        'The delegation is too long',
        'It can last 90 days at most. Create another one when it ends.',
        LINK,
      );
    }
    const id = `dlg_${randomText(16)}`;
    const { issuer, subject, aliases, roles, chain } = visitor;
    const delegator = { issuer, subject, aliases, roles };
    const outcome = await delegations.add({ id, delegator, chain, delegate, until: end });
    if (outcome === 'to_oneself') throw toOneself();
    if (outcome === 'past') throw new Refusal(400, 'That day is in the past', 'Choose today or a later day.', LINK);
    if (outcome === 'unlisted') throw new Refusal(409, 'You cannot let another person decide for you', UNLISTED, LINK);
    log.info({ delegationId: id, until: end }, 'an approver delegated their decisions');
    if (wantsPage(request)) return response.redirect(303, '/delegations');
    response.status(201).json({ id, delegate, until: end });
  };
}

const toOneself = () => new Refusal(400, 'You cannot stand in for yourself', 'Name another person.', LINK);

function refuseUnfit({ subject, aliases }: Visitor, delegate: string, directory: Directory): void {
  if (isOnePerson([delegate], [subject, ...aliases])) throw toOneself();
  if (directory.people.length === 0 || directory.find(delegate)?.isActive === true) return;
  throw new Refusal(400, 'There is no such person', 'Use the identifier they sign in with.', LINK);
}

function revoke({ delegations, log }: DelegationsHttp) {
  return async (request: Request, response: Response) => {
    const { subject } = visitorOf(response);
    const id = String(request.params['id']);
    if (!/^dlg_[A-Za-z0-9_-]{1,64}$/.test(id) || (await delegations.revoke(id, subject)) !== 'revoked') {
      throw new Refusal(404, 'You have no such delegation', 'Open the list of your delegations.', LINK);
    }
    log.info({ delegationId: id }, 'a delegation was revoked');
    if (wantsPage(request)) return response.redirect(303, '/delegations');
    response.json({ id, status: 'revoked' });
  };
}
