import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';

const AGENT = 'approver-agent';
const templates = {
  byRole: { stages: [{ name: 'supervision', approvers: { roles: [AGENT] } }] },
  byName: { stages: [{ name: 'supervision', approvers: { people: ['overseer'] } }] },
};

describe('a supervising agent', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        templates,
        breakGlass: { enabled: true, approvers: { people: ['overseer', 'dora'], roles: [AGENT] } },
      },
      identity: {
        people: [
          { name: 'alice', roles: ['approver', 'approver-overseer'] },
          { name: 'overseer', roles: [AGENT] },
          { name: 'both', roles: ['approver', AGENT] },
        ],
      },
    }),
  );
  afterAll(() => service.stop());

  const open = (template?: keyof typeof templates, who: object = {}) =>
    service.open({ ...who, claims: template === undefined ? {} : { template } });
  const votesOf = async (id: string) => (await service.asPerson('alice', `/requests/${id}`)).body.request.votes;

  it.each(['byRole', 'byName'] as const)('decides with its own token where a stage names it, %s', async (template) => {
    const request = await open(template);
    const answer = await service.vote('overseer', request, 'approve', { reason: 'within the budget' });
    expect([answer.status, answer.body.request.status]).toEqual([200, 'approved']);
    expect(await votesOf(request.id)).toEqual([
      expect.objectContaining({
        via: 'agent',
        reason: 'within the budget',
        approver: expect.objectContaining({ subject: 'overseer' }),
      }),
    ]);
  });

  it('is labelled in the inbox, and people are not', async () => {
    const request = await open('byName');
    await service.vote('overseer', request, 'deny');
    const byPerson = await open();
    await service.vote('alice', byPerson, 'deny');
    const browser = await service.signIn('alice');
    const label = /<span class="badge info">agent<\/span>/;
    expect(await (await browser.go(`/requests/${request.id}`)).text()).toMatch(label);
    expect(await (await browser.go(`/requests/${byPerson.id}`)).text()).not.toMatch(label);
  });

  it('sees the requests that it may decide, and no more of them than approvers see', async () => {
    const [own, others] = [await open('byRole'), await open()];
    const { body } = await service.asPerson('overseer', '/requests?status=yours');
    const ids = (body.requests as { id: string }[]).map(({ id }) => id);
    expect([ids.includes(own.id), ids.includes(others.id)]).toEqual([true, false]);
  });

  it.each(['overseer', 'both'])(
    'does not count as an approver in a stage for people, even with that role: %s',
    async (name) => {
      const request = await open();
      expect((await service.vote(name, request, 'approve')).status).toBe(404);
      expect(await votesOf(request.id)).toEqual([]);
    },
  );

  it('cannot delegate, stand in, break glass, review or revoke', async () => {
    const request = await open();
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const delegated = { method: 'POST', body: JSON.stringify({ delegate: 'overseer', until }) };
    expect((await service.asPerson('alice', '/delegations', delegated)).status).toBe(201);
    expect((await service.vote('overseer', request, 'approve', { onBehalfOf: 'alice' })).status).toBe(404);
    const said = JSON.stringify({ reason: 'at once', callDigest: request.callDigest });
    for (const what of ['break-glass', 'review', 'cancel', 'revoke']) {
      const answer = await service.asPerson('both', `/requests/${request.id}/${what}`, { method: 'POST', body: said });
      expect([what, answer.status, answer.body.title]).toEqual([what, 403, 'Only people can do this']);
    }
    expect((await service.asPerson('overseer', '/delegations')).status).toBe(403);
    expect((await service.status(request.id)).body.task.status).toBe('pending');
  });

  it('cannot sign in to a session', async () => {
    const browser = await service.signIn('both');
    const page = await browser.go('/requests');
    expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('Only people can do this')]);
  });

  describe('cannot decide a request in which it has a part', () => {
    const tokens = {
      'under its own name': { sub: 'overseer' },
      'under the name of its client': { sub: 'worker-7', client_id: 'overseer' },
      'through an actor': { sub: 'worker-7', act: { sub: 'other', act: { sub: 'overseer' } } },
    };
    const vote = async (claims: object, request: { id: string; callDigest: string }, what = 'votes') => {
      const token = await service.tokenWith({ roles: [AGENT], ...claims });
      return service.fetch(`/requests/${request.id}/${what}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ verdict: 'approve', callDigest: request.callDigest, reason: 'x' }),
      });
    };

    it.each(Object.entries(tokens))('%s [ARAP-APV-02]', async (_name, claims) => {
      for (const who of [{ subject: 'overseer' }, { subject: 'rita', agent: 'overseer' }]) {
        const answer = await vote(claims, await open('byRole', who));
        expect([answer.status, answer.body.title]).toEqual([403, 'You requested this yourself']);
      }
      expect((await vote(claims, await open('byRole'))).status).toBe(200);
    });

    it('refuses a person who acts through the requesting client, also in an emergency', async () => {
      const request = await open(undefined, { subject: 'rita', agent: 'bot' });
      const claims = { sub: 'alice', roles: ['approver'], act: { sub: 'bot' } };
      const emergency = (act: string) => vote({ ...claims, sub: 'dora', act: { sub: act } }, request, 'break-glass');
      for (const { status, body } of [await vote(claims, request), await emergency('bot')]) {
        expect([status, body.title]).toEqual([403, 'You requested this yourself']);
      }
      expect((await emergency('another')).status).toBe(200);
    });
  });
});
