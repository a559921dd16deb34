import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import webPush from 'web-push';
import { isSubscribed, serviceWorkerOf } from '../support/push-browser.ts';
import { PushService } from '../support/push-service.ts';
import { waitFor } from '../support/wait-for.ts';
import { signOut } from './signing-out.ts';
import { call, of, row, TwoBrowsers } from './two-browsers.ts';

describe('the inbox in a browser with notices', () => {
  const browsers = new TwoBrowsers();
  const { as, service } = browsers;
  const vendor = new PushService();
  beforeAll(async () => {
    const { privateKey } = webPush.generateVAPIDKeys();
    const push = { subject: 'mailto:approvals@example.com', privateKey, networks: await vendor.start() };
    await browsers.start({ templates: { either: of(['alice', 'bob']) }, channels: { mailbox: false, push } });
  });
  afterAll(async () => {
    await browsers.stop();
    await vendor.stop();
  });

  it('shows a desktop notice with the number of requests, while another window is in front and its person wants it', async () => {
    const page = await as('alice', '/requests?status=yours');
    await page.evaluate(() => {
      const shown: string[] = [];
      class Shown extends EventTarget {
        static readonly permission = 'granted';
        static readonly requestPermission = async () => 'granted';
        constructor(title: string) {
          super();
          shown.push(title);
        }
      }
      Object.assign(window, { Notification: Shown, shown });
      document.hasFocus = () => false;
    });
    const counted = async () => Number(/^\((\d+)\)/.exec(await page.title())?.[1] ?? 0);
    const appears = async () => row(page, await service.open(call('notice__one', 'read'))).waitFor();
    const before = await counted();
    await appears();
    await page.keyboard.press('?');
    await page.getByLabel('Desktop notices').check();
    await page.keyboard.press('Escape');
    await appears();
    expect(await counted()).toBe(before + 2);
    expect(await page.evaluate('shown')).toEqual([`(${before + 2}) Yours to decide · Countersign Approvals`]);
    await page.evaluate('document.hasFocus = () => true');
    await appears();
    expect(await page.evaluate('shown.length')).toBe(1);
  });

  it('switches desktop notices off again in a browser that does not allow them', async () => {
    const page = await as('alice', '/requests?status=yours');
    await page.evaluate(() => {
      Object.assign(window, { Notification: { permission: 'denied', requestPermission: async () => 'denied' } });
    });
    await page.keyboard.press('?');
    await page.getByLabel('Desktop notices').click();
    await page.getByText('This browser does not allow notices').waitFor();
    expect(await page.getByLabel('Desktop notices').isChecked()).toBe(false);
    await page.keyboard.press('Escape');
  });

  it('shows a notice of each request, in place of the one before, and opens the request by it', async () => {
    const page = await as('bob', '/healthz');
    const device = vendor.browser();
    await page.addInitScript(isSubscribed, device.subscription);
    await page.goto(`${service.url}/requests?status=yours`);
    const areSubscribed = (count: number) =>
      waitFor(async () => {
        const { rowCount } = await service.database.pool.query('SELECT FROM approvals.push_subscription');
        return rowCount === count;
      });
    /** The page notes a subscription once the service has answered. */
    const isNoted = () =>
      waitFor(() => page.evaluate("sessionStorage.push === document.querySelector('[data-push-key]').dataset.pushKey"));
    const setNotices = async (isOn: boolean) => {
      await page.keyboard.press('?');
      await page.getByLabel('A notice for each request').setChecked(isOn);
      await areSubscribed(isOn ? 1 : 0);
      if (isOn) await isNoted();
      await page.keyboard.press('Escape');
    };
    await setNotices(true);
    const worker = await serviceWorkerOf(page);
    const arrives = async (count: number) => {
      await worker.deliver((await waitFor(() => device.notices[count - 1])).content);
      return waitFor(async () => (await worker.shown())[count - 1]);
    };
    const request = await service.open(call('push__one', 'read'));
    expect(await arrives(1)).toMatchObject({ title: 'Your decision is needed', tag: request.id, silent: false });
    await service.vote('alice', request, 'deny');
    expect(await arrives(2)).toMatchObject({ title: 'Denied by alice.', tag: request.id, silent: true });
    expect(await worker.click()).toEqual([`/requests/${request.id}`]);
    await page.reload();
    await setNotices(false);
    await setNotices(true);
    // The service has lost it, or has another key.
    await service.database.pool.query('DELETE FROM approvals.push_subscription');
    await page.evaluate("sessionStorage.setItem('push', 'an earlier key')");
    await page.reload();
    await areSubscribed(1);
    await isNoted();
    // Another person had switched them on in this browser.
    await page.evaluate("localStorage.setItem('push-of', 'another')");
    await page.reload();
    await areSubscribed(0);
    expect(await page.getByLabel('A notice for each request').isChecked()).toBe(false);
    // On a shared machine.
    await setNotices(true);
    await signOut(page);
    await areSubscribed(0);
    expect(await page.evaluate("localStorage.getItem('push')")).toBe('on');
  });
});
