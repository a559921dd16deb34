import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Browser } from 'playwright-core';
import { startAudit } from '../../apps/audit/main.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { controlSources, markSources } from '../support/control-sources.ts';
import { type ControlsOptions, ControlsUnderTest, type Pressed, type Situation } from '../support/situations.ts';
import { SEALING_SECRETS } from '../support/gated-calls.ts';
import { approvalsSituations, settings } from './approvals-situations.ts';
import { auditSituations } from './audit-situations.ts';
import { systemTime } from '../support/time.ts';

/** For fields that accept only certain text. */
const texts = {
  delegate: 'dora',
  minutes: '5',
  uses: '2',
  from: '2020-01-01T00:00:00Z',
  callDigest: `hmac-sha-256:${'0'.repeat(64)}`,
};
/** host-sign-in.test.ts and passkeys.long.ts press their controls: a host has to begin that sign-in, and passkeys need an authenticator. */
const PRESSED_ELSEWHERE = [
  'apps/shared/embedded/identity/host-page.tsx',
  'apps/approvals/inbox/passkey-part.tsx',
  'apps/approvals/inbox/new-passkey-page.tsx',
];
const PAGES = ['apps/approvals/inbox', 'apps/audit/pages', 'apps/shared/pages', 'apps/shared/embedded/identity'];

/** Defines tests that press each control of each page in each situation, and check that all sources of controls are covered. */
export function pressEverything(manner: Pick<ControlsOptions, 'javaScriptEnabled' | 'everywhere'>): void {
  const service = new ApprovalsUnderTest();
  const pressed: Pressed[] = [];
  let audit: Running;
  let browser: Browser;
  beforeAll(async () => {
    markSources();
    await service.start(settings);
    const secrets = { ...service.secrets, ...SEALING_SECRETS };
    const deps = { ...systemTime, log: pino({ level: 'silent' }), databaseUrl: service.database.url };
    audit = await startAudit(service.config, secrets, deps);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await audit.stop();
    await service.stop();
  });

  const sites = [
    { site: 'the inbox', url: () => service.config.urls.approvals, situations: approvalsSituations(service) },
    { site: 'the audit pages', url: () => service.config.urls.audit, situations: auditSituations(service) },
  ];

  describe.each(sites)('on $site', ({ url, situations }) => {
    let controls: ControlsUnderTest;
    beforeAll(() => {
      controls = new ControlsUnderTest({ browser, url: url(), pool: service.database.pool, texts, ...manner });
    });

    it.each(situations)('have an effect: $name', async (situation: Situation) => {
      const found = await controls.pressAll(situation);
      expect(found.length).toBeGreaterThan(0);
      pressed.push(...found);
    });
  });

  it('every control in the sources of the pages is pressed', () => {
    const covered = new Set(pressed.map(({ source }) => source));
    const all = controlSources(PAGES).filter(
      (source) => !PRESSED_ELSEWHERE.some((file) => source.startsWith(`${file}:`)),
    );
    expect(all.length).toBeGreaterThan(40);
    expect(all.filter((source) => !covered.has(source))).toEqual([]);
  });
}
