import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { controlSources, markSources } from '../support/control-sources.ts';
import { type ControlsOptions, ControlsUnderTest, type Situation } from '../support/situations.ts';
import { SitesUnderTest } from './sites.ts';

/** For fields that accept only certain text. */
const texts = {
  delegate: 'erin',
  to: 'dora',
  minutes: '5',
  uses: '2',
  from: '2020-01-01T00:00:00Z',
  callDigest: `hmac-sha-256:${'0'.repeat(64)}`,
};
/**
 * host-sign-in.test.ts and passkeys.long.ts press their controls: a host has to begin that sign-in, and passkeys need an authenticator.
 * next.test.ts goes from one request to the next, from the list that a person came from. The link of an email is on no page: email.test.ts
 * reads where it leads. So does held-call-page.test.ts with the page of a held call, which the gateway serves.
 */
const PRESSED_ELSEWHERE = [
  'apps/approvals/channels/email.tsx',
  'apps/approvals/inbox/near.tsx',
  'apps/shared/pages/lone-page.tsx',
  'apps/shared/embedded/identity/host-page.tsx',
  'apps/approvals/inbox/passkey-part.tsx',
  'apps/approvals/inbox/new-passkey-page.tsx',
];
/** Without the script, its keys and settings are not there. */
const OF_SCRIPT = 'apps/approvals/inbox/live.tsx';
const PAGES = [
  'apps/approvals/inbox',
  'apps/approvals/channels',
  'apps/audit/pages',
  'apps/shared/pages',
  'apps/shared/embedded/identity',
];

/** Defines tests that press each control of each page in each situation, and check that all sources of controls are covered. */
export function pressEverything(manner: Pick<ControlsOptions, 'javaScriptEnabled' | 'everywhere'>): void {
  const sites = new SitesUnderTest();
  const pressed = new Set<string>();
  let unmark: (() => void) | undefined;
  beforeAll(async () => {
    unmark = markSources();
    await sites.start();
  });
  afterAll(async () => {
    unmark?.();
    await sites.stop();
  });

  describe.each(sites.all)('on $site', ({ url, situations }) => {
    let controls: ControlsUnderTest;
    beforeAll(() => {
      controls = new ControlsUnderTest({
        browser: sites.browser,
        url: url(),
        issuer: sites.service.config.urls.issuer,
        pool: sites.service.database.pool,
        texts,
        ...manner,
      });
    });

    it.each(situations)('have an effect: $name', async (situation: Situation) => {
      const found = await controls.pressAll(situation);
      expect(found.length).toBeGreaterThan(0);
      for (const source of found) pressed.add(source);
    });
  });

  it('every control in the sources of the pages is pressed', () => {
    const elsewhere = manner.javaScriptEnabled ? PRESSED_ELSEWHERE : [...PRESSED_ELSEWHERE, OF_SCRIPT];
    const all = controlSources(PAGES).filter((source) => !elsewhere.some((file) => source.startsWith(`${file}:`)));
    expect(all.length).toBeGreaterThan(40);
    expect(all.filter((source) => !pressed.has(source))).toEqual([]);
  });
}
