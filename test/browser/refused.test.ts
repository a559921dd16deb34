import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { aUser, directoryText } from '../support/directory.ts';
import { ofPerson } from '../support/submissions.ts';
import { bringSignIn } from '../support/page-sign-in.ts';
import { waitFor } from '../support/wait-for.ts';

const TYPED = 'I looked at it for an hour,\nand here is what I found: <b>nothing</b>';
const stage = (name: string, people: string[]) => ({ name, approvers: { people } });
const templates = {
  either: { stages: [stage('either', ['alice', 'bob', 'sam'])] },
  in_turn: { stages: [stage('first', ['alice', 'bob']), stage('second', ['alice', 'carol'])] },
};

describe('a refused form', () => {
  const folder = mkdtempSync(join(tmpdir(), 'refused-'));
  const file = join(folder, 'people.json');
  const service = new ApprovalsUnderTest();
  let browser: Browser;
  beforeAll(async () => {
    writeFileSync(
      file,
      directoryText(
        aUser('bob', { displayName: 'Bob Builder' }),
        aUser('rita', { displayName: 'Rita Asker' }),
        ...['alice', 'carol', 'sam'].map((name) => aUser(name)),
      ),
    );
    await service.start({
      directory: { file },
      approvals: { templates, breakGlass: { enabled: true, approvers: { people: ['sam'] } } },
      identity: { people: ['alice', 'bob', 'carol', 'rita', 'sam'].map((name) => ({ name, roles: ['approver'] })) },
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  const open = (template: keyof typeof templates) => {
    const own = ofPerson(service.config.urls.issuer, { person: 'rita', agent: 'coder' });
    return service.open({ ...own, claims: { template } });
  };
  type Opened = Awaited<ReturnType<typeof open>>;
  const pages = new Map<string, Page>();
  /** In a browser of their own. */
  async function signedIn(name: string): Promise<Page> {
    const context = await browser.newContext();
    await bringSignIn(context, { site: service.url, issuer: service.config.urls.issuer }, name);
    const page = await context.newPage();
    // A page that follows changes would show the other decision before the press.
    await page.route('**/requests/events?*', (route) => route.abort());
    pages.set(name, page);
    return page;
  }
  async function look(name: string, { id }: Opened): Promise<Page> {
    const page = pages.get(name) ?? (await signedIn(name));
    await page.goto(`${service.url}/requests/${id}`);
    return page;
  }
  /** The page's message, which has the focus. */
  async function told(page: Page): Promise<string> {
    const notice = page.getByRole('alert');
    await notice.waitFor();
    await waitFor(() => notice.evaluate((one) => one === document.activeElement));
    return notice.innerText();
  }
  /** All at once, as a person pastes it. Chromium takes seconds to type a thousand lines. */
  const paste = (field: Locator, text: string) =>
    field.evaluate((one: HTMLTextAreaElement, pasted) => {
      one.value = pasted;
      one.dispatchEvent(new Event('input', { bubbles: true }));
    }, text);
  const press = async (page: Page, name: string) => {
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    const button = page.getByRole('button', { name });
    // A deciding button is enabled only after it was in sight for a moment.
    await button.scrollIntoViewIfNeeded();
    await button.click();
    return (await answered).status();
  };

  it('says who decided first, when and how, and keeps the typed text', async () => {
    const request = await open('either');
    const page = await look('alice', request);
    await page.getByLabel('Reason', { exact: true }).fill(TYPED);
    await service.vote('bob', request, 'deny');
    expect(await press(page, 'Approve')).toBe(409);
    const notice = await told(page);
    expect(notice).toMatch(/^This request has ended\./);
    expect(notice).toMatch(/Bob Builder \(bob\) denied this (just now|\d+ \w+ ago)\./);
    expect(notice).toContain('The call does not run.');
    expect(await page.getByLabel('Your text, which was not recorded').inputValue()).toBe(TYPED);
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  it('says what is still open, and keeps the typed text where it can be sent again', async () => {
    const request = await open('in_turn');
    const page = await look('alice', request);
    await page.getByLabel('Reason', { exact: true }).fill(TYPED);
    await service.vote('bob', request, 'approve');
    expect(await press(page, 'Approve')).toBe(409);
    const notice = await told(page);
    expect(notice).toMatch(/^The stage that you looked at has ended\./);
    expect(notice).toMatch(/Bob Builder \(bob\) approved this/);
    expect(notice).toContain('It is still open: 1 more approval is needed in the stage “second”.');
    expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe(TYPED);
    expect(await press(page, 'Approve')).toBe(303);
    await page.getByText('You approved this').waitFor();
    expect((await service.status(request.id)).body.task.status).toBe('approved');
  });

  it('does so for emergencies, revocations and cancellations', async () => {
    const request = await open('either');
    const [sam, rita] = [await look('sam', request), await look('rita', request)];
    await sam.getByText('Emergency').click();
    await sam.getByLabel('Why it cannot wait').fill(TYPED);
    await rita.getByLabel('Reason for cancelling').fill(TYPED);
    await service.vote('bob', request, 'approve');
    expect(await press(sam, 'Grant without the approvers')).toBe(409);
    expect(await told(sam)).toMatch(/Bob Builder \(bob\) approved this/);
    expect(await sam.getByLabel('Your text, which was not recorded').inputValue()).toBe(TYPED);
    expect(await press(rita, 'Cancel request')).toBe(409);
    expect(await told(rita)).toMatch(/This request has ended/);
    expect(await rita.getByLabel('Reason for revoking').inputValue()).toBe(TYPED);

    const other = await open('either');
    const page = await look('alice', other);
    const cancel = { method: 'POST', body: JSON.stringify({ reason: 'not needed' }) };
    await service.asPerson('rita', `/requests/${other.id}/cancel`, cancel);
    expect(await press(page, 'Deny')).toBe(409);
    expect(await told(page)).toMatch(/Rita Asker \(rita\) cancelled this/);
  });

  it('does not occur for a text that its field accepts, with any number of lines', async () => {
    // As long as the field allows. A browser sends two characters for the end of each line.
    const lines = 'a\n'.repeat(1_000);
    const page = await look('alice', await open('either'));
    await paste(page.getByLabel('Reason', { exact: true }), lines);
    expect(await press(page, 'Approve')).toBe(303);
    const other = await look('rita', await open('either'));
    await paste(other.getByLabel('Reason for cancelling'), lines);
    expect(await press(other, 'Cancel request')).toBe(303);
    const granted = await look('sam', await open('either'));
    await granted.getByText('Emergency').click();
    await paste(granted.getByLabel('Why it cannot wait'), lines);
    expect(await press(granted, 'Grant without the approvers')).toBe(303);
    const reviewed = await look('bob', { id: new URL(granted.url()).pathname.split('/').at(-1) ?? '' } as Opened);
    await paste(reviewed.getByLabel('Your findings'), lines);
    expect(await press(reviewed, 'Mark as reviewed')).toBe(303);
  });

  it('is a refusal with a status and without a page for a program', async () => {
    const request = await open('either');
    await service.vote('bob', request, 'deny');
    const { status, headers, body } = await service.vote('alice', request, 'approve');
    expect([status, body.title, headers.get('content-type')]).toEqual([
      409,
      'This request has ended',
      expect.stringContaining('application/problem+json'),
    ]);
  });
});
