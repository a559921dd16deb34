import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { beginSignIn } from '../../../support/signing-in.ts';
import { BY_BROWSER } from './by-browser.ts';
import { BY_PROGRAM, type Way } from './by-program.ts';
import { ofPerson } from '../../../support/submissions.ts';
import { Scene, type Held } from './scene.ts';

const WAYS: readonly (readonly [string, Way])[] = [...Object.entries(BY_PROGRAM), ...Object.entries(BY_BROWSER)];
const LEAST_WAYS = 40;

describe('an agent whose person may confirm its call', () => {
  const scene = new Scene();
  let person!: Awaited<ReturnType<Scene['enter']>>;
  /** All ways are tried on the same call. */
  let held!: Held;
  beforeAll(async () => {
    await scene.start();
    person = await scene.enter('alice');
    held = await scene.hold();
  });
  afterAll(() => scene.stop());

  it('has at least forty ways to try', () => {
    expect(new Set(WAYS.map(([name]) => name)).size).toBeGreaterThanOrEqual(LEAST_WAYS);
  });

  it.each(WAYS)('cannot confirm it with %s', async (_name, way) => {
    const statuses = await way(scene, held);
    expect(statuses.length).toBeGreaterThan(0);
    for (const status of statuses) expect(status).toBeGreaterThanOrEqual(400);
    expect(await scene.outcome(held)).toEqual({ status: 'pending', votes: 0 });
  });

  it('has failed by its ways alone: after them its person can still confirm', async () => {
    expect(await scene.vote(person.site, held)).toBe(303);
    expect(await scene.outcome(held)).toEqual({ status: 'approved', votes: 1 });
  });

  it.each([
    ['has an account of its own', { person: 'agent', agent: 'agent' }, {}],
    ['asks for another person than that of its token', { person: 'alice', agent: 'a-host' }, { subject: 'bob' }],
  ])('gets a clear refusal where only a person may confirm, and it %s', async (_what, who, changes) => {
    const { service } = scene;
    const own = ofPerson(service.config.urls.issuer, who);
    const body = await service.submission({ ...own, claims: { template: 'own' }, ...changes });
    const answer = await service.submit(body);
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.objectContaining({
        type: 'urn:openid:authzen:access-request:error:not_requestable',
        detail: expect.stringContaining('only the requester may confirm this, and no person asks'),
      }),
    ]);
  });

  it('with an account of its own waits for the other approvers of a stage', async () => {
    const { service } = scene;
    const own = ofPerson(service.config.urls.issuer, { person: 'agent', agent: 'agent' });
    const held = await service.open({ ...own, claims: { template: 'either' } });
    expect((await service.vote('bob', held, 'approve')).body.request.status).toBe('approved');
  });

  it('is marked in the list of what its person can decide, in the browser only', async () => {
    const held = await scene.hold();
    const { site } = await scene.enter('alice');
    const list = async (browser: typeof site) => (await browser.go('/requests?status=yours&order=newest')).text();
    expect(await list(site)).toMatch(new RegExp(`${held.id}.*?your agent`, 's'));
    const { body } = await scene.service.asPerson('alice', '/requests?status=yours');
    expect((body.requests as { id: string }[]).map(({ id }) => id)).not.toContain(held.id);
    expect(await list((await scene.enter('bob')).site)).not.toContain(held.id);
  });

  it('waits for its person, who signs in again and confirms', async () => {
    const held = await scene.hold();
    const { site, atIssuer } = await scene.stale();
    const page = async () => (await site.go(`/requests/${held.id}`)).text();
    expect(await page()).toContain(`href="/sign-in?returnTo=%2Frequests%2F${held.id}&amp;fresh=1"`);
    expect(await page()).not.toContain('Confirm and run');
    await site.go(await beginSignIn({ site, atIssuer, name: 'alice', fresh: true }));
    expect(await page()).toContain('Confirm and run');
    expect(await scene.vote(site, held, { reason: 'I asked for it.' })).toBe(303);
    expect(await page()).toMatch(/You confirmed this.*alice.*\(the requester\).*approved/s);
  });
});
