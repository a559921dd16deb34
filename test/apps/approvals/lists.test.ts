import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { wordsOf as textOf } from '../../support/pages.ts';

/** A call whose denial binds what the gateway says of the tool. */
const call = (tool: string, effect: string, args: JsonObject, people: { subject?: string; agent?: string } = {}) => ({
  ...people,
  tool,
  arguments: args,
  members: ['agent', 'arguments', 'call', 'call_digest'],
  context: { call: { tool, effect } },
});

const wordsOf = (page: string) => textOf(page).replaceAll('&quot;', '"');

describe('lists of requests', () => {
  const service = new ApprovalsUnderTest();
  let alice: Browser;
  beforeAll(async () => {
    await service.start({ tools: { files__write: { summary: 'Write {path} in {target.space}' } } });
    alice = await service.signIn('alice');
  });
  afterAll(() => service.stop());

  const page = async (query: string) => (await alice.go(`/requests?${query}`)).text();
  const found = async (query: string): Promise<string[]> => {
    const { body } = await service.asPerson('alice', `/requests?limit=200&${query}`);
    return body.requests.map(({ id }: { id: string }) => id);
  };

  it('offers the agents as soon as one of several asks for ten calls or more', async () => {
    const agents = async () => /<details class="by-agent.*?<\/details>/s.exec(await page('order=newest'))?.[0];
    await service.open(call('quiet__one', 'read', {}, { agent: 'quiet-host' }));
    const open = (tool: string) => service.open(call(tool, 'read', {}, { agent: 'busy <b>host' }));
    for (let n = 0; n < 9; n += 1) await open(n < 7 ? 'busy__much' : 'busy__little');
    expect(await agents()).toBeUndefined();
    await open('busy__little');
    const nav = (await agents()) ?? '';
    expect(nav).not.toContain('<b>');
    expect(wordsOf(nav)).toMatch(/host 10 requests: busy__much 7, busy__little 3quiet-host 1 request: quiet__one 1/);
    const [href = ''] = /\/requests[?][^"]+/.exec(nav) ?? [];
    const busy = await (await alice.go(href.replaceAll('&amp;', '&'))).text();
    expect(wordsOf(busy)).toContain('10 requests found');
    // One row for seven of one kind.
    expect(busy.match(/data-request=/g)).toHaveLength(4);
    expect(busy).not.toContain('<details class="by-agent');
  });

  describe('a row', () => {
    it("says what the call does, in the operator's sentence", async () => {
      const { id } = await service.open(call('files__write', 'write', { path: 'a.md', target: { space: 'docs' } }));
      const words = wordsOf(await page('tool=files__write'));
      expect(words).toContain('Write "a.md" in "docs"');
      expect(words).toContain('writes');
      expect(await found('tool=files__write')).toEqual([id]);
    });

    it('names the tool and its shortest arguments where the sentence lacks one', async () => {
      const long = 'x'.repeat(3_000);
      await service.open(
        call('files__write', 'write', { path: 'b.md', content: long, mode: 6 }, { agent: 'no-target' }),
      );
      const words = wordsOf(await page('agent=no-target'));
      expect(words).toMatch(/files__write path "b\.md" mode 6 content "x{79}…/);
    });

    it('shows a misleading argument as an escape, and a text in other quotes than a number', async () => {
      await service.open(call('odd__one', 'delete', { file: 'a\u202eb', count: '1', limit: 1 }));
      const words = wordsOf(await page('tool=odd__one'));
      expect(words).toContain('\\u202e');
      expect(words).not.toContain('\u202e');
      expect(words).toMatch(/count "1".*limit 1/);
    });

    it('says that no operator has stated the effect, if the denial does not bind it', async () => {
      await service.open({ ...call('plain__one', 'read', {}), members: ['agent', 'arguments', 'call_digest'] });
      expect(wordsOf(await page('tool=plain__one'))).toContain('effect unknown');
    });
  });

  describe('search', () => {
    it('finds a request by a value deep in its arguments, in any case and beyond what a row shows', async () => {
      const hidden = `${'y'.repeat(9_000)} Needle-77`;
      const { id } = await service.open(call('deep__one', 'read', { a: [{ b: { c: hidden } }] }));
      expect(await found('q=needle-77')).toEqual([id]);
      expect(await found('q=NEEDLE-77+deep__one')).toEqual([id]);
      expect(await found('q=needle-77+other')).toEqual([]);
    });

    it('finds a value as it was written: with quotes, line breaks and characters beyond ASCII', async () => {
      const { id } = await service.open(call('deep__two', 'read', { text: 'say "ÉTÉ"\nthen \u0001 stop' }));
      expect(await found(`q=${encodeURIComponent('"été"')}`)).toEqual([id]);
      expect(await found(`q=${encodeURIComponent('100%_')}`)).toEqual([]);
    });

    it('finds the requester and the agent, and not a digest', async () => {
      const request = await service.open(call('who__one', 'read', {}, { subject: 'wanda', agent: 'wanda-host' }));
      expect(await found('q=wanda-host')).toEqual([request.id]);
      expect(await found(`q=${request.callDigest.slice(-12)}`)).toEqual([]);
    });

    it('filters by tool, agent, requester and effect, and says when nothing is left', async () => {
      const { id } = await service.open(
        call('pay__one', 'external', { n: 1 }, { subject: 'paul', agent: 'paul-host' }),
      );
      for (const query of ['tool=pay__one', 'agent=paul-host', 'requester=paul', 'effect=external&requester=paul'])
        expect({ query, found: await found(query) }).toEqual({ query, found: [id] });
      expect(await found('effect=delete&requester=paul')).toEqual([]);
      expect(wordsOf(await page('effect=delete&requester=paul'))).toMatch(/Show all.*No request matches/s);
    });

    it.each(['effect=odd', 'order=odd', `q=${'x'.repeat(2_000)}`, 'tool=a%00b'])('refuses %s', async (query) => {
      expect((await service.asPerson('alice', `/requests?${query}`)).status).toBe(400);
    });

    it('keeps the filter on the way to the next page', async () => {
      const ids = [];
      for (let n = 0; n < 3; n += 1) ids.push((await service.open(call('page__one', 'read', { n }))).id);
      const first = await page('tool=page__one&limit=2');
      const next = /rel="next" href="([^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const second = await (await alice.go(next)).text();
      expect([...second.matchAll(/data-request="([^"]+)"/g)].map(([, id]) => id)).toEqual(ids.slice(2));
    });
  });

  it.each([
    ['U+0000', 'a\u0000zero-1'],
    ['the escape of U+0000 as a text', 'a\\u0000zero-2'],
    ['the end of an outline', '","shape":"0000zero-3'],
  ])('lists and finds a request with %s in its arguments, and the others beside it', async (_what, value) => {
    const { id } = await service.open(call('nul__one', 'read', { [value]: value }));
    const other = await service.open(call('nul__one', 'read', { plain: `beside ${value.slice(-6)}` }));
    expect(await found('tool=nul__one')).toEqual(expect.arrayContaining([id, other.id]));
    expect(await found(`q=${value.slice(-6)}`)).toEqual([id, other.id]);
    expect((await alice.go('/requests?tool=nul__one')).status).toBe(200);
  });

  it('are short beside a request, for the same agent, and lead to the whole list', async () => {
    const agent = 'host <b>\u202e';
    const of = (path: string, subject: string) =>
      service.open(call('files__write', 'write', { path, target: { space: 'docs' } }, { subject, agent }));
    const denied = await of('one.md', 'paul');
    await service.vote('alice', denied, 'deny');
    const other = await of('two.md', 'pia');
    const here = await of('three.md', 'paul');
    const request = await (await alice.go(`/requests/${here.id}`)).text();
    const section = /<section class="card" aria-labelledby="same-agent">.*?<\/section>/s.exec(request)?.[0] ?? '';
    expect(wordsOf(section)).toMatch(
      /Before, with this tool.*Write "one\.md" in "docs".*Denied by alice.*Also open.*Write "two\.md".*for pia.*1 more open request/s,
    );
    expect(section).not.toMatch(/\u202e|<b>|three\.md/);
    const links = [...section.matchAll(/href="([^"]+)"/g)].map(([, href]) => href?.replaceAll('&amp;', '&') ?? '');
    expect(links.filter((href) => !href.includes('?'))).toEqual([denied, other].map(({ id }) => `/requests/${id}`));
    const whole = await Promise.all(links.filter((href) => href.includes('?')).map(async (href) => alice.go(href)));
    const listed = (page: string) => [...page.matchAll(/data-request="([^"]+)"/g)].map(([, id]) => id);
    expect(await Promise.all(whole.map(async (one) => listed(await one.text())))).toEqual([
      [denied.id],
      [other.id, here.id],
    ]);
  });

  it('have one row for many requests of one kind, which counts them and names those that stand out', async () => {
    const open = (amount: number) =>
      service.open(call('fee__pay', 'external', { amount, to: 'acct-1' }, { agent: 'fee-host' }));
    const opened = [];
    for (const amount of [101, 102, 9_000, 104, 105]) opened.push(await open(amount));
    const other = await service.open(call('fee__ask', 'read', { n: 1 }, { agent: 'fee-host' }));
    const rowsOf = async (query: string) =>
      [...(await page(query)).matchAll(/<li id="row-.*?<\/li>/gs)].map(([row]) => row);
    const [row = '', alone = ''] = await rowsOf('agent=fee-host');
    expect(row).toContain(`data-request="${opened[0]?.id}"`);
    expect(alone).toContain(`data-request="${other.id}"`);
    expect(wordsOf(row)).toMatch(/4 more like this · 1 stands out amount 9000 · asked by/);
    expect(row).toMatch(new RegExp(`href="/requests/${opened[2]?.id}[?]from=[^"]+" title="far above the others"`));
    expect(alone).not.toContain('more like this');
    expect(await rowsOf('q=fee__pay')).toHaveLength(5);
    expect(await found('agent=fee-host')).toHaveLength(6);
  });

  it('have as many requests on a page as fill it with rows, so that a flood of one kind hides no other', async () => {
    for (let n = 0; n < 70; n += 1) await service.open(call('flood__one', 'read', { n }, { agent: 'flood-host' }));
    const after = await service.open(call('flood__other', 'read', {}, { agent: 'flood-host' }));
    const flooded = await page('agent=flood-host');
    expect([...flooded.matchAll(/data-request="([^"]+)"/g)]).toHaveLength(2);
    expect(flooded).toContain(`data-request="${after.id}"`);
    expect(wordsOf(flooded)).toContain('69 more like this');
    for (let n = 0; n < 60; n += 1) await service.open(call(`wide__${n}`, 'read', {}, { agent: 'wide-host' }));
    const wide = await page('agent=wide-host');
    expect([...wide.matchAll(/data-request="([^"]+)"/g)]).toHaveLength(50);
    const next = /rel="next" href="([^"]+)"/.exec(wide)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect([...(await (await alice.go(next)).text()).matchAll(/data-request="([^"]+)"/g)]).toHaveLength(10);
  });

  it('say how a request ended: by whom, by which way, and what became of the approval', async () => {
    const open = (n: number) => service.open(call(`how__${n}`, 'read', {}, { agent: 'how-host' }));
    const [hooked, sent] = [await open(1), await open(2)];
    const cancelled = await service.open(call('how__3', 'read', {}, { agent: 'how-host', subject: 'alice' }));
    await service.voteByWebhook('alice', hooked, 'approve');
    await service.vote('alice', sent, 'deny');
    await service.asPerson('alice', `/requests/${cancelled.id}/cancel`, { method: 'POST', body: '{}' });
    const ended = await page('status=ended&agent=how-host');
    const words = (id: string) => wordsOf(new RegExp(`<li id="row-${id}".*?</li>`, 's').exec(ended)?.[0] ?? '');
    expect(words(hooked.id)).toMatch(/approved by alice by webhook.*not taken yet Approved/s);
    expect(words(sent.id)).toMatch(/denied by alice by a program/);
    expect(words(cancelled.id)).toMatch(/by alice\s+Cancelled/);
    await service.status(hooked.id);
    expect(wordsOf(await page('status=ended&agent=how-host'))).toContain('taken by its client Approved');
  });

  it('call an agent by the name that it gives itself, in quotation marks and beside its id', async () => {
    service.agentNames.set('Host-1', 'Claude <b>Code');
    const { id } = await service.open(call('name__one', 'read', {}, { subject: 'nina', agent: 'Host-1' }));
    for (const shown of [await page('agent=Host-1'), await (await alice.go(`/requests/${id}`)).text()]) {
      expect(shown).not.toContain('<b>');
      expect(wordsOf(shown)).toMatch(/“Claude &lt;b>Code” \(Host-1\)/);
    }
  });

  it('puts the earliest deadline first', async () => {
    const soon = { body: { requested_access: { requested_until: new Date(Date.now() + 3_600_000).toISOString() } } };
    const late = await service.open(call('order__one', 'read', { n: 1 }));
    const early = await service.open({ ...call('order__one', 'read', { n: 2 }), ...soon });
    await service.database.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER`);
    await service.database.pool.query(
      `UPDATE approvals.access_request SET expires_at = now() + interval '1 hour' WHERE id = $1`,
      [early.id],
    );
    await service.database.pool.query(`ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    expect(await found('tool=order__one&order=soonest')).toEqual([early.id, late.id]);
  });

  it('shows requests of one kind as a table, and marks what stands out', async () => {
    const amounts = [101, 102, 9_000, 104];
    const open = (amount: number) =>
      service.open(call('bank__pay', 'external', { amount, to: `acct-${amount}`, currency: 'EUR' }));
    for (const amount of amounts) await open(amount);
    const other = await service.open(call('bank__pay', 'external', { amount: 1 }));
    const list = await page('tool=bank__pay');
    const href = /href="(\/requests\?[^"]*alike=[^"]+)"[^>]*>3 more like this/
      .exec(list)?.[1]
      ?.replaceAll('&amp;', '&');
    const table = await (await alice.go(href ?? '')).text();
    expect(table).not.toContain(other.id);
    const rows = [...table.matchAll(/<tr id="row-.*?<\/tr>/gs)].map(([row]) => wordsOf(row));
    expect(rows).toHaveLength(4);
    expect(rows.map((row) => row.includes('stands out'))).toEqual([false, false, true, false]);
    expect(wordsOf(table)).toMatch(/In common: currency "EUR"/);
  });
});
