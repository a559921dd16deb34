import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { csrfTokenIn } from '../../support/pages.ts';

const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();
const OWN = [403, 'You requested this yourself'];
type Opened = Awaited<ReturnType<ApprovalsUnderTest['open']>>;

describe('a party to a request', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      gateway: { coaz: { identityClaim: 'name' } },
      approvals: {
        templates: {
          overseen: { stages: [{ name: 'all', approvers: { roles: ['approver', 'approver-agent'] } }] },
          two: { stages: [{ name: 'all', approvers: { roles: ['approver'] }, quorum: 2 }] },
        },
        breakGlass: { enabled: true, approvers: { people: [], roles: ['approver'] } },
      },
      identity: {
        people: [
          { name: 'alice', displayName: 'Alice of the desk', roles: ['approver'] },
          { name: 'bob', displayName: 'Bob of the desk', roles: ['approver'] },
          { name: 'u-1', roles: ['approver'] },
        ],
      },
    }),
  );
  afterAll(() => service.stop());

  const post = async (path: string, claims: JWTPayload, body: object = {}) => {
    const answer = await service.fetch(path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await service.tokenWith({ roles: ['approver'], ...claims })}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    return [answer.status, answer.body.title];
  };
  const asApprover = async () => ({
    authorization: `Bearer ${await service.tokenWith({ sub: 'u-9', roles: ['approver'] })}`,
  });
  const vote = ({ id, callDigest }: Opened, claims: JWTPayload, onBehalfOf?: string) =>
    post(`/requests/${id}/votes`, claims, { verdict: 'approve', callDigest, onBehalfOf });
  const grant = ({ id, callDigest }: Opened, claims: JWTPayload) =>
    post(`/requests/${id}/break-glass`, claims, { callDigest, reason: 'it burns' });
  const delegate = (claims: JWTPayload, to: string) =>
    post('/delegations', claims, { delegate: to, until: IN_AN_HOUR });
  /** A submission of an enforcement point that names only the subject and the agent. */
  const open = () => service.open({ subject: 'Rita of the shop', agent: 'shop-bot', claims: { template: 'overseen' } });

  /** How a token belongs to a party, or acts for one. */
  const KINDS: readonly (readonly [string, JWTPayload])[] = [
    ['the client', { client_id: 'shop-bot' }],
    ['azp, where no client is named', { client_id: undefined, azp: 'shop-bot' }],
    ['azp beside the client', { azp: 'shop-bot' }],
    ['cid, where Okta names the client', { client_id: undefined, cid: 'shop-bot' }],
    ['the id that Entra ID has in all tokens of a person', { oid: 'Rita of the shop', tid: 'a-tenant' }],
    ['the id of a person at Okta', { client_id: undefined, cid: 'other', uid: 'Rita of the shop' }],
    ['an actor', { act: { sub: 'planner', act: { sub: 'shop-bot' } } }],
    ['the client of an actor', { act: { sub: 'planner', client_id: 'shop-bot' } }],
    ['the name that policies know', { name: 'Rita of the shop' }],
  ];

  describe.each(KINDS)('by %s', (_kind, part) => {
    const who = { sub: 'u-1', ...part };

    it('cannot vote, grant or review, in any role [ARAP-APV-01]', async () => {
      const request = await open();
      expect(await vote(request, who)).toEqual(OWN);
      expect(await vote(request, { ...who, roles: ['approver', 'approver-agent'] })).toEqual(OWN);
      expect(await grant(request, who)).toEqual(OWN);
      expect((await grant(request, { sub: 'u-2' }))[0]).toBe(200);
      const refused = [403, 'You cannot review this grant'];
      expect(await post(`/requests/${request.id}/review`, who)).toEqual(refused);
      expect((await post(`/requests/${request.id}/review`, { sub: 'u-3', client_id: 'other' }))[0]).toBe(200);
    });

    it('cannot vote as a delegate, nor through a delegate [ARAP-APV-01]', async () => {
      const request = await open();
      const [absent, delegate_] = [`absent-${request.id}`, `delegate-${request.id}`];
      service.config.identity.people.push({ name: absent, roles: ['approver'] });
      expect((await delegate({ sub: absent }, 'u-1'))[0]).toBe(201);
      expect(await vote(request, who, absent)).toEqual(OWN);
      expect((await delegate(who, delegate_))[0]).toBe(201);
      expect(await vote(request, { sub: delegate_ })).toEqual([403, 'You stand in for a person who requested this']);
      expect((await vote(request, { sub: absent }))[0]).toBe(200);
    });
  });

  it('cannot review through the program that granted', async () => {
    const request = await open();
    const review = (claims: JWTPayload) => post(`/requests/${request.id}/review`, claims);
    expect((await grant(request, { sub: 'u-2', client_id: 'pager', act: { sub: 'u-4' } }))[0]).toBe(200);
    for (const claims of [
      { sub: 'u-3', client_id: 'pager' },
      { sub: 'u-4', client_id: 'other' },
    ]) {
      expect((await review(claims))[0]).toBe(403);
    }
    expect((await review({ sub: 'u-3', client_id: 'other' }))[0]).toBe(200);
  });

  it('has one voice where a token acts for another person, in either order [ARAP-APV-01]', async () => {
    const two = () => service.open({ subject: 'Rita of the shop', agent: 'shop-bot', claims: { template: 'two' } });
    const [alone, acting] = [{ sub: 'u-5' }, { sub: 'u-6', act: { sub: 'planner', act: { sub: 'u-5' } } }];
    for (const [first, second] of [
      [alone, acting],
      [acting, alone],
      [acting, { sub: 'u-7', act: { sub: 'u-5' } }],
    ] as const) {
      const request = await two();
      expect((await vote(request, first))[0]).toBe(200);
      expect(await vote(request, second)).toEqual([409, 'You have already decided this']);
      expect(
        (await service.fetch(`/requests/${request.id}`, { headers: await asApprover() })).body.request.status,
      ).toBe('pending');
      expect((await vote(request, { sub: 'u-8' }))[0]).toBe(200);
      const page = await (await (await service.signIn('alice')).go(`/requests/${request.id}`)).text();
      if (first === acting) expect(page).toMatch(/acting for them: .*planner, .*u-5/);
    }
  });

  it('is recognized in a browser by either name, and other approvers can still vote', async () => {
    const [bob, alice] = [await service.signIn('bob'), await service.signIn('alice')];
    const asked = [{ subject: 'bob' }, { subject: 'Bob of the desk' }];
    for (const who of asked) {
      const request = await service.open({ ...who, agent: 'shop-bot' });
      const page = await (await bob.go(`/requests/${request.id}`)).text();
      expect(page).toContain('You or your agent requested this');
      const csrfToken = csrfTokenIn(page);
      const ballot = { verdict: 'approve', callDigest: request.callDigest, stage: '1' };
      expect((await bob.go(`/requests/${request.id}/votes`, { ...ballot, csrfToken })).status).toBe(403);
      const others = csrfTokenIn(await (await alice.go(`/requests/${request.id}`)).text());
      expect((await alice.go(`/requests/${request.id}/votes`, { ...ballot, csrfToken: others })).status).toBe(303);
    }
  });

  it('cannot be ruled out for a token without a client, so the token decides nothing and the log says why', async () => {
    const request = await open();
    const nameless = { sub: 'u-1', client_id: undefined };
    for (let n = 0; n < 2; n += 1) {
      expect(await vote(request, nameless)).toEqual([401, 'The bearer token names no client']);
    }
    expect(service.log.match(/identity\.allowTokensWithoutClient/g)).toHaveLength(1);
  });

  it('cannot be ruled out for an unreadable actor chain, so the token is invalid', async () => {
    for (const act of ['alice', { iss: 'https://idp.test' }, { sub: 'a', act: [] }]) {
      expect((await vote(await open(), { sub: 'u-1', act }))[0]).toBe(401);
    }
  });
});
