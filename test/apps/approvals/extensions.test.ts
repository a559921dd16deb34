import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { waitFor } from '../../support/wait-for.ts';

const timed = { name: 'owners', approvers: { people: ['alice', 'bob'] }, quorum: 2, withinSeconds: 600 };
const templates = {
  timed: { stages: [timed], maxExtensionSeconds: 1_800, notify: { channels: { email: 0 } } },
  fixed: { stages: [timed] },
  single: { stages: [{ ...timed, quorum: 1 }], maxExtensionSeconds: 1_800 },
};

describe('more time for a stage', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: { templates, requestTtlSeconds: 3_600, channels: {} },
      identity: {
        people: [
          ...['alice', 'bob', 'carol'].map((name) => ({ name, roles: ['approver'] })),
          { name: 'olga', roles: ['approver', 'approver-overseer'] },
          { name: 'sage', roles: ['approver-agent'] },
        ],
      },
    }),
  );
  afterAll(() => service.stop());

  const open = (template: keyof typeof templates = 'timed', subject = 'agent') =>
    service.open({ subject, claims: { template } });
  const extend = (name: string, id: string, more: object = {}) => {
    const body = JSON.stringify({ stage: 1, number: 1, minutes: 10, ...more });
    return service.asPerson(name, `/requests/${id}/extensions`, { method: 'POST', body });
  };
  const read = async (id: string) => (await service.asPerson('olga', `/requests/${id}`)).body.request;
  const FORM = 'Move the end of the stage';

  it('is given in a browser, once by each form, and by an approver who has voted', async () => {
    const request = await open();
    const alice = await service.signIn('alice');
    const before = (await read(request.id)).stage.endsAt;
    await service.vote('alice', request, 'approve');
    const page = await (await alice.go(`/requests/${request.id}`)).text();
    expect(page).toMatch(/name="minutes"[^>]* max="30"/);
    const form = { csrfToken: csrfTokenIn(page), stage: '1', number: '1', minutes: '10', reason: 'bob\nis at lunch' };
    const path = `/requests/${request.id}/extensions`;
    expect((await alice.go(path, { ...form, csrfToken: 'of another' })).status).toBe(403);
    expect([(await alice.go(path, form)).status, (await alice.go(path, form)).status]).toEqual([303, 303]);
    const { stage, extensions, expiresAt } = await read(request.id);
    expect(Date.parse(stage.endsAt) - Date.parse(before)).toBe(600_000);
    expect(extensions).toMatchObject([
      { by: { subject: 'alice' }, reason: 'bob is at lunch', from: before, to: stage.endsAt },
    ]);
    expect((await service.status(request.id)).body.task.expires_at).toBe(expiresAt);
    const bob = await service.signIn('bob');
    expect(await (await bob.go(`/requests/${request.id}`)).text()).toMatch(/name="minutes"[^>]* max="20"/);
  });

  it('is told to the people who were asked', async () => {
    const { id } = await open();
    const told = async () => {
      const { messages } = (
        await service.asPerson('alice', '/mailbox?person=bob', { headers: { accept: 'application/json' } })
      ).body;
      return (messages as { link: string; facts: string[][] }[]).filter(({ link }) => link.endsWith(id));
    };
    await waitFor(async () => (await told()).length === 1);
    await extend('alice', id);
    const [latest] = await waitFor(async () => ((await told()).length === 2 ? told() : undefined));
    expect(latest?.facts).toContainEqual(['Decide before', expect.stringMatching(/ \(an approver gave more time\)$/)]);
  });

  it('moves the one deadline that the page, the list, the messages and the API name, which is not the end of the request', async () => {
    const { id } = await open();
    const bob = await service.signIn('bob');
    const inPage = (page: string) => page.match(/Decide before<\/strong> <time datetime="([^"]+)"/)?.[1];
    const inRow = (list: string) =>
      list.match(new RegExp(`data-request="${id}".*?ends <time datetime="([^"]+)"`, 's'))?.[1];
    const inMessage = async () => {
      const { body } = await service.asPerson('alice', '/mailbox?person=bob', {
        headers: { accept: 'application/json' },
      });
      const [latest] = (body.messages as { link: string; facts: string[][] }[]).filter(({ link }) => link.endsWith(id));
      return latest?.facts.find(([name]) => name === 'Decide before')?.[1];
    };
    const said = async () => {
      const [page, list, request] = await Promise.all([
        bob.go(`/requests/${id}`).then((one) => one.text()),
        bob.go('/requests?status=yours&order=newest').then((one) => one.text()),
        read(id),
      ]);
      return {
        page: inPage(page),
        row: inRow(list),
        api: request.decideBefore,
        end: request.stage.endsAt,
        expires: request.expiresAt,
      };
    };
    const minute = (at: string) =>
      new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(
        new Date(at),
      );
    const first = await said();
    expect([first.page, first.row, first.api]).toEqual([first.end, first.end, first.end]);
    expect(Date.parse(first.expires) - Date.parse(first.end)).toBeGreaterThan(2_900_000);
    expect(await waitFor(inMessage)).toContain(minute(first.end));
    await extend('alice', id);
    const later = await said();
    expect([later.page, later.row, later.api]).toEqual([later.end, later.end, later.end]);
    expect(Date.parse(later.end) - Date.parse(first.end)).toBe(600_000);
    await waitFor(async () => (await inMessage())?.includes(minute(later.end)));
    const page = await (await bob.go(`/requests/${id}`)).text();
    expect(page.replaceAll(/<[^>]+>/g, '')).toMatch(/alice moved it from .+ UTC/);
  });

  it.each<[string, { readonly by: string; readonly more?: object }, number, string]>([
    ['a person of no stage', { by: 'carol' }, 404, 'There is no such request'],
    ['an overseer', { by: 'olga' }, 403, 'You cannot decide this request'],
    ['a supervising agent', { by: 'sage' }, 403, 'Only people can do this'],
    ['too much at once', { by: 'alice', more: { minutes: 31 } }, 409, 'The stage cannot end that late'],
    ['no time', { by: 'alice', more: { minutes: 0 } }, 400, 'The extension is not complete'],
    ['less than no time', { by: 'alice', more: { minutes: -5 } }, 400, 'The extension is not complete'],
    ['no whole number', { by: 'alice', more: { minutes: 1.5 } }, 400, 'The extension is not complete'],
    ['very much', { by: 'alice', more: { minutes: 2_000_000_000 } }, 400, 'The extension is not complete'],
    ['no stage', { by: 'alice', more: { stage: undefined } }, 400, 'The extension is not complete'],
    ['a stage that is not open', { by: 'alice', more: { stage: 2 } }, 409, 'The stage that you looked at has ended'],
    ['a form that saw another end', { by: 'alice', more: { number: 2 } }, 409, 'The end of the stage has moved since'],
  ])('is refused to or for %s', async (_what, { by, more }, status, title) => {
    const { id } = await open();
    const answer = await extend(by, id, more);
    expect([answer.status, answer.body.title]).toEqual([status, title]);
    expect((await read(id)).extensions).toBeUndefined();
  });

  it('is refused, and not offered, to the requester and where the template allows none', async () => {
    const [own, fixed] = [await open('single', 'alice'), await open('fixed')];
    expect((await extend('alice', own.id)).body.title).toBe('You requested this yourself');
    expect((await extend('alice', fixed.id)).body.title).toBe('The stage cannot end that late');
    const alice = await service.signIn('alice');
    for (const { id } of [own, fixed]) expect(await (await alice.go(`/requests/${id}`)).text()).not.toContain(FORM);
    const bob = await service.signIn('bob');
    expect(await (await bob.go(`/requests/${own.id}`)).text()).toContain(FORM);
  });

  it('keeps the text of a person who comes too late', async () => {
    const request = await open();
    const alice = await service.signIn('alice');
    const csrfToken = csrfTokenIn(await (await alice.go(`/requests/${request.id}`)).text());
    await service.vote('bob', request, 'deny');
    const form = { csrfToken, stage: '1', number: '1', minutes: '10', reason: 'wait for bob' };
    const answer = await alice.go(`/requests/${request.id}/extensions`, form);
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('wait for bob')]);
  });
});
