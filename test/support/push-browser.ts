import type { Page } from 'playwright-core';
import type { PushBrowser } from './push-service.ts';
import { waitFor } from './wait-for.ts';

/**
 * For `addInitScript`: the browser has this subscription, and its person allows notices. Chromium has no push service without its vendor,
 * and allows no notice without a desktop.
 */
export function isSubscribed(subscription: PushBrowser['subscription']): void {
  const made = { toJSON: () => subscription, unsubscribe: () => Promise.resolve(true), ...subscription };
  const answer = () => Promise.resolve(made);
  Object.assign(PushManager.prototype, { subscribe: answer, getSubscription: answer });
  Object.assign(window, { Notification: { permission: 'granted', requestPermission: async () => 'granted' } });
}

/** In the service worker: keeps what it would show and open. */
const KEEP = `self.shown = []; self.opened = [];
  registration.showNotification = async (title, options) => void shown.push({ title, ...options });
  clients.openWindow = async (path) => void opened.push(path);`;
/** In the service worker: handles a click at the first notice, and answers what it opened. No person can click without a desktop. */
const CLICK = `(async () => {
  const event = new ExtendableEvent('notificationclick');
  let done;
  Object.defineProperty(event, 'notification', { value: { data: shown[0].data, close() {} } });
  event.waitUntil = (promise) => void (done = promise);
  dispatchEvent(event);
  await done;
  return opened;
})()`;

/** The service worker of a page, which Chromium runs, between a push service and a desktop that a test stands for. */
export async function serviceWorkerOf(page: Page) {
  const worker = await waitFor(() => page.context().serviceWorkers()[0]);
  await worker.evaluate(KEEP);
  const session = await page.context().newCDPSession(page);
  let found: string | undefined;
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    found ??= registrations[0]?.registrationId;
  });
  await session.send('ServiceWorker.enable');
  const registrationId = await waitFor(() => found);
  const { origin } = new URL(page.url());
  return {
    /** Has the browser bring a decrypted notice to it. */
    async deliver(content: object): Promise<void> {
      const data = JSON.stringify(content);
      await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
    },
    shown: () => worker.evaluate<object[]>('shown'),
    click: () => worker.evaluate<string[]>(CLICK),
  };
}
