import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import type { Page } from '../../shared/database/pages.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { cursorParameter } from '../../shared/http/list-cursor.ts';
import { Facts, Instant, Page as Frame, renderPage, type SignedIn, Time } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { Grant, GrantReader, GrantUse } from '../stores/grant.store.ts';
import { isOverseer, visitorOf, type Visitor } from './authenticate.ts';
import { Conditions } from './grant-conditions.tsx';
import { cursorsOf, given, InboxTabs, PageLinks } from './paging.tsx';
import type { InboxHttp } from './seat.ts';

const LIST_LIMIT = 50;
const LINK = { href: '/grants', label: 'To the grants' };

type Parameters = Readonly<Record<string, string | undefined>>;
type GrantsHttp = Pick<InboxHttp, 'grants' | 'clock' | 'log'>;

/** `/grants`: what people approved in advance. Expects the visitor, parsed bodies and the CSRF check before it. */
export function grantsRouter(http: GrantsHttp): Router {
  const router = express.Router();
  router.get('/', list(http));
  router.get('/:id', show(http));
  router.post('/:id/revoke', revoke(http));
  return router;
}

/** Overseers see and revoke all grants, other approvers their own. */
const readerOf = (visitor: Visitor): GrantReader => ({ subject: visitor.subject, oversees: isOverseer(visitor) });

const query = z.object({ cursor: cursorParameter.optional() });

function cursorOf(request: Request) {
  const parsed = query.safeParse(request.query);
  if (!parsed.success) throw new Refusal(400, 'There is no such page', 'Start again without a cursor.', LINK);
  return parsed.data.cursor;
}

function list({ grants, clock }: GrantsHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(response);
    const cursor = cursorOf(request);
    const page = await grants.list(readerOf(visitor), { cursor, limit: LIST_LIMIT });
    if (!wantsPage(request)) return void response.json({ grants: page.rows.map(viewOf), ...cursorsOf(page) });
    // The grants on this page have been forgotten meanwhile.
    if (cursor !== undefined && page.rows.length === 0) return response.redirect(303, '/grants');
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    const parameters = given(request, ['cursor']);
    response.send(renderPage(<GrantsPage {...{ page, parameters, visitor, person }} />, clock.now()));
  };
}

const noSuchGrant = () => new Refusal(404, 'There is no such grant', 'Open the list of grants that you can see.', LINK);

function show({ grants, clock }: GrantsHttp) {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(response);
    const cursor = cursorOf(request);
    const grant = await grants.find(String(request.params['id']), readerOf(visitor));
    if (grant === undefined) throw noSuchGrant();
    const uses = await grants.uses(grant.id, { cursor, limit: LIST_LIMIT });
    if (!wantsPage(request)) return void response.json({ grant: viewOf(grant), uses: uses.rows, ...cursorsOf(uses) });
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    const parameters = given(request, ['cursor']);
    response.send(renderPage(<GrantPage {...{ grant, uses, parameters, person }} />, clock.now()));
  };
}

function revoke({ grants, log }: GrantsHttp) {
  return async (request: Request, response: Response) => {
    const id = String(request.params['id']);
    const outcome = /^grn_[A-Za-z0-9_-]{1,64}$/.test(id) && (await grants.revoke(id, readerOf(visitorOf(response))));
    if (outcome !== 'revoked') throw noSuchGrant();
    log.info({ grantId: id }, 'a grant was revoked');
    if (wantsPage(request)) return response.redirect(303, `/grants/${id}`);
    response.json({ id, status: 'revoked' });
  };
}

/** A grant in the API. The chain of names behind the giver is for the comparison with parties alone. */
const viewOf = ({
  giver: { aliases: _aliases, ...giver },
  giverChain: _chain,
  shape: _shape,
  isOver,
  ...grant
}: Grant) => ({
  giver,
  ...grant,
  status: statusOf({ ...grant, isOver }),
});

type Status = 'active' | 'revoked' | 'used' | 'over';

function statusOf({
  revokedAt,
  isOver,
  uses,
  maxUses,
}: Pick<Grant, 'revokedAt' | 'isOver' | 'uses' | 'maxUses'>): Status {
  if (revokedAt !== undefined) return 'revoked';
  if (isOver) return 'over';
  return uses >= maxUses ? 'used' : 'active';
}

const STATUS = {
  active: ['Active', 'good'],
  revoked: ['Revoked', 'bad'],
  used: ['Used up', ''],
  over: ['Over', ''],
} as const satisfies Record<Status, readonly [string, string]>;

function StatusBadge({ grant }: { grant: Grant }) {
  const [word, tone] = STATUS[statusOf(grant)];
  return <span class={`badge ${tone}`.trim()}>{word}</span>;
}

interface GrantsProps {
  readonly page: Page<Grant>;
  readonly parameters: Parameters;
  readonly visitor: Visitor;
  readonly person: SignedIn;
}

function GrantsPage({ page, parameters, visitor, person }: GrantsProps) {
  return (
    <Frame title="Grants" section="Approvals" person={person}>
      <div class="title-row">
        <h1>Grants</h1>
        <InboxTabs current="grants" visitor={visitor} />
      </div>
      {page.rows.length === 0 ? (
        <div class="card empty">
          <h2>No grant was given</h2>
          <p>Where policy allows it, the page of a request lets you approve further calls like it.</p>
        </div>
      ) : (
        <>
          <div class="stack">
            {page.rows.map((grant) => (
              <Row key={grant.id} grant={grant} csrfToken={person.csrfToken} />
            ))}
          </div>
          <PageLinks page={page} of="grants" path="/grants" parameters={parameters} name="cursor" />
        </>
      )}
    </Frame>
  );
}

function Row({ grant, csrfToken }: { grant: Grant; csrfToken: string }) {
  const { id, tool, giver, requesterClient, requesterSubject, uses, maxUses, expiresAt } = grant;
  return (
    <section class="card">
      <div class="title-row">
        <h2>
          <a href={`/grants/${id}`}>
            <Code text={tool} />
          </a>
        </h2>
        <StatusBadge grant={grant} />
      </div>
      <p>
        Given by <Visible text={giver.subject} /> to <Visible text={requesterClient} /> for{' '}
        <Visible text={requesterSubject} />. {uses} of {maxUses} used, ends <Time at={expiresAt} />
        <AtSignOut of={grant} />.
      </p>
      <Conditions of={grant} />
      <RevokeForm grant={grant} csrfToken={csrfToken} />
    </section>
  );
}

/** One press revokes: a grant can be given again, and an agent asks again by itself. */
function RevokeForm({ grant, csrfToken }: { grant: Grant; csrfToken: string }) {
  if (statusOf(grant) !== 'active') return null;
  return (
    <form class="inline" method="post" action={`/grants/${grant.id}/revoke`}>
      <input type="hidden" name="csrfToken" value={csrfToken} />
      <button class="quiet" type="submit">
        Revoke
      </button>
    </form>
  );
}

/** Follows the end of its time. */
const AtSignOut = ({ of: { endsAtSignOut, giver } }: { of: Grant }) =>
  endsAtSignOut ? (
    <>
      {' '}
      or when <Visible text={giver.subject} /> signs out
    </>
  ) : null;

interface GrantPageProps {
  readonly grant: Grant;
  readonly uses: Page<GrantUse>;
  readonly parameters: Parameters;
  readonly person: SignedIn;
}

/** One grant with the requests that it approved. */
function GrantPage({ grant, uses, parameters, person }: GrantPageProps) {
  return (
    <Frame title={`Grant on ${grant.tool}`} section="Approvals" person={person}>
      <a class="crumb" href="/grants">
        ← All grants
      </a>
      <div class="title-row">
        <h1>
          <Code text={grant.tool} />
        </h1>
        <StatusBadge grant={grant} />
      </div>
      <div class="stack">
        <About grant={grant} csrfToken={person.csrfToken} />
        <section class="card" aria-labelledby="uses">
          <h2 id="uses">Approved by it</h2>
          {uses.rows.length === 0 ? (
            <p class="soft">No call yet.</p>
          ) : (
            <ul class="votes">
              {uses.rows.map(({ number, accessRequestId, at }) => (
                <li key={accessRequestId}>
                  <a href={`/requests/${accessRequestId}`}>Call {number}</a> <Time at={at} />
                </li>
              ))}
            </ul>
          )}
          <PageLinks page={uses} of="uses" path={`/grants/${grant.id}`} parameters={parameters} name="cursor" />
        </section>
      </div>
    </Frame>
  );
}

function About({ grant, csrfToken }: { grant: Grant; csrfToken: string }) {
  const { id, accessRequestId, giver, requesterClient, requesterSubject, template, createdAt, expiresAt } = grant;
  const { uses, maxUses, revokedAt, revokedBy } = grant;
  return (
    <section class="card" aria-labelledby="about">
      <h2 id="about">What it approves</h2>
      <Facts
        rows={[
          ['Calls by', <Visible text={requesterClient} />],
          ['On behalf of', <Visible text={requesterSubject} />],
          ['Arguments', <Conditions of={grant} />],
          template !== undefined && ['Template', <Code text={template} />],
          ['Given by', <Visible text={giver.subject} />],
          ['Given', <Instant at={createdAt} />],
          [
            'Ends',
            <>
              <Instant at={expiresAt} />
              <AtSignOut of={grant} />
            </>,
          ],
          ['Used', `${uses} of ${maxUses}`],
          revokedAt !== undefined && ['Revoked', <Instant at={revokedAt} />],
          revokedBy !== undefined && ['Revoked by', <Visible text={revokedBy} />],
          ['Grant', <Code text={id} />],
          ['Given on', <a href={`/requests/${accessRequestId}`}>a request</a>],
        ]}
      />
      <p class="hint">
        Lists, and which arguments there are, are as in that request. The description of the tool is the same.
      </p>
      <RevokeForm grant={grant} csrfToken={csrfToken} />
    </section>
  );
}
