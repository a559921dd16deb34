import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { Desk } from '../apps/cli/run.ts';
import { launchBrowser } from './chromium.ts';
import type { RecordedCalls } from './recorded-calls.ts';

const REASON = 'canary-reason of an approver';
const AT = String.raw`\d{4}-\d\d-\d\d[^;]*`;

/** Declares the tests that read records as people do: on the page of an auditor, and in the command line. */
export const describeShownRecords = (world: () => RecordedCalls) =>
  describe('a record that a person reads', () => {
    let browser: Browser;
    let page: Page;
    beforeAll(async () => {
      browser = await launchBrowser();
      page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      page.setDefaultTimeout(120_000);
    });
    afterAll(() => browser?.close());

    /** What the part of its page with this heading says. */
    const partNamed = (name: string) =>
      page
        .locator('section', { has: page.getByRole('heading', { name }) })
        .first()
        .innerText();
    /** What `countersign audit show` says, on one line. */
    const show = async (taskId: string) => {
      const { config, token } = world().product;
      const desk = new Desk({ audit: { url: config.urls.audit } });
      const env = { COUNTERSIGN_TOKEN: await token('olivia', 'audit') };
      const { code, out, err } = await desk.run(['audit', 'show', taskId], { env });
      expect([code, err]).toEqual([0, '']);
      return out.replaceAll(/\s+/g, ' ');
    };

    it('has everything, with the source of each statement, for an auditor who signed in', async () => {
      const { taskId, request } = await world().held('turns');
      const { issuer } = world().urls;
      await world().delegate('alice', 'dora');
      await world().vote('dora', request, 'approve', { onBehalfOf: 'alice', reason: REASON });
      await world().post('sam', `/requests/${request.id}/break-glass`, {
        reason: `${REASON} 2`,
        callDigest: request.callDigest,
      });
      const { record } = await world().record(taskId);
      await page.goto(`${world().urls.audit}/outcome-records/by-task/${taskId}`);
      await page.getByRole('button', { name: /olivia/i }).click();
      const heading = page.getByRole('heading', { level: 1 });
      await heading.waitFor();
      expect(await heading.textContent()).toContain('by break-glass');
      expect(await page.getByRole('region', { name: 'The five questions' }).innerText()).toMatch(
        /On whose decision\?\s+Sam Example \(sam\), by break-glass/,
      );
      const requests = await page.getByRole('region', { name: 'Access requests' }).innerText();
      for (const shown of [
        ...['Dora Example (dora)', 'Alice Example (alice)', 'approved', 'stage 1 first', 'through the API', REASON],
        ...[`${REASON} 2`, 'Sam Example (sam)', 'turns', issuer],
      ])
        expect(requests).toContain(shown);
      const policy = await partNamed('Policy decisions');
      expect(policy).toContain('ask-turns');

      const said = await show(taskId);
      expect(said).toContain('Stated by the access request service');
      expect(said).toContain('Template turns');
      const people = `Dora Example (dora) of ${issuer} for Alice Example (alice) of ${issuer}`;
      expect(said).toContain(`Vote ${people}: approve, stage 1 first, api, `);
      expect(said).toMatch(new RegExp(`api, ${AT}; because: ${REASON} Break-glass`));
      expect(said).toContain(`Break-glass Sam Example (sam) of ${issuer}: api, `);
      expect(said).toContain(`because: ${REASON} 2`);
      for (const { kind, policyVersion } of record.decisions) {
        expect(policy).toContain(policyVersion);
        expect(said).toContain(`Policy ${kind}, by ask-turns of ${policyVersion}`);
      }
    });

    it('names who cancelled a request, who gave it more time and why, and who acted for another person', async () => {
      const act = { sub: 'planner', act: { sub: 'bot', client_id: 'app' } };
      const { taskId, request } = await world().held('late', { sub: 'rita', client_id: 'desk', azp: 'host', act });
      const { issuer } = world().urls;
      const stage = { stage: 1, number: 1 };
      const more = { ...stage, minutes: 5, reason: `${REASON} 2` };
      await world().post('bob', `/requests/${request.id}/extensions`, more);
      await world().post('bob', `/requests/${request.id}/hand-overs`, { ...stage, to: 'dora' });
      await world().post('bob', `/requests/${request.id}/questions`, { ...stage, question: 'why?' });
      await world().post('carol', `/requests/${request.id}/cancel`, { reason: REASON });
      await world().record(taskId);
      await page.goto(`${world().urls.audit}/outcome-records/by-task/${taskId}`);
      const requests = await page.getByRole('region', { name: 'Access requests' }).innerText();
      expect(requests).toMatch(/bob handed the request over to dora\. \d+ /);
      expect(requests).toMatch(
        /Bob Example \(bob\) asked the requester in stage 1, through the API\. \d+ [^]*why\?[^]*did not answer/,
      );
      expect(requests).toMatch(/Bob Example \(bob\) gave stage 1 hasty more time, through the API: until \d+ /);
      expect(requests).toMatch(/Withdrawn by Carol Example \(carol\), through the API\. \d+ \w+ \d{4}/);
      for (const shown of [REASON, issuer]) expect(requests).toContain(shown);
      const call = await partNamed('The call');
      for (const shown of ['rita', 'desk', 'host', 'planner, for bot (client app)']) expect(call).toContain(shown);

      const said = await show(taskId);
      expect(said).toContain(`Given up Carol Example (carol) of ${issuer}: api, `);
      expect(said).toContain(`because: ${REASON}`);
      expect(said).toContain(`Handed over bob of ${issuer}: to dora, `);
      expect(said).toContain(`Question Bob Example (bob) of ${issuer}: asked the requester: why?, not answered, api, `);
      const time = `More time Bob Example \\(bob\\) of ${issuer}: stage 1, until ${AT}, api, ${AT}; because: ${REASON} 2`;
      expect(said).toMatch(new RegExp(time));
    });
  });
