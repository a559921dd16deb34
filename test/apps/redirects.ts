import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Browser } from '../support/browser.ts';
import { HOSTILE_PATHS } from '../support/hostile-paths.ts';
import { Workplace } from '../support/offboarding.ts';
import { csrfTokenIn } from '../support/pages.ts';
import { beginSignIn, signInTo } from '../support/signing-in.ts';

/** The listed paths, and as many generated ones. */
const allPaths = (): string[] => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '\t',
    '\n',
    '@',
    ':',
    '?',
    '#',
    'evil.example',
    'http:',
  );
  const made = fc.sample(
    fc.array(piece, { minLength: 2, maxLength: 7 }).map((pieces) => pieces.join('')),
    { numRuns: 30, seed: 4711 },
  );
  return [...HOSTILE_PATHS, ...made];
};

/** Tests that no redirect leaves the site. `everywhere`: tries generated paths too, and each path in each state at each address instead of in turns. */
export const testRedirects = ({ everywhere }: { readonly everywhere: boolean }) =>
  describe('no redirect leaves the site', () => {
    const paths = everywhere ? allPaths() : HOSTILE_PATHS;
    const workplace = new Workplace();
    const { service } = workplace;
    const members = [
      { name: 'alice', roles: ['approver'] },
      { name: 'olivia', roles: ['auditor'] },
      { name: 'guest', roles: ['guest'] },
    ];
    beforeAll(() => workplace.start(members, {}));
    afterAll(() => workplace.stop());

    const siteOf = { inbox: () => service.url, audit: () => workplace.recordsUrl };
    const WHO = { inbox: 'alice', audit: 'olivia' } as const;

    /** Where each redirecting header sends a browser. */
    function targetsOf(response: Response): string[] {
      const refresh = /url=(.*)$/i.exec(response.headers.get('refresh') ?? '')?.[1];
      return [response.headers.get('location'), refresh, response.headers.get('content-location')].filter(
        (one): one is string => typeof one === 'string',
      );
    }

    /** Returns the targets outside the site and the issuer. */
    function strays(response: Response, site: string, from: string): string[] {
      const allowed = [site, service.config.urls.issuer];
      return targetsOf(response)
        .filter((to) => !allowed.includes(new URL(to, new URL(from, site)).origin) || /^([/\\]{2}|\\)/.test(to))
        .map((to) => `${from} → ${to}`);
    }

    const querying = (path: string, name: string, value: string) =>
      `${path}?${new URLSearchParams({ [name]: value }).toString()}`;
    const STATES = ['not signed in', 'stranger', 'signed in'] as const;

    it.each((['inbox', 'audit'] as const).flatMap((site) => STATES.map((state) => [site, state] as const)))(
      '%s, %s: from any address, by any path or query',
      async (site, state) => {
        const home = siteOf[site]();
        const issuer = service.config.urls.issuer;
        const name = state === 'stranger' ? 'guest' : WHO[site];
        const browser =
          state === 'not signed in' ? new Browser(home) : (await signInTo({ site: home, issuer }, name)).site;
        const found: string[] = [];
        let redirects = 0;
        // Unit tests try each path where addresses are read, so here the states take turns with them.
        const turn = STATES.indexOf(state);
        const own = everywhere ? paths : paths.filter((_path, index) => index % STATES.length === turn);
        for (const [index, path] of own.entries()) {
          // The other routes take turns, because they ignore the parameter.
          const others = ['/requests', '/', '/outcome-records', '/signed-out'] as const;
          const addresses = [
            querying('/sign-in', 'returnTo', path),
            querying(others[index % others.length] ?? '/', 'returnTo', path),
            querying('/oidc/callback', 'state', path),
            querying('/requests', 'status', path),
            // As one path segment, in which each character loses its meaning for the address.
            `/${encodeURIComponent(path)}`,
            `/requests/${encodeURIComponent(path)}`,
            `/outcome-records/by-task/${encodeURIComponent(path)}`,
          ];
          const tried = everywhere
            ? addresses
            : [0, 1 + (index % (addresses.length - 1))].map((at) => addresses[at] ?? '/');
          const answers = await Promise.all(tried.map((address) => browser.go(address)));
          for (const [at, response] of answers.entries()) {
            redirects += targetsOf(response).length;
            found.push(...strays(response, home, tried[at] ?? ''));
          }
        }
        expect(found).toEqual([]);
        expect(redirects).toBeGreaterThanOrEqual(own.length);
      },
    );

    it.each(['inbox', 'audit'] as const)('%s: at the end of a sign-in', async (site) => {
      const home = siteOf[site]();
      const atIssuer = new Browser(service.config.urls.issuer);
      const found: string[] = [];
      for (const returnTo of paths.filter((_path, index) => index % 6 === 0)) {
        const browser = new Browser(home);
        const back = await beginSignIn({ site: browser, atIssuer, name: WHO[site], returnTo });
        const arrived = await browser.go(back);
        expect(arrived.status).toBe(303);
        found.push(...strays(arrived, home, '/oidc/callback'));
      }
      expect(found).toEqual([]);
    });

    it('after a form, or by a path that looks like another site', async () => {
      const { site } = await signInTo({ site: service.url, issuer: service.config.urls.issuer }, 'alice');
      const csrfToken = csrfTokenIn(await (await site.go('/requests')).text());
      const found: string[] = [];
      const actions = ['votes', 'cancel', 'revoke', 'break-glass', 'review'];
      for (const [index, path] of paths.entries()) {
        const at = `/requests/${encodeURIComponent(path)}/${actions[index % actions.length]}`;
        const form = {
          csrfToken,
          verdict: 'approve',
          callDigest: `sha-256:${'0'.repeat(64)}`,
          reason: 'r',
          returnTo: path,
        };
        found.push(...strays(await site.go(at, form), service.url, at));
      }
      found.push(...strays(await site.go('/sign-out', { returnTo: '//evil.example' }), service.url, '/sign-out'));
      for (const raw of ['//evil.example/requests', '//evil.example', '/.//evil.example/']) {
        const response = await new Browser(service.url).go(`${service.url}${raw}`);
        found.push(...strays(response, service.url, raw));
      }
      const out = await site.go('/sign-out', { csrfToken });
      expect([targetsOf(out).length, strays(out, service.url, '/sign-out')]).toEqual([1, []]);
      expect(found).toEqual([]);
    });
  });
