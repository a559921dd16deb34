import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { csrfTokenIn, wordsOf as textOf } from '../../support/pages.ts';

const stage = (people: string[], quorum = 1) => ({ stages: [{ name: 'one', approvers: { people }, quorum }] });

const wordsOf = (page: string) => textOf(page).replaceAll('&quot;', '"');

describe('requests that are decided together', () => {
  const service = new ApprovalsUnderTest();
  let alice: Browser;
  beforeAll(async () => {
    await service.start({
      approvals: {
        templates: {
          alice: stage(['alice']),
          both: stage(['alice', 'bob'], 2),
          bob: stage(['bob']),
          either: stage(['alice', 'bob']),
        },
      },
    });
    alice = await service.signIn('alice');
  });
  afterAll(() => service.stop());

  const open = (template: string, more: object = {}) => service.open({ claims: { template }, ...more });
  const address = (requests: readonly { id: string }[]) =>
    `/requests/batch?${requests.map(({ id }) => `id=${id}`).join('&')}`;
  const itemsIn = (page: string) => [...page.matchAll(/name="item" value="([^"]+)"/g)].map(([, item]) => item ?? '');
  const send = async (page: string, verdict: string, items = itemsIn(page), reason = 'all of them') => {
    const form = new URLSearchParams({ csrfToken: csrfTokenIn(page), verdict, reason });
    for (const item of items) form.append('item', item);
    return alice.go('/requests/batch', form);
  };
  const votesOn = async (ids: readonly string[]) => {
    const { rows } = await service.database.pool.query(
      'SELECT access_request_id, verdict, reason, call_digest, via FROM approvals.vote WHERE access_request_id = ANY ($1)',
      [ids],
    );
    return rows;
  };

  it('each get a vote over their own digest', async () => {
    const requests = [await open('alice'), await open('alice'), await open('alice')];
    const page = await (await alice.go(address(requests))).text();
    expect(itemsIn(page)).toHaveLength(3);
    const results = wordsOf(await (await send(page, 'approve')).text());
    expect(results).toContain('You approved 3 requests');
    const votes = await votesOn(requests.map(({ id }) => id));
    expect(votes).toHaveLength(3);
    for (const { id, callDigest } of requests) {
      const same = { verdict: 'approve', reason: 'all of them', via: 'inbox' };
      expect(votes).toContainEqual({ access_request_id: id, call_digest: callDigest, ...same });
    }
  });

  it('are decided fifty at once, and the rest of the selection comes after them', async () => {
    const requests: { readonly id: string }[] = [];
    for (let n = 0; n < 53; n += 1) requests.push(await open('alice', { tool: 'many__one', arguments: { n } }));
    const page = await (await alice.go(address(requests))).text();
    expect(itemsIn(page)).toHaveLength(50);
    expect(wordsOf(page)).toContain('After these come the 3 requests that you also selected.');
    const action = /action="(\/requests\/batch\?[^"]+)" data-decides/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const form = new URLSearchParams({ csrfToken: csrfTokenIn(page), verdict: 'deny' });
    for (const item of itemsIn(page)) form.append('item', item);
    const results = await (await alice.go(action, form)).text();
    const next = /href="(\/requests\/batch\?id=[^"]+)"/.exec(results)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const rest = itemsIn(await (await alice.go(next)).text()).map((item) => item.split(' ')[0]);
    expect(rest).toEqual(requests.slice(50).map(({ id }) => id));
  });

  it('are selected in their table only as far as they can be decided together', async () => {
    for (let n = 0; n < 55; n += 1) await open('alice', { tool: 'table__one', arguments: { n } });
    for (let n = 0; n < 3; n += 1) await open('both', { tool: 'table__two', arguments: { n } });
    const tableOf = async (tool: string, select: string) => {
      const { body } = await service.asPerson('alice', `/requests?tool=${tool}`);
      return (await alice.go(`/requests?limit=200&alike=${body.requests[0].alike}&select=${select}`)).text();
    };
    const boxesIn = (page: string) => page.match(/type="checkbox" form="batch"[^>]*>/g) ?? [];
    const all = await tableOf('table__one', 'all');
    expect(boxesIn(all)).toHaveLength(55);
    expect(boxesIn(all).filter((box) => /\bchecked\b/.test(box))).toHaveLength(50);
    expect(wordsOf(all)).toMatch(
      /Select the first 50, all that do not stand out, none\. At most 50 are decided at once\./,
    );
    const none = await tableOf('table__two', 'all');
    expect(boxesIn(none)).toEqual([]);
    expect(wordsOf(none)).toContain('You cannot decide any of these together');
  });

  it('say in whole sentences what a decision does', async () => {
    const page = wordsOf(await (await alice.go(address([await open('alice')]))).text());
    expect(page).toContain('Each request gets your vote for itself. If you approve, exactly this call runs');
  });

  it('say in whole sentences what a decision does', async () => {
    const page = wordsOf(await (await alice.go(address([await open('alice')]))).text());
    expect(page).toContain('Each request gets your vote for itself. If you approve, exactly this call runs');
  });

  it('are shown with all of their arguments', async () => {
    const request = await open('alice', { arguments: { path: '/srv/a', deep: [{ n: 1 }, { n: '1' }], none: {} } });
    const words = wordsOf(await (await alice.go(address([request]))).text());
    expect(words).toMatch(/deep\[0\]\.n 1.*deep\[1\]\.n "1".*none \{\}.*path "\/srv\/a"/s);
  });

  it('are left out with the reason, if they have to be opened or decided by others', async () => {
    const requests = {
      'It needs 2 approvers': await open('both'),
      'too long for this table': await open('alice', { arguments: { text: 'x'.repeat(600) } }),
      'characters that can mislead': await open('alice', { arguments: { text: 'a\u202eb' } }),
      'There is no such request': { id: 'arq_none', callDigest: '' },
      'You or your agent requested it': await open('either', { subject: 'alice' }),
    };
    const page = await (await alice.go(address(Object.values(requests)))).text();
    expect(itemsIn(page)).toEqual([]);
    for (const reason of Object.keys(requests)) expect(wordsOf(page)).toContain(reason);
  });

  it('are refused one by one: a refused vote keeps no other back', async () => {
    const [first, taken, last] = [await open('alice'), await open('alice'), await open('alice')];
    const page = await (await alice.go(address([first, taken, last]))).text();
    await service.vote('alice', taken, 'deny');
    const results = wordsOf(await (await send(page, 'approve')).text());
    expect(results).toContain('You approved 2 of 3 requests');
    expect(results).toContain('You have already decided this');
    const verdicts = (await votesOn([first.id, taken.id, last.id])).map(({ verdict }) => verdict).toSorted();
    expect(verdicts).toEqual(['approve', 'approve', 'deny']);
  });

  it.each([
    ['another digest', (item: string) => item.replace(/[0-9a-f]{64}$/, '0'.repeat(64)), 'about another call'],
    ['another generation', (item: string) => item.replace(' 1 1 ', ' 2 1 '), 'about another call'],
    ['another stage', (item: string) => item.replace(' 1 1 ', ' 1 2 '), 'stage that you looked at has ended'],
  ])('are not decided by a vote for %s', async (_name, changed, words) => {
    const request = await open('alice');
    const page = await (await alice.go(address([request]))).text();
    const answer = await (await send(page, 'approve', itemsIn(page).map(changed))).text();
    expect(wordsOf(answer)).toContain(words);
    expect(await votesOn([request.id])).toEqual([]);
  });

  it('are not decided without opening them by a form that adds what the page left out', async () => {
    const request = await open('alice', { arguments: { text: 'x'.repeat(600) } });
    const page = await (await alice.go(address([await open('alice')]))).text();
    const answer = await send(page, 'approve', [`${request.id} 1 1 ${request.callDigest}`]);
    expect(wordsOf(await answer.text())).toContain('too long for this table');
    expect(await votesOn([request.id])).toEqual([]);
  });

  it('take a reason that its field accepts, with any number of lines', async () => {
    const request = await open('alice');
    const page = await (await alice.go(address([request]))).text();
    // A browser sends two characters for the end of each line.
    const reason = 'a\r\n'.repeat(1_000);
    expect((await send(page, 'deny', itemsIn(page), reason)).status).toBe(200);
    expect(await votesOn([request.id])).toHaveLength(1);
  });

  it('are at most as many as a page of a list has, and at least one', async () => {
    expect((await alice.go('/requests/batch')).status).toBe(400);
    expect((await alice.go(address(Array.from({ length: 201 }, (_, n) => ({ id: `arq_${n}` }))))).status).toBe(400);
  });

  it('are not decided by an agent', async () => {
    const request = await open('alice');
    const token = await service.tokenWith({ sub: 'watcher', roles: ['supervising-agent', 'agent'] });
    const body = JSON.stringify({ verdict: 'approve', item: [`${request.id} 1 1 ${request.callDigest}`] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    expect((await service.fetch('/requests/batch', { method: 'POST', body, headers })).status).toBe(403);
    expect(await votesOn([request.id])).toEqual([]);
  });
});
