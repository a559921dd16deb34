import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { Desk } from '../apps/cli/run.ts';
import { launchBrowser } from '../support/chromium.ts';
import { startRecordedCalls, type RecordedCalls } from '../support/recorded-calls.ts';

let world: RecordedCalls;
beforeAll(async () => void (world = await startRecordedCalls()));
afterAll(() => world?.stop());

const REASON = 'canary-reason of an approver';

describe('the page of a record', () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(120_000);
  });
  afterAll(() => browser?.close());

  it('has everything for an auditor who signed in', async () => {
    const { taskId, request } = await world.held('three');
    await world.vote('alice', request, 'approve', { reason: REASON });
    await world.post('sam', `/requests/${request.id}/break-glass`, {
      reason: `${REASON} 2`,
      callDigest: request.callDigest,
    });
    const { record } = await world.record(taskId);
    await page.goto(`${world.urls.audit}/outcome-records/by-task/${taskId}`);
    await page.getByRole('button', { name: /olivia/i }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('by break-glass');
    const questions = await page.getByRole('region', { name: 'The five questions' }).innerText();
    expect(questions).toMatch(/On whose decision\?\s+Sam Example \(sam\), by break-glass/);
    const requests = await page.getByRole('region', { name: 'Access requests' }).innerText();
    for (const said of [
      'Alice Example (alice)',
      'approved',
      'stage 1 group',
      'through the API',
      REASON,
      `${REASON} 2`,
      'Sam Example (sam)',
      'three',
      world.urls.issuer,
    ]) {
      expect(requests).toContain(said);
    }
    const policy = await page.locator('section', { hasText: 'Policy decisions' }).innerText();
    for (const { policyVersion } of record.decisions) expect(policy).toContain(policyVersion);
    expect(policy).toContain('ask-three');
  });

  it('names who cancelled a request, who gave it more time, and who acted for another person', async () => {
    const act = { sub: 'planner', act: { sub: 'bot', client_id: 'app' } };
    const { taskId, request } = await world.held('late', { sub: 'rita', client_id: 'desk', azp: 'host', act });
    await world.post('bob', `/requests/${request.id}/extensions`, { stage: 1, number: 1, minutes: 5 });
    await world.post('bob', `/requests/${request.id}/hand-overs`, { to: 'dora', stage: 1, number: 1 });
    await world.post('bob', `/requests/${request.id}/questions`, { question: 'why?', stage: 1, number: 1 });
    await world.post('carol', `/requests/${request.id}/cancel`, { reason: REASON });
    await world.record(taskId);
    await page.goto(`${world.urls.audit}/outcome-records/by-task/${taskId}`);
    const requests = await page.getByRole('region', { name: 'Access requests' }).innerText();
    expect(requests).toMatch(/bob handed the request over to dora\. \d+ /);
    expect(requests).toMatch(
      /Bob Example \(bob\) asked the requester in stage 1, through the API\. \d+ [^]*why\?[^]*did not answer/,
    );
    expect(requests).toMatch(/Bob Example \(bob\) gave stage 1 hasty more time, through the API: until \d+ /);
    expect(requests).toMatch(/Withdrawn by Carol Example \(carol\), through the API\. \d+ \w+ \d{4}/);
    for (const said of [REASON, world.urls.issuer]) expect(requests).toContain(said);
    const call = await page.locator('section', { has: page.getByRole('heading', { name: 'The call' }) }).innerText();
    for (const said of ['rita', 'desk', 'host', 'planner, for bot (client app)']) expect(call).toContain(said);
  });
});

describe('countersign audit show', () => {
  const show = async (taskId: string) => {
    const { config } = world.product;
    const desk = new Desk({ audit: { url: config.urls.audit } });
    const env = { COUNTERSIGN_TOKEN: await world.product.token('olivia', 'audit') };
    const { code, out, err } = await desk.run(['audit', 'show', taskId], { env });
    expect([code, err]).toEqual([0, '']);
    // Lines break at spaces.
    return out.replaceAll(/\s+/g, ' ');
  };
  const AT = String.raw`\d{4}-\d\d-\d\d[^;]*`;

  it('has everything as well, with the source of each statement', async () => {
    const { taskId, request } = await world.held('turns');
    const { issuer } = world.urls;
    await world.delegate('alice', 'dora');
    await world.vote('dora', request, 'approve', { onBehalfOf: 'alice', reason: REASON });
    await world.post('sam', `/requests/${request.id}/break-glass`, {
      reason: `${REASON} 2`,
      callDigest: request.callDigest,
    });
    const { record } = await world.record(taskId);
    const said = await show(taskId);
    expect(said).toContain('Stated by the access request service');
    expect(said).toContain('Template turns');
    const people = `Dora Example (dora) of ${issuer} for Alice Example (alice) of ${issuer}`;
    expect(said).toContain(`Vote ${people}: approve, stage 1 first, api, `);
    expect(said).toMatch(new RegExp(`api, ${AT}; because: ${REASON} Break-glass`));
    expect(said).toContain(`Break-glass Sam Example (sam) of ${issuer}: api, `);
    expect(said).toContain(`because: ${REASON} 2`);
    for (const { kind, policyVersion } of record.decisions) {
      expect(said).toContain(`Policy ${kind}, by ask-turns of ${policyVersion}`);
    }
  });

  it('names who cancelled a request and who gave it more time, and why', async () => {
    const { taskId, request } = await world.held('late', { sub: 'rita', client_id: 'desk', azp: 'host' });
    const more = { stage: 1, number: 1, minutes: 5, reason: `${REASON} 2` };
    await world.post('bob', `/requests/${request.id}/extensions`, more);
    await world.post('bob', `/requests/${request.id}/hand-overs`, { to: 'dora', stage: 1, number: 1 });
    await world.post('bob', `/requests/${request.id}/questions`, { question: 'why?', stage: 1, number: 1 });
    await world.post('carol', `/requests/${request.id}/cancel`, { reason: REASON });
    await world.record(taskId);
    const said = await show(taskId);
    expect(said).toContain(`Given up Carol Example (carol) of ${world.urls.issuer}: api, `);
    expect(said).toContain(`because: ${REASON}`);
    expect(said).toContain(`Handed over bob of ${world.urls.issuer}: to dora, `);
    expect(said).toContain(
      `Question Bob Example (bob) of ${world.urls.issuer}: asked the requester: why?, not answered, api, `,
    );
    const time = `More time Bob Example \\(bob\\) of ${world.urls.issuer}: stage 1, until ${AT}, api, ${AT}; because: ${REASON} 2`;
    expect(said).toMatch(new RegExp(time));
  });
});
