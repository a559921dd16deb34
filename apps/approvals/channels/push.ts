import { createECDH } from 'node:crypto';
import type { lookup as systemLookup } from 'node:dns';
import { LRUCache } from 'lru-cache';
import { type Dispatcher, request } from 'undici';
import webPush from 'web-push';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { orAborted, timeLimit } from '../../shared/clock.ts';
import type { PushSettings } from '../../shared/config/channel-settings.ts';
import { secretText } from '../../shared/config/secrets.ts';
import { sha256 } from '../../shared/crypto.ts';
import { createGuardedAgent, type GuardedAgent, leadsNowhere } from '../../shared/http/guarded-agent.ts';
import { isLoopbackHttp } from '../../shared/http/known-hosts.ts';
import type { Timing } from '../../shared/limits.ts';
import { ServiceFailure } from '../../shared/outbox.ts';
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
  /** For tests. */
  readonly lookup?: typeof systemLookup;
}

/** Notices of browsers by their push services. Throws `ERR_CONFIG_INVALID` for a key that cannot be used. */
export async function openPush(settings: PushSettings, { subscriptions, lookup, ...timing }: PushOptions) {
  const privateKey = await secretText(settings.privateKey, SETTING);
  const publicKey = publicKeyOf(privateKey);
  const guard = createGuardedAgent(settings.networks, {
    advice: 'if it is correct, add its network to approvals.channels.push.networks',
    ...(lookup !== undefined && { lookup }),
  });
  const vapidDetails = { subject: settings.subject, publicKey, privateKey };
  return {
    /** For browsers, base64url. */
    publicKey,
    subscriptions,
    /** Whether notices can be sent to this browser: its keys are keys, and its name leads to an address that we may connect to. */
    accepts: async (browser: BrowserKeys): Promise<boolean> =>
      isAddress(browser.endpoint) && areKeys(browser) && isReachable(browser.endpoint, guard, timing),
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

function isAddress(endpoint: string): boolean {
  if (!/^[!-~]{1,2000}$/.test(endpoint) || !URL.canParse(endpoint)) return false;
  const url = new URL(endpoint);
  // A name of this machine gets no exception.
  const isOwn = isLoopbackHttp(url) && url.hostname !== 'localhost';
  return (url.protocol === 'https:' || isOwn) && url.username === '' && url.password === '';
}

/** A name that cannot be resolved in time is not reachable. Notices check the address again. */
async function isReachable(endpoint: string, guard: GuardedAgent, { clock, limits }: Timing): Promise<boolean> {
  const { signal, end } = timeLimit(clock, limits.webhookMs);
  try {
    await orAborted(guard.resolve(endpoint), signal);
    return true;
  } catch {
    return false;
  } finally {
    end();
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

/** The name of a push service leads to no address that we may call. */
class Nowhere extends ServiceFailure {}

interface PostOptions extends Timing {
  readonly guard: GuardedAgent;
  readonly vapidDetails: { readonly subject: string; readonly publicKey: string; readonly privateKey: string };
}

/** Sends a notice to one browser, without following redirects. `gone`: the browser takes none any more. Throws a `ServiceFailure`. */
function createPost({ guard, vapidDetails, clock, limits }: PostOptions): Post {
  const resting = new LRUCache<string, ServiceFailure>({ max: MOST_RESTING, ttl: REST_MS });
  const post = async (endpoint: string, options: Pick<Dispatcher.RequestOptions, 'body' | 'headers' | 'signal'>) => {
    guard.check(endpoint);
    return request(endpoint, { ...options, method: 'POST', dispatcher: guard.agent });
  };
  return async (message, { endpoint, p256dh, auth }) => {
    const service = new URL(endpoint).host;
    const failed = resting.get(service);
    if (failed !== undefined) throw failed;
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
    const answer = await post(endpoint, {
      body: body ?? '',
      headers: headers as Record<string, string>,
      signal: clock.signalAfter(limits.webhookMs),
    }).catch((cause: unknown) => {
      // The rest of the address is a secret, which other errors may hold.
      const { code, message: why } = cause as NodeJS.ErrnoException;
      const Failure = leadsNowhere(cause) ? Nowhere : ServiceFailure;
      const failure = new Failure(`the push service ${service} did not answer (${code ?? why})`, [service]);
      resting.set(service, failure);
      throw failure;
    });
    await answer.body.dump();
    const { statusCode } = answer;
    if (statusCode >= 200 && statusCode < 300) return 'taken';
    if (statusCode === 404 || statusCode === 410) return 'gone';
    throw new ServiceFailure(`the push service ${service} answered ${statusCode}`, [service]);
  };
}

/** One failure for those of several browsers. Any other error than that of a push service goes first. */
function together(failures: readonly unknown[]): unknown {
  const ofServices = failures.filter((one) => one instanceof ServiceFailure);
  const other = failures.find((one) => !(one instanceof ServiceFailure));
  if (other !== undefined) return other;
  const messages = [...new Set(ofServices.map(({ message }) => message))];
  return new ServiceFailure(messages.join('; '), [...new Set(ofServices.flatMap(({ services }) => services))]);
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
  const noteReached = async (browser: PushSubscription) =>
    browser.nowhereSince === undefined || subscriptions.noteReach(browser, true);
  const postTo = async (message: Message, browser: PushSubscription, taken: Set<string>) => {
    if (taken.has(browser.id)) return;
    const answer = await post(message, browser).catch(async (error: unknown) => {
      if (!(error instanceof Nowhere)) await noteReached(browser);
      else if (!(await subscriptions.noteReach(browser, false))) return 'gone';
      throw error;
    });
    if (answer === 'taken') await noteReached(browser);
    if (answer === 'taken') taken.add(browser.id);
    else await subscriptions.unsubscribe(browser);
  };
  const tell = async (message: Message, { person }: Recipient, only?: readonly string[]) => {
    const all = await subscriptions.of([person], publicKey);
    const browsers = all.filter(({ id }) => only === undefined || only.includes(id));
    const name = JSON.stringify([message.requestId, person, message.key]);
    const taken = partial.get(name) ?? new Set();
    partial.set(name, taken);
    const attempts = await Promise.allSettled(browsers.map((browser) => postTo(message, browser, taken)));
    const failures = attempts.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    if (failures.length > 0) throw together(failures);
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
