import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ownPath } from '../../../../apps/shared/http/known-hosts.ts';
import { HOSTILE_PATHS } from '../../../support/hostile-paths.ts';
import { times } from '../../../support/regime.ts';

const SITES = ['https://approvals.example', 'http://127.0.0.1:4102'];

/**
 * Every browser's reading of a redirect: an address of the same site, with one leading slash and without a backslash.
 */
function expectOwn(path: string, site: string): void {
  expect(path).toMatch(/^\/(?![/\\])[^\\]*$/);
  expect(new URL(path, site).origin).toBe(site);
  // A second read gives the same path: no second reader finds another address in it.
  expect(ownPath(path, site)).toBe(path);
}

describe.each(SITES)('the return path on %s', (site) => {
  it.each([
    ['/requests?status=ended', '/requests?status=ended'],
    ['/requests/arq_1#part', '/requests/arq_1'],
    ['requests', '/requests'],
    ['', '/'],
    [`${site}/delegations`, '/delegations'],
    ['/a//b', '/a//b'],
    ['/search?q=\\', '/search?q=%5C'],
    [undefined, '/'],
    [['/a', '/b'], '/'],
    [`/${'x'.repeat(2_000)}`, '/'],
  ])('is made from %j: %s', (wanted, expected) => {
    expect(ownPath(wanted, site)).toBe(expected);
    expectOwn(ownPath(wanted, site), site);
  });

  it.each(HOSTILE_PATHS)('stays on the site: %j', (wanted) => expectOwn(ownPath(wanted, site), site));

  it('stays on the site for any combination of slashes, dots, schemes, hosts and blanks', () => {
    const piece = fc.constantFrom(
      ...['/', '\\', '.', '..', '%2f', '%5c', '%2e', '\t', '\n', '\r', ' ', '\u00a0', '\u3000', '\uff0f', '\u2215'],
      ...[
        '@',
        ':',
        '?',
        '#',
        ';',
        'http:',
        'https:',
        'javascript:',
        'blob:',
        'data:',
        'file:',
        '//',
        'evil.example',
        site,
      ],
      ...['x', '0', '\u0000', '\ud800', '[::1]', '%00', '%'],
    );
    const address = fc.oneof(
      fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join('')),
      fc.string(),
      fc.webUrl(),
      fc.webPath(),
    );
    fc.assert(
      fc.property(address, (wanted) => expectOwn(ownPath(wanted, site), site)),
      { numRuns: times(500, 10_000) },
    );
  });
});
