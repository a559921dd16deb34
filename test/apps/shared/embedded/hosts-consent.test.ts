import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser } from '../../../support/browser.ts';
import { type Host, startHostIssuer } from '../../../support/hosts.ts';

let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
let host: Host;
beforeAll(async () => {
  issuer = await startHostIssuer({ settings: { identity: { hosts: { registrationsPerMinute: 10_000 } } } });
  host = await issuer.register();
});
afterAll(() => issuer.stop());

const begin = async (one = host) => issuer.open((await issuer.asks(one)).address);

describe('no token without a press on the page', () => {
  it('refuses an answer from another browser', async () => {
    const page = await begin();
    const answer = await new Browser(issuer.url).go(page.action, { person: 'bob', agreement: page.agreement });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  it('refuses an answer to the sign-in of another browser', async () => {
    const [mine, theirs] = [await begin(), await begin()];
    const answer = await mine.browser.go(theirs.action, { person: 'bob', agreement: theirs.agreement });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  it.each(['cross-site', 'same-site', 'none'])(
    'refuses an answer that a page of another site sends (%s)',
    async (site) => {
      const page = await begin();
      const form = { person: 'bob', agreement: page.agreement };
      const answer = await page.browser.go(page.action, form, { 'sec-fetch-site': site });
      expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
      expect(await answer.text()).toContain('Open the sign-in again from your program.');
    },
  );

  it.each([{}, { agreement: '' }, { agreement: '0'.repeat(64) }])(
    'asks again for an answer to another page: %j',
    async (form) => {
      const page = await begin();
      const answer = await page.browser.go(page.action, { person: 'bob', ...form });
      expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
      expect(await answer.text()).toContain('Read it again.');
    },
  );

  it('takes no answer of one host for another', async () => {
    const other = await issuer.register('http://127.0.0.1/other', { client_name: 'Another' });
    const [page, foreign] = [await begin(), await begin(other)];
    const answer = await page.browser.go(page.action, { person: 'bob', agreement: foreign.agreement });
    expect(answer.headers.get('location')).toBeNull();
  });

  it('refuses a person who is not on the list', async () => {
    const page = await begin();
    const answer = await page.browser.go(page.action, { person: 'mallory', agreement: page.agreement });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  it('asks again at every sign-in, also in the same browser', async () => {
    const page = await begin();
    await issuer.press(page, { person: 'bob' });
    const { address } = await issuer.asks(host);
    expect((await issuer.open(address, page.browser)).html).toContain('Let a program act for you?');
    const { address: silent } = await issuer.asks(host, { prompt: 'none' });
    const { answer } = await issuer.open(silent, page.browser);
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('error')).toBe('login_required');
  });

  it('takes one answer to each page', async () => {
    const page = await begin();
    expect((await issuer.press(page, { person: 'bob' })).searchParams.get('code')).not.toBeNull();
    const again = await page.browser.go(page.action, { person: 'alice', agreement: page.agreement });
    expect([again.status, again.headers.get('location')]).toEqual([400, null]);
  });
});

describe('many sign-ins that no person answers', () => {
  it('keep no person out', async () => {
    const mine = await begin();
    for (let round = 0; round < 10; round += 1) {
      const { address } = await issuer.asks(host);
      await Promise.all(Array.from({ length: 40 }, () => fetch(address, { redirect: 'manual' })));
    }
    expect((await issuer.press(mine, { person: 'bob' })).searchParams.get('code')).not.toBeNull();
  });
});

describe('a person who is taken off the list', () => {
  it('has no token at the next refresh', async () => {
    const { refresh_token: token } = await issuer.signIn(host, 'olivia');
    const people = issuer.config.identity.people;
    const at = people.findIndex(({ name }) => name === 'olivia');
    const [olivia] = people.splice(at, 1);
    try {
      expect(await issuer.refresh(host, token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    } finally {
      if (olivia !== undefined) people.splice(at, 0, olivia);
    }
  });
});
