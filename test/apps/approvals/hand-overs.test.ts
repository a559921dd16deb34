import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { AROUND_OWNERS, ofOwners } from '../../support/owners.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { waitFor } from '../../support/wait-for.ts';

const templates = { one: ofOwners(['alice']), two: ofOwners(['alice', 'bob'], 2) };

describe('a hand-over of one request', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { templates, channels: {} }, identity: AROUND_OWNERS }));
  afterAll(() => service.stop());

  const open = (template: keyof typeof templates = 'one', subject = 'agent') =>
    service.open({ subject, claims: { template } });
  const handOver = (name: string, id: string, more: object = {}) => {
    const body = JSON.stringify({ to: 'dora', stage: 1, number: 1, ...more });
    return service.asPerson(name, `/requests/${id}/hand-overs`, { method: 'POST', body });
  };
  const mine = async (name: string) => {
    const { body } = await service.asPerson(name, '/requests?status=yours');
    return (body.requests as { id: string }[]).map(({ id }) => id);
  };
  const FORM = 'Hand this request over';

  /** What the other person was told about a request, the latest first. */
  const told = async ({ id }: { id: string }) => {
    const { body } = await service.asPerson('alice', '/mailbox?person=dora', {
      headers: { accept: 'application/json' },
    });
    return (body.messages as { link: string; outcome?: string }[]).filter(({ link }) => link.endsWith(id));
  };

  it('is made, told, used and shown in browsers, and says nothing about other requests', async () => {
    const [request, other] = [await open(), await open()];
    const [alice, dora] = [await service.signIn('alice'), await service.signIn('dora')];
    expect((await dora.go(`/requests/${request.id}`)).status).toBe(404);
    const page = await (await alice.go(`/requests/${request.id}`)).text();
    expect(page).toContain(FORM);
    const form = { csrfToken: csrfTokenIn(page), stage: '1', number: '1', to: 'dora' };
    const path = `/requests/${request.id}/hand-overs`;
    expect((await alice.go(path, { ...form, csrfToken: 'of another' })).status).toBe(403);
    expect([(await alice.go(path, form)).status, (await alice.go(path, form)).status]).toEqual([303, 303]);
    await waitFor(async () => (await told(request)).length === 1);
    expect(await (await alice.go(`/requests/${request.id}`)).text()).not.toContain(FORM);
    expect([await mine('dora'), (await dora.go(`/requests/${other.id}`)).status]).toEqual([[request.id], 404]);
    for (const browser of [alice, dora]) {
      expect(await (await browser.go('/delegations')).text()).toContain(`href="/requests/${request.id}"`);
    }
    const shown = await (await dora.go(`/requests/${request.id}`)).text();
    expect(shown).toContain('<option value="alice">alice (you stand in for them)</option>');
    expect(shown).not.toContain(FORM);
    const vote = { verdict: 'approve', callDigest: request.callDigest, stage: '1', onBehalfOf: 'alice' };
    expect((await dora.go(`/requests/${request.id}/votes`, { ...vote, csrfToken: csrfTokenIn(shown) })).status).toBe(
      303,
    );
    expect((await service.status(request.id)).body.task.status).toBe('approved');
  });

  it('ends when it is revoked: the other person neither reads nor decides', async () => {
    const request = await open();
    const { body } = await handOver('alice', request.id);
    expect(body.request).toMatchObject({ handOvers: [{ from: 'alice', to: 'dora' }] });
    await waitFor(async () => (await told(request)).length === 1);
    const { made } = (await service.asPerson('alice', '/delegations')).body;
    const { id } = (made as { id: string; accessRequestId?: string }[]).find(
      (one) => one.accessRequestId === request.id,
    )!;
    expect((await service.asPerson('alice', `/delegations/${id}/revoke`, { method: 'POST', body: '{}' })).status).toBe(
      200,
    );
    const [latest] = await waitFor(async () => ((await told(request)).length === 2 ? told(request) : undefined));
    expect(latest?.outcome).toBe('You cannot decide this any more.');
    const late = await service.vote('dora', request, 'approve', { onBehalfOf: 'alice' });
    expect([late.status, await mine('dora')]).toEqual([404, expect.not.arrayContaining([request.id])]);
    const again = await handOver('alice', request.id, { number: 2, to: 'bob' });
    expect(again.body.request.handOvers).toMatchObject([{ revokedAt: expect.any(String) }, { to: 'bob' }]);
  });

  it('counts for nothing when its author may not decide any more', async () => {
    const request = await open();
    await handOver('alice', request.id);
    const { people } = service.config.identity;
    const left = people.filter(({ name }) => name !== 'alice');
    await service.live.change({ ...service.config, identity: { ...service.config.identity, people: left } });
    expect((await service.vote('dora', request, 'approve', { onBehalfOf: 'alice' })).status).toBe(404);
    await service.live.change(service.config);
  });

  it.each<[string, { readonly by?: string; readonly more?: object }, number, string]>([
    ['a person of no stage', { by: 'dora', more: { to: 'bob' } }, 404, 'There is no such request'],
    ['an overseer', { by: 'olga' }, 403, 'You cannot decide this request'],
    ['a supervising agent', { by: 'sage' }, 403, 'Only people can do this'],
    ['oneself', { more: { to: 'alice' } }, 400, 'You cannot hand this over to yourself'],
    ['a stranger', { more: { to: 'mallory' } }, 400, 'There is no such approver'],
    ['a person who is no approver', { more: { to: 'olivia' } }, 400, 'There is no such approver'],
    ['a supervising agent as the other', { more: { to: 'sage' } }, 400, 'There is no such approver'],
    ['no person', { more: { to: ' ' } }, 400, 'The hand-over is not complete'],
    ['a stage that is not open', { more: { stage: 2 } }, 409, 'The stage that you looked at has ended'],
    ['a form that saw another hand-over', { more: { number: 2 } }, 409, 'You have handed this over before'],
  ])('is refused to or for %s', async (_what, { by = 'alice', more }, status, title) => {
    const answer = await handOver(by, (await open()).id, more);
    expect([answer.status, answer.body.title]).toEqual([status, title]);
  });

  it('is refused to the requester and by them, and to and by a person who has voted', async () => {
    const [own, voted] = [await open('two', 'rita'), await open('two')];
    expect((await handOver('alice', own.id, { to: 'rita' })).body.title).toBe('They cannot decide this request');
    expect((await handOver('rita', own.id)).body.title).toBe('You requested this yourself');
    await service.vote('bob', voted, 'approve');
    expect((await handOver('alice', voted.id, { to: 'bob' })).body.title).toBe('They have decided this already');
    expect((await handOver('bob', voted.id)).body.title).toBe('You have already decided this');
  });
});
