import { createECDH } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { request } from 'undici';
import webPush from 'web-push';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { PushSettings } from '../../shared/config/channel-settings.ts';
import { secretText } from '../../shared/config/secrets.ts';
import { sha256 } from '../../shared/crypto.ts';
import { createGuardedAgent } from '../../shared/http/guarded-agent.ts';
import { isLoopbackHttp } from '../../shared/http/known-hosts.ts';
import type { Timing } from '../../shared/limits.ts';
import type { PushSubscription, PushSubscriptionStore } from '../stores/push-subscription.store.ts';
import { type Channel, type Recipient, Undeliverable } from './channel.ts';
import type { Message } from './message.ts';

const SETTING = 'approvals.channels.push.privateKey';
const DAY_SECONDS = 86_400;
/**
 * How long a push service keeps a notice for a browser that is off, in seconds. 28 days are the longest that all of them allow. That a
 * request is over is no news after a day.
 */
const KEPT_SECONDS = {
  ask: 28 * DAY_SECONDS,
  remind: 28 * DAY_SECONDS,
  question: 28 * DAY_SECONDS,
  digest: 28 * DAY_SECONDS,
  over: DAY_SECONDS,
};
/** How long this process leaves a push service alone that did not answer, so that browsers of other services need not wait for it. */
const REST_MS = 10_000;
/** Push services that are remembered for that. */
const MOST_RESTING = 1_000;
/** Characters of a line of a notice. Push services take 4096 bytes, and a character has at most three (RFC 8030, section 7.2). */
const LONGEST_LINE = 400;
/** Messages that only some browsers of a person have got, which this process remembers. */
const MOST_PARTIAL = 5_000;
/** A public key of P-256 and a secret of 16 bytes, base64url. @see RFC 8291, section 2 */
const P256DH = /^[\w-]{87}$/;
const AUTH = /^[\w-]{22}$/;

const OPENING = {
  ask: 'Your decision is needed',
  remind: 'Reminder: your decision is needed',
  question: 'An approver asks you about your request',
  digest: 'Requests wait for you',
  over: '',
};
const line = (text: string) => (text.length <= LONGEST_LINE ? text : `${text.slice(0, LONGEST_LINE)}…`);

function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return `${pathname}${search}`;
}

/** What the service worker of a browser gets. Notices stand on locked screens, so they hold no fact of a call beyond its sentence. */
export const noticeOf = ({ requestId, kind, sentence, outcome, link }: Message) => ({
  request: requestId,
  page: pathOf(link),
  title: line(outcome ?? OPENING[kind]),
  body: line(sentence),
  isOver: kind === 'over',
});

export type BrowserKeys = Pick<PushSubscription, 'endpoint' | 'p256dh' | 'auth'>;
export type Push = Awaited<ReturnType<typeof openPush>>;

interface PushOptions extends Timing {
  readonly subscriptions: PushSubscriptionStore;
}

/** Notices of browsers by their push services. Throws `ERR_CONFIG_INVALID` for a key that cannot be used. */
export async function openPush(settings: PushSettings, { subscriptions, ...timing }: PushOptions) {
  const privateKey = await secretText(settings.privateKey, SETTING);
  const publicKey = publicKeyOf(privateKey);
  const guard = createGuardedAgent(settings.networks, {
    advice: 'if it is correct, add its network to approvals.channels.push.networks',
  });
  const vapidDetails = { subject: settings.subject, publicKey, privateKey };
  return {
    /** For browsers, base64url. */
    publicKey,
    subscriptions,
    /** Whether notices can be sent to this browser: its keys are keys, and its address is one that we may connect to. */
    accepts: (browser: BrowserKeys): boolean =>
      isAddress(browser.endpoint, (url) => guard.check(url)) && areKeys(browser),
    channel: pushChannel({
      ...{ subscriptions, publicKey },
      post: createPost({ guard, vapidDetails, ...timing }),
      close: () => void guard.agent.close(),
    }),
  };
}

function publicKeyOf(privateKey: string): string {
  try {
    if (!/^[\w-]{43}$/.test(privateKey)) throw new Error('it has another length');
    const curve = createECDH('prime256v1');
    curve.setPrivateKey(privateKey, 'base64url');
    return curve.getPublicKey('base64url');
  } catch {
    const advice = 'not a private key of VAPID: make one with npx web-push generate-vapid-keys';
    throw new CountersignError('ERR_CONFIG_INVALID', `${SETTING} is ${advice}`);
  }
}

/** A name is checked once more when it is resolved. */
function isAddress(endpoint: string, check: (url: string) => void): boolean {
  if (!/^[!-~]{1,2000}$/.test(endpoint) || !URL.canParse(endpoint)) return false;
  const url = new URL(endpoint);
  // `localhost` would pass the check of its address until it is resolved.
  const isOwn = isLoopbackHttp(url) && url.hostname !== 'localhost';
  if ((url.protocol !== 'https:' && !isOwn) || url.username !== '' || url.password !== '') return false;
  try {
    check(endpoint);
    return true;
  } catch {
    return false;
  }
}

function areKeys({ p256dh, auth }: BrowserKeys): boolean {
  if (!P256DH.test(p256dh) || !AUTH.test(auth)) return false;
  try {
    webPush.encrypt(p256dh, auth, 'a point of the curve', 'aes128gcm');
    return true;
  } catch {
    return false;
  }
}

type Post = (message: Message, browser: BrowserKeys) => Promise<'taken' | 'gone'>;

interface PostOptions extends Timing {
  readonly guard: ReturnType<typeof createGuardedAgent>;
  readonly vapidDetails: { readonly subject: string; readonly publicKey: string; readonly privateKey: string };
}

/** Sends a notice to one browser, without following redirects. `gone`: the browser takes none any more. */
function createPost({ guard, vapidDetails, clock, limits }: PostOptions): Post {
  const resting = new LRUCache<string, true>({ max: MOST_RESTING, ttl: REST_MS });
  return async (message, { endpoint, p256dh, auth }) => {
    const service = new URL(endpoint).host;
    if (resting.has(service)) throw new Error(`the push service ${service} did not answer a moment ago`);
    guard.check(endpoint);
    const { headers, body } = webPush.generateRequestDetails(
      { endpoint, keys: { p256dh, auth } },
      JSON.stringify(noticeOf(message)),
      {
        vapidDetails,
        TTL: KEPT_SECONDS[message.kind],
        urgency: message.kind === 'over' ? 'normal' : 'high',
        // A browser that was off gets the last notice about a request only.
        topic: sha256(message.requestId).slice(0, 32),
      },
    );
    const answer = await request(endpoint, {
      ...{ method: 'POST', body: body ?? '', dispatcher: guard.agent },
      headers: headers as Record<string, string>,
      signal: clock.signalAfter(limits.webhookMs),
    }).catch((cause: unknown) => {
      resting.set(service, true);
      // The rest of the address is a secret, which other errors may hold.
      const { code, message: why } = cause as NodeJS.ErrnoException;
      throw new Error(`the push service ${service} did not answer (${code ?? why})`);
    });
    await answer.body.dump();
    const { statusCode } = answer;
    if (statusCode >= 200 && statusCode < 300) return 'taken';
    if (statusCode === 404 || statusCode === 410) return 'gone';
    throw new Error(`the push service ${service} answered ${statusCode}`);
  };
}

interface ChannelParts {
  readonly subscriptions: PushSubscriptionStore;
  readonly publicKey: string;
  readonly post: Post;
  readonly close: () => void;
}

/**
 * One notice for each browser of a person. The service worker puts a later one in the place of the first. The id of a message is the list of
 * browsers that have it.
 */
function pushChannel({ subscriptions, publicKey, post, close }: ChannelParts): Channel {
  /** A browser that has got a notice does not get it again because another one has not. */
  const partial = new LRUCache<string, Set<string>>({ max: MOST_PARTIAL });
  const postTo = async (message: Message, browser: PushSubscription, taken: Set<string>) => {
    if (taken.has(browser.id)) return;
    if ((await post(message, browser)) === 'taken') taken.add(browser.id);
    else await subscriptions.unsubscribe(browser);
  };
  const tell = async (message: Message, { person }: Recipient, only?: readonly string[]) => {
    const all = await subscriptions.of([person], publicKey);
    const browsers = all.filter(({ id }) => only === undefined || only.includes(id));
    const name = JSON.stringify([message.requestId, person, message.key]);
    const taken = partial.get(name) ?? new Set();
    partial.set(name, taken);
    const attempts = await Promise.allSettled(browsers.map((browser) => postTo(message, browser, taken)));
    const failed = attempts.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    partial.delete(name);
    return taken.size === 0 ? undefined : [...taken].join(',');
  };
  const ask = async (message: Message, to: Recipient) => {
    const taken = await tell(message, to);
    if (taken === undefined) throw new Undeliverable('the person has switched notices off in every browser');
    return taken;
  };
  return {
    isRoom: false,
    endsSilently: true,
    changesSilently: false,
    reachable: async (people) => [...new Set((await subscriptions.of(people, publicKey)).map(({ person }) => person))],
    send: ask,
    update: (message, to, externalId) =>
      message.kind === 'over' ? tell(message, to, externalId?.split(',')) : ask(message, to),
    close,
  };
}
