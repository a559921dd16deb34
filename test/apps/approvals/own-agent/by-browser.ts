import { freshSignInPath } from '../../../../apps/shared/auth/fresh-sign-in.ts';
import { Browser } from '../../../support/browser.ts';
import { csrfTokenIn } from '../../../support/pages.ts';
import type { Way } from './by-program.ts';
import { type Scene, seconds } from './scene.ts';

/** The state of a fresh sign-in that this browser begins, and its parameters. */
async function begun(site: Browser) {
  const address = new URL((await site.go(freshSignInPath('/requests'))).headers.get('location') ?? '');
  return { address, state: address.searchParams.get('state') ?? '' };
}
const callback = ({ service }: Scene, params: Record<string, string>) =>
  `/oidc/callback?${new URLSearchParams({ iss: service.config.urls.issuer, ...params }).toString()}`;

/** A fresh sign-in whose ID token has these claims, and then a vote. */
const afterSignIn =
  (claims: () => object): Way =>
  async (scene, held) => {
    const { site, status } = await scene.signInAgain((idToken) => scene.service.resigned(idToken, claims()));
    return [status, await scene.vote(site, held)];
  };

/** What an agent can try with a browser, its sessions and the way of the sign-in, short of its person's own fresh sign-in. */
export const BY_BROWSER: Readonly<Record<string, Way>> = {
  'a session whose sign-in is too old': async (scene, held) => [await scene.vote((await scene.stale()).site, held)],
  'a session whose issuer did not say when its person signed in': async (scene, held) => {
    const { site } = await scene.enter('alice');
    await scene.alter(site, {});
    return [await scene.vote(site, held)];
  },
  'the fresh session of another approver': async (scene, held) => [
    await scene.vote((await scene.enter('bob')).site, held),
  ],
  'the fresh session of another approver, in the place of its person': async (scene, held) => [
    await scene.vote((await scene.enter('bob')).site, held, { onBehalfOf: 'alice' }),
  ],
  'the fresh session of a person who stands in for its person': async (scene, held) => {
    const { site: alice } = await scene.enter('alice');
    const csrfToken = csrfTokenIn(await (await alice.go('/delegations')).text());
    const until = new Date(Date.now() + 86_400_000).toISOString();
    await alice.go('/delegations', { csrfToken, delegate: 'bob', until: until.slice(0, 10) });
    const { site: bob } = await scene.enter('bob');
    return [await scene.vote(bob, held, { onBehalfOf: 'alice' }), await scene.vote(bob, held)];
  },
  'a session of a supervising agent': async (scene, held) => [
    await scene.vote((await scene.enter('robot')).site, held),
  ],
  'an emergency grant in the fresh session of its person': async (scene, { id, callDigest }) => {
    const { site } = await scene.enter('alice');
    const csrfToken = csrfTokenIn(await (await site.go('/delegations')).text());
    const form = { csrfToken, callDigest, generation: '1', reason: 'It cannot wait.' };
    return [scene.statusOf(await site.go(`/requests/${id}/break-glass`, form))];
  },
  'a form of another site in the browser of its person, without the token of the page': async (scene, held) => [
    await scene.vote((await scene.enter('alice')).site, held, { csrfToken: '' }),
  ],
  'a form of another site in the browser of its person, with the token of the page': async (scene, held) => [
    await scene.vote((await scene.enter('alice')).site, held, {}, { 'sec-fetch-site': 'cross-site' }),
  ],
  'a bearer token in the browser of its person': async (scene, held) => {
    const headers = { authorization: `Bearer ${scene.tokens.access_token}` };
    return [await scene.vote((await scene.enter('alice')).site, held, {}, headers)];
  },
  'a session with a made-up signature': async (scene, { id, callDigest }) => {
    const { site } = await scene.enter('alice');
    const cookie = scene.cookieOf(site, `s%3A${scene.sidOf(site)}.bWFkZSB1cA`);
    return [await scene.send(`/requests/${id}/votes`, { cookie }, { verdict: 'approve', callDigest })];
  },
  'a session with no signature': async (scene, { id, callDigest }) => {
    const { site } = await scene.enter('alice');
    const cookie = scene.cookieOf(site, scene.sidOf(site));
    return [await scene.send(`/requests/${id}/votes`, { cookie }, { verdict: 'approve', callDigest })];
  },
  "a session of the auditors' pages": async (scene, held) => {
    const { site } = await scene.enter('alice');
    const sid = scene.sidOf(site);
    const { pool } = scene.service.database;
    await pool.query('INSERT INTO audit.session SELECT * FROM approvals.session WHERE sid = $1', [sid]);
    await pool.query('DELETE FROM approvals.session WHERE sid = $1', [sid]);
    return [await scene.vote(site, held)];
  },
  'a session that has ended': async (scene, held) => {
    const { site } = await scene.enter('alice');
    await scene.service.database.pool.query(
      "UPDATE approvals.session SET expire = now() - interval '1 second' WHERE sid = $1",
      [scene.sidOf(site)],
    );
    return [await scene.vote(site, held)];
  },
  "the code of the host's sign-in at the callback of the inbox": async (scene, held) => {
    const site = new Browser(scene.service.url);
    const { arrived } = await scene.issuer.code(scene.host, { person: 'alice' });
    return [(await site.go(`/oidc/callback${arrived.search}`)).status, await scene.vote(site, held)];
  },
  "the code of the host's sign-in in a sign-in that the inbox began": async (scene, held) => {
    const { site } = await scene.stale();
    const { state } = await begun(site);
    const { code } = await scene.issuer.code(scene.host, { person: 'alice' });
    return [(await site.go(callback(scene, { code, state }))).status, await scene.vote(site, held)];
  },
  "the host's page of consent, led to the callback of the inbox": async (scene, held) => {
    const { site } = await scene.stale();
    const { state } = await begun(site);
    const host = await scene.issuer.register(`${scene.service.url}/oidc/callback`);
    const { arrived } = await scene.issuer.code(host, { person: 'alice', changes: { state } });
    return [(await site.go(arrived.href)).status, await scene.vote(site, held)];
  },
  'the ID token of the host in the answer to a fresh sign-in': async (scene, held) => {
    const { site, status } = await scene.signInAgain(async () => scene.tokens.id_token);
    return [status, await scene.vote(site, held)];
  },
  'the ID token of an earlier sign-in in the answer to a fresh one': async (scene, held) => {
    let earlier = '';
    await scene.signInAgain(async (idToken) => (earlier = idToken));
    const { site, status } = await scene.signInAgain(async () => earlier);
    return [status, await scene.vote(site, held)];
  },
  'an ID token for another client': afterSignIn(() => ({ aud: 'another-client' })),
  'an ID token of another issuer': afterSignIn(() => ({ iss: 'https://other.test' })),
  'a sign-in of the past': afterSignIn(() => ({ auth_time: seconds() - 600 })),
  'a sign-in of the future': afterSignIn(() => ({ auth_time: seconds() + 600 })),
  'a sign-in without its time': afterSignIn(() => ({ auth_time: undefined })),
  'a sign-in with its time as a text': afterSignIn(() => ({ auth_time: String(seconds()) })),
  'a fresh sign-in of another person': async (scene, held) => {
    const { site, status } = await scene.signInAgain(async (idToken) => idToken, 'bob');
    return [status, await scene.vote(site, held)];
  },
  'a silent sign-in': async (scene, held) => {
    const { site, atIssuer } = await scene.stale();
    const { address } = await begun(site);
    address.searchParams.set('prompt', 'none');
    const back = (await atIssuer.follow(await atIssuer.go(address.href))).headers.get('location') ?? '';
    return [(await site.go(back)).status, await scene.vote(site, held)];
  },
  'a fresh sign-in that another browser finishes': async (scene, held) => {
    const { site, atIssuer } = await scene.stale();
    const { address } = await begun(site);
    const who = await atIssuer.follow(await atIssuer.go(address.href));
    const action = /action="([^"]+)"/.exec(await who.text())?.[1] ?? '';
    const back = await atIssuer.follow(await atIssuer.go(action, { person: 'alice' }));
    const other = new Browser(scene.service.url);
    const arrived = await other.go(back.headers.get('location') ?? '');
    return [arrived.status, await scene.vote(other, held), await scene.vote(site, held)];
  },
};
