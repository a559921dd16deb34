import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { grantableSubmission, OTHER_DIGEST } from '../../support/grants.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';

const service = new ApprovalsUnderTest();
const stage = (name: string) => ({ name, approvers: { roles: ['approver'] } });
beforeAll(() =>
  service.start({
    approvals: {
      templates: {
        operator_approval: { stages: [stage('one')] },
        both: { stages: [{ ...stage('both'), quorum: 2 }] },
        watched: { stages: [stage('watched')], grantsEndAtSignOut: true },
      },
    },
    identity: {
      people: [
        ...['alice', 'bob', 'carol'].map((name) => ({ name, roles: ['approver'] })),
        { name: 'olga', roles: ['approver', 'approver-overseer'] },
      ],
    },
  }),
);
afterAll(() => service.stop());
// Each test begins without a grant in force.
beforeEach(() => service.database.pool.query(`SELECT approvals.revoke_grant(id, 'olga', true) FROM approvals."grant"`));

const open = (changes: SubmissionChanges = {}) => service.open(grantableSubmission(changes));
const statusOf = async (request: { id: string }) => (await service.status(request.id)).body.task.status as string;

/** The address and the token of the form of a page. */
async function formOf(browser: Browser, path: string) {
  const page = await (await browser.go(path)).text();
  return { page, csrfToken: /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '' };
}

/** Gives a grant with a browser, as the form on the page of the request does. */
async function give(browser: Browser, request: { id: string; callDigest: string }, more: Record<string, string> = {}) {
  const { csrfToken } = await formOf(browser, `/requests/${request.id}`);
  const form = { csrfToken, callDigest: request.callDigest, generation: '1', stage: '1', minutes: '30', uses: '10' };
  return browser.go(`/requests/${request.id}/grants`, { ...form, ...more });
}

/** A grant of this person on a request of its own, with these choices. The values are those of `content` and `path`. */
async function given(name: string, more: Record<string, string> = {}) {
  const browser = await service.signIn(name);
  const request = await open();
  const answer = await give(browser, request, more);
  if (answer.status !== 303) throw new Error(`no grant was given: ${answer.status} ${await answer.text()}`);
  const { rows } = await service.database.pool.query<{ id: string }>(
    'SELECT id FROM approvals."grant" WHERE access_request_id = $1',
    [request.id],
  );
  return { browser, request, id: rows[0]?.id ?? '' };
}
const revoke = (name: string, id: string) =>
  service.asPerson(name, `/grants/${id}/revoke`, { method: 'POST', body: '{}' });

describe('the form for a grant', () => {
  it('says what policy allows, and has a line for each value of the arguments', async () => {
    const request = await open();
    const { page } = await formOf(await service.signIn('bob'), `/requests/${request.id}`);
    expect(page).toContain('Approve further calls like this');
    expect(page).toMatch(/name="minutes"[^>]* max="30" value="30"/);
    expect(page).toMatch(/name="uses"[^>]* max="10" value="10"/);
    expect(page.match(/<select id="how-\d"/g)).toHaveLength(2);
  });

  it.each<[string, SubmissionChanges]>([
    ['policy allows no grant', { claims: { grantable: undefined } }],
    ['policy says so in no way that can be read', { claims: { grantable: 'often' } }],
    ['two people have to approve', { claims: { template: 'both' } }],
    ['the denial does not bind the facts of the call', { members: ['agent', 'arguments', 'call_digest'] }],
    ['the facts are about another tool', { context: { call: { tool: 'other', tool_digest: OTHER_DIGEST } } }],
  ])('is not on the page if %s', async (_what, changes) => {
    const request = await open(changes);
    const browser = await service.signIn('bob');
    expect((await formOf(browser, `/requests/${request.id}`)).page).not.toContain('Approve further calls');
    expect((await give(browser, request)).status).toBe(409);
    expect(await statusOf(request)).toBe('pending');
  });

  it('approves the call and further calls, which name the grant and its giver', async () => {
    const { request, id, browser } = await given('bob', { 'how-0': 'any', 'how-1': 'begins', 'begins-1': '/srv/app/' });
    expect(await statusOf(request)).toBe('approved');
    const further = await open({ arguments: { path: '/srv/app/b.txt', content: 'other' } });
    expect(await statusOf(further)).toBe('approved');
    const statement = await service.asGateway(`/access/v1/requests/${further.id}/resolution`);
    expect(statement.body.votes).toMatchObject([{ approver: { subject: 'bob' }, via: 'grant', grant: id }]);
    const { page } = await formOf(browser, `/requests/${further.id}`);
    expect(page).toContain(id);
    const shown = (await formOf(browser, `/grants/${id}`)).page;
    expect(shown).toContain(`href="/requests/${further.id}"`);
    expect(shown).toContain('1 of 10');
  });

  it('answers the submission of a covered call with the approval at once', async () => {
    await given('bob', { 'how-1': 'any' });
    const body = await service.submission(grantableSubmission({ arguments: { path: '/x', content: 'hello' } }));
    const answer = await service.submit(body);
    expect([answer.status, answer.body.task.status]).toEqual([201, 'approved']);
  });

  it('leaves values without a choice as they are', async () => {
    const { id } = await given('carol', { uses: '3' });
    const grant = await service.asPerson('carol', `/grants/${id}`);
    expect(grant.body.grant).toMatchObject({
      conditions: { path: { equal: '/srv/app/a.txt' }, content: { equal: 'hello' } },
      ...{ maxUses: 3, uses: 0, status: 'active' },
    });
    expect(await statusOf(await open({ arguments: { path: '/srv/app/a.txt2', content: 'hello' } }))).toBe('pending');
    await revoke('carol', id);
  });

  it.each<[string, Record<string, string>, number, string]>([
    ['more minutes than policy allows', { minutes: '31' }, 409, 'No grant was given'],
    ['more uses than policy allows', { uses: '11' }, 409, 'No grant was given'],
    ['no minutes', { minutes: '0' }, 400, 'This is not a grant'],
    ['a beginning of another value', { 'how-1': 'begins', 'begins-1': '/etc' }, 400, 'would not cover this call'],
    ['the digest of another call', { callDigest: `sha-256:${'0'.repeat(64)}` }, 409, 'about another call'],
  ])('refuses %s, and decides nothing', async (_what, more, status, said) => {
    const request = await open({ arguments: { path: `/srv/app/${crypto.randomUUID()}`, content: 'x' } });
    const answer = await give(await service.signIn('bob'), request, more);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(said)]);
    expect(await statusOf(request)).toBe('pending');
  });

  it('is for people in a browser, not for tokens', async () => {
    const request = await open({ arguments: { path: `/srv/app/${crypto.randomUUID()}`, content: 'x' } });
    const body = JSON.stringify({ minutes: 5, uses: 1, callDigest: request.callDigest });
    const answer = await service.asPerson('bob', `/requests/${request.id}/grants`, { method: 'POST', body });
    expect([answer.status, answer.body.title]).toEqual([403, 'A grant needs a person who is there']);
    expect(await statusOf(request)).toBe('pending');
  });

  it('is refused without the CSRF token', async () => {
    const request = await open({ arguments: { path: `/srv/app/${crypto.randomUUID()}`, content: 'x' } });
    expect((await give(await service.signIn('bob'), request, { csrfToken: 'other' })).status).toBe(403);
  });
});

describe('a grant', () => {
  it('ends when the giver loses the role', async () => {
    const { id } = await given('bob', { 'how-1': 'any' });
    const call = () => open({ arguments: { path: `/x/${crypto.randomUUID()}`, content: 'hello' } });
    expect(await statusOf(await call())).toBe('approved');
    const people = service.config.identity.people as { name: string; roles: string[] }[];
    const bob = people.find(({ name }) => name === 'bob');
    const roles = bob?.roles ?? [];
    const kept = roles.splice(0);
    try {
      expect(await statusOf(await call())).toBe('pending');
    } finally {
      roles.push(...kept);
    }
    await revoke('bob', id);
  });

  it('ends when its giver signs out, where the template says so', async () => {
    const watched = { claims: { template: 'watched' } };
    const browser = await service.signIn('carol');
    const request = await open(watched);
    const page = await (await browser.go(`/requests/${request.id}`)).text();
    expect(page).toContain('The grant ends when you sign out');
    expect((await give(browser, request)).status).toBe(303);
    expect(await statusOf(await open(watched))).toBe('approved');
    const { page: list, csrfToken } = await formOf(browser, '/grants');
    expect(list).toContain('signs out');
    await browser.go('/sign-out', { csrfToken });
    expect(await statusOf(await open(watched))).toBe('pending');
    const { body } = await service.asPerson('carol', '/grants');
    expect(body.grants[0]).toMatchObject({ status: 'over', endsAtSignOut: true });
  });

  it('is listed for its giver and for overseers, and revoked by them alone', async () => {
    const { id, browser } = await given('carol');
    const listed = async (name: string) => {
      const answer = await service.asPerson(name, '/grants');
      return (answer.body.grants as { id: string }[]).some((grant) => grant.id === id);
    };
    expect(await Promise.all(['carol', 'olga', 'alice'].map(listed))).toEqual([true, true, false]);
    expect((await service.asPerson('alice', `/grants/${id}`)).status).toBe(404);
    expect((await revoke('alice', id)).status).toBe(404);
    const { page, csrfToken } = await formOf(browser, '/grants');
    expect(page).toContain(`action="/grants/${id}/revoke"`);
    const pressed = await browser.go(`/grants/${id}/revoke`, { csrfToken });
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, `/grants/${id}`]);
    expect(await statusOf(await open())).toBe('pending');
    expect((await revoke('olga', id)).body).toEqual({ id, status: 'revoked' });
    expect((await service.asPerson('olga', `/grants/${id}`)).body.grant).toMatchObject({
      ...{ status: 'revoked', revokedBy: 'carol' },
    });
  });

  it('is listed page by page', async () => {
    await service.database.pool.query(
      `INSERT INTO approvals."grant" (id, access_request_id, giver_issuer, giver_subject, giver_roles, giver_chain, client_id, tool,
         tool_digest, requester_subject, requester_client, parties, shape, conditions, max_uses, created_at, expires_at, giver_session, ends_at_sign_out)
       SELECT 'grn_' || n, 'arq_' || n, 'i', 'alice', '{}', '{}', 'g', 't', 'd', 's', 'c', '{}', 's', '{}', 1, now(), now() + interval '1 h',
         'none', false
       FROM generate_series(1, 60) AS n`,
    );
    const first = await service.asPerson('alice', '/grants');
    const second = await service.asPerson('alice', `/grants?cursor=${first.body.nextCursor}`);
    expect([first.body.grants.length, second.body.grants.length]).toEqual([50, 10]);
    const page = await (await service.signIn('alice')).go(`/grants?cursor=${first.body.nextCursor}`);
    expect(await page.text()).toContain('rel="prev"');
  });

  it.each<[string, number]>([
    ['/grants/grn_unknown', 404],
    ['/grants/%00', 404],
    ['/grants?cursor=x', 400],
  ])('is not at %s', async (path, status) => {
    expect((await service.asPerson('bob', path)).status).toBe(status);
  });

  it('shows values without hidden characters', async () => {
    const browser = await service.signIn('bob');
    const request = await open({ arguments: { path: 'a\u202eb', content: '<b>x</b>' } });
    await give(browser, request);
    const { page } = await formOf(browser, '/grants');
    expect(page).not.toContain('\u202e');
    expect(page).not.toContain('<b>x</b>');
  });
});
