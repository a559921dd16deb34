import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Figure, FigureSort } from '../../../apps/approvals/figures.ts';
import { createFigureStore } from '../../../apps/approvals/stores/figures.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { manyEnded } from '../../support/many-ended.ts';
import { csrfTokenIn, wordsOf } from '../../support/pages.ts';
import { ofPerson } from '../../support/submissions.ts';

const DAY_MS = 86_400_000;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const [yesterday, tomorrow] = [dayOf(Date.now() - DAY_MS), dayOf(Date.now() + DAY_MS)];
const RANGE = `from=${yesterday}&to=${tomorrow}`;

describe('the figures', () => {
  const service = new ApprovalsUnderTest();
  let alice: Browser;
  let olga: Browser;
  beforeAll(async () => {
    await service.start({
      approvals: { breakGlass: { enabled: true, approvers: { people: ['sam'] } } },
      identity: {
        people: [
          ...['alice', 'bob', 'sam'].map((name) => ({ name, roles: ['approver'] })),
          { name: 'olga', roles: ['approver', 'approver-overseer'] },
          { name: 'agnes', roles: ['agent', 'approver-overseer'] },
        ],
      },
    });
    [alice, olga] = [await service.signIn('alice'), await service.signIn('olga')];
  });
  afterAll(() => service.stop());
  beforeEach(() => asOwner('TRUNCATE approvals.access_request CASCADE'));

  /** Runs statements without the fences, which refuse them. */
  const asOwner = (sql: string) =>
    service.database.pool.query(
      `SET session_replication_role = replica; ${sql}; SET session_replication_role = origin`,
    );
  const figures = async (query = RANGE) => (await service.asPerson('olga', `/figures?${query}`)).body;
  const page = async (query = RANGE) => (await olga.go(`/figures?${query}`)).text();

  const openingsOf = async (id: string) => {
    const text = 'SELECT subject, at FROM approvals.page_opening WHERE access_request_id = $1 ORDER BY subject';
    return (await service.database.pool.query<{ subject: string; at: Date }>(text, [id])).rows;
  };
  /** Lets a person approve in the browser, so many seconds after they opened the page. */
  const approve = async (browser: Browser, secondsAfter: number) => {
    const request = await service.open();
    const html = await (await browser.go(`/requests/${request.id}`)).text();
    const form = { csrfToken: csrfTokenIn(html), callDigest: request.callDigest, generation: '1', verdict: 'approve' };
    await browser.go(`/requests/${request.id}/votes`, form);
    await asOwner(`UPDATE approvals.page_opening o SET at = v.at - interval '${secondsAfter} s' FROM approvals.vote v
      WHERE o.access_request_id = '${request.id}' AND v.access_request_id = o.access_request_id`);
    return request;
  };

  it('count what a reader of all requests and votes would count', async () => {
    const count = 140;
    await manyEnded(service.database.pool, count);
    const found = await figures(`${RANGE}&limit=1000`);
    const decided = Array.from({ length: count }, (_, at) => at + 1).filter((n) => n % 100 !== 0);
    const expected = (keysOf: (n: number) => string[]) => {
      const groups = new Map<string, number[]>();
      for (const n of decided) for (const key of keysOf(n)) groups.set(key, [...(groups.get(key) ?? []), n]);
      return [...groups].map(([key, all]) => {
        const approved = all.filter((n) => n % 7 > 0);
        const times = { medianSeconds: percentile(all, 0.5), p90Seconds: percentile(all, 0.9) };
        const quick = approved.filter((n) => n % 60 <= 10).length;
        const denied = all.length - approved.length;
        return { key, name: null, approved: approved.length, denied, ...times, opened: approved.length, quick };
      });
    };
    const byKey = (rows: readonly Figure[]) =>
      rows
        .map((row) => ({ ...row, medianSeconds: rounded(row.medianSeconds), p90Seconds: rounded(row.p90Seconds) }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const rules = expected((n) => [`rule ${n % 60}`, ...(n % 7 > 0 ? ['usual'] : [])]);
    expect(byKey(found.person.rows)).toEqual(byKey(expected((n) => [`person${n % 50}`])));
    expect(byKey(found.tool.rows)).toEqual(byKey(expected((n) => [`tool__${n % 40}`])));
    expect(byKey(found.template.rows)).toEqual(byKey(expected((n) => [`template${n % 5}`])));
    expect(byKey(found.rule.rows)).toEqual(byKey(rules));
    expect(byKey(found.always.rows)).toEqual(byKey(rules.filter(({ key }) => key === 'usual')));
    expect(found.ends).toEqual({ people: 139, programs: 1, emergency: 0, undecided: 0 });
    expect([found.person.count, found.rule.count, found.isCut]).toEqual([50, 61, false]);
  });

  it('count an emergency grant and an undecided request as no decision of a person', async () => {
    const own = ofPerson(service.config.urls.issuer, { person: 'alice', agent: 'coder' });
    const [granted, cancelled] = [await service.open(), await service.open(own)];
    const reason = JSON.stringify({ reason: 'the disk is full', callDigest: granted.callDigest });
    await service.asPerson('sam', `/requests/${granted.id}/break-glass`, { method: 'POST', body: reason });
    await service.asGateway(`/access/v1/requests/${cancelled.id}/cancel`, { method: 'POST' });
    const { ends, person, tool } = await figures();
    expect(ends).toEqual({ people: 0, programs: 0, emergency: 1, undecided: 1 });
    expect([person, tool]).toEqual([
      { count: 0, rows: [] },
      { count: 0, rows: [] },
    ]);
    expect(wordsOf(await page())).toContain('People decided nothing');
  });

  it('count approvals within ten seconds after the first opening of the page', async () => {
    for (const seconds of [9, 11]) await approve(alice, seconds);
    const { id, callDigest } = await service.open();
    await service.vote('bob', { id, callDigest }, 'approve');
    const { person } = await figures();
    const shares = person.rows.map(({ key, approved, opened, quick }: Figure) => ({ key, approved, opened, quick }));
    expect(shares).toEqual([
      { key: 'alice', approved: 2, opened: 2, quick: 1 },
      { key: 'bob', approved: 1, opened: 0, quick: 0 },
    ]);
    const words = wordsOf(await page());
    expect(words).toContain('50% of 2');
    expect(words).toContain('none opened');
  });

  it('know the first opening by each person who can decide, and no other', async () => {
    const { id, callDigest } = await service.open();
    await alice.go(`/requests/${id}`);
    const [first] = await openingsOf(id);
    await alice.go(`/requests/${id}`);
    await service.asPerson('bob', `/requests/${id}`);
    expect(await openingsOf(id)).toEqual([first]);
    await service.vote('bob', { id, callDigest }, 'approve');
    await olga.go(`/requests/${id}`);
    expect(await openingsOf(id)).toEqual([first]);
    await expect(service.database.pool.query('UPDATE approvals.page_opening SET at = now()')).rejects.toThrow(
      /never changed/,
    );
  });

  it('know the last opening, and announce it to open pages when it is new or the one before is five minutes old', async () => {
    const { id } = await service.open();
    const listener = await service.database.pool.connect();
    const announced: string[] = [];
    listener.on('notification', ({ channel }) => announced.push(channel));
    await listener.query('LISTEN approvals_changed');
    const opened = async (minutesBefore = 0) => {
      const age = `interval '${minutesBefore} min'`;
      await asOwner(`UPDATE approvals.page_opening SET last_at = last_at - ${age} WHERE access_request_id = '${id}'`);
      announced.length = 0;
      await alice.go(`/requests/${id}`);
      // Notices come before the answer to a later statement.
      await listener.query('SELECT 1');
      return announced.length;
    };
    expect([await opened(), await opened(), await opened(4), await opened(2)]).toEqual([1, 0, 0, 1]);
    listener.release(true);
    const readByOlga = async () => wordsOf(await (await olga.go(`/requests/${id}`)).text());
    expect(await readByOlga()).toContain('alice opened this page');
    await asOwner(
      `UPDATE approvals.page_opening SET last_at = last_at - interval '10 min' WHERE access_request_id = '${id}'`,
    );
    expect(await readByOlga()).not.toContain('opened this page');
  });

  it('leave out what ended on other days, and say from when the figures are', async () => {
    await manyEnded(service.database.pool, 20);
    const [first, last] = [dayOf(Date.now() - 40 * DAY_MS), dayOf(Date.now() - 20 * DAY_MS)];
    const found = await figures(`from=${first}&to=${last}`);
    expect([found.person.count, found.keptSince.slice(0, 10) > last]).toEqual([0, true]);
    expect(wordsOf(await page(`from=${first}&to=${last}`))).toContain('so the figures of these days begin there');
  });

  it.each<[FigureSort, string, (row: Figure) => number | string]>([
    ['name', 'asc', ({ key }) => key],
    ['approved', 'desc', ({ approved }) => -approved],
    ['denied', 'desc', ({ denied }) => -denied],
    ['median', 'desc', ({ medianSeconds }) => -medianSeconds],
    ['p90', 'asc', ({ p90Seconds }) => p90Seconds],
    ['quick', 'desc', ({ quick, opened }) => -quick / opened],
  ])('sort by %s (%s), and name how many there are', async (sort, order, valueOf) => {
    await manyEnded(service.database.pool, 140);
    const query = `${RANGE}&sort=${sort}&order=${order}&limit=7`;
    const { rows, count } = (await figures(query)).tool;
    const values = rows.map(valueOf);
    expect(values).toEqual(values.toSorted((a: never, b: never) => (a < b ? -1 : a > b ? 1 : 0)));
    expect([rows.length, count]).toEqual([7, 40]);
    const html = await page(query);
    expect(html.match(/aria-sort="(\w+)"/g)).toEqual(
      Array.from({ length: 4 }, () => `aria-sort="${order === 'asc' ? 'ascending' : 'descending'}"`),
    );
    expect(wordsOf(html)).toContain('The first 7 of 40');
  });

  it('say that only the latest are counted if a range has too many', async () => {
    const pool = {
      query: ({ text, values }: { text: string; values: unknown[] }) =>
        service.database.pool.query(text, values.with(2, 100)),
    };
    await manyEnded(service.database.pool, 140);
    const range = { from: new Date(yesterday), until: new Date(tomorrow) };
    const few = createFigureStore(pool as never);
    const found = await few.figures({ ...range, sort: 'name', order: 'asc', limit: 50 });
    // The program decided the last of the hundred.
    expect(found.ends).toMatchObject({ people: 99, programs: 1 });
  });

  it.each(['from=2026-02-30', 'from=2026-01-02&to=2026-01-01', 'from=2020-01-01', 'sort=odd', 'order=up', 'limit=0'])(
    'refuse %s',
    async (query) => {
      expect((await service.asPerson('olga', `/figures?${query}`)).status).toBe(400);
    },
  );

  it('are for overseers, who alone have a tab for them', async () => {
    expect((await service.asPerson('alice', '/figures')).status).toBe(403);
    expect((await service.asPerson('agnes', '/figures')).status).toBe(403);
    expect((await alice.go('/figures')).status).toBe(403);
    const tab = 'href="/figures"';
    for (const path of ['/requests', '/grants', '/delegations', '/passkeys']) {
      expect(await (await alice.go(path)).text()).not.toContain(tab);
      expect(await (await olga.go(path)).text()).toContain(tab);
    }
  });
});

/** As `percentile_cont`, over how long each request was open. */
function percentile(all: readonly number[], share: number): number {
  const sorted = all.map((n) => n % 997).toSorted((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
  return below + (above - below) * (place - Math.floor(place));
}

const rounded = (seconds: number) => Math.round(seconds * 1_000) / 1_000;
