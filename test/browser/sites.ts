import { pino } from 'pino';
import type { Browser } from 'playwright-core';
import { startAudit } from '../../apps/audit/main.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { SEALING_SECRETS } from '../support/gated-calls.ts';
import { systemTime } from '../support/time.ts';
import { approvalsSituations, settings } from './approvals-situations.ts';
import { auditSituations } from './audit-situations.ts';

/** The inbox and the audit pages with every situation of theirs, and a browser. */
export class SitesUnderTest {
  readonly service = new ApprovalsUnderTest();
  browser!: Browser;
  #audit: Running | undefined;

  readonly all = [
    {
      site: 'the inbox',
      url: () => this.service.config.urls.approvals,
      situations: approvalsSituations(this.service),
    },
    {
      site: 'the audit pages',
      url: () => this.service.config.urls.audit,
      situations: auditSituations(this.service),
    },
  ];

  async start(): Promise<void> {
    await this.service.start(settings);
    const secrets = { ...this.service.secrets, ...SEALING_SECRETS };
    const deps = { ...systemTime, log: pino({ level: 'silent' }), databaseUrl: this.service.database.url };
    this.#audit = await startAudit(this.service.config, secrets, deps);
    this.browser = await launchBrowser();
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.#audit?.stop();
    await this.service.stop();
  }
}
