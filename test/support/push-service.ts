import { createECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { importJWK, jwtVerify } from 'jose';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import type { Browser } from './browser.ts';
import { serve } from './serve.ts';

// It has no types.
const ece = createRequire(import.meta.url)('http_ece') as {
  decrypt: (body: Buffer, keys: { version: 'aes128gcm'; privateKey: unknown; authSecret: string }) => Buffer;
};

/** What the service worker of a browser would get, and how the push service was asked to bring it there. */
export interface PushNotice {
  readonly content: {
    readonly request: string;
    readonly title: string;
    readonly body: string;
    readonly isOver: boolean;
  };
  readonly topic: string | undefined;
  readonly urgency: string | undefined;
  readonly ttl: number;
  /** Of the JWT. */
  readonly subject: string | undefined;
}

/** A browser that is subscribed at a push service. */
export interface PushBrowser {
  /** As `PushSubscription.toJSON()` gives it. */
  readonly subscription: {
    readonly endpoint: string;
    readonly keys: { readonly p256dh: string; readonly auth: string };
  };
  readonly notices: PushNotice[];
  /** The answers to the next requests; 201 when the list is empty. `silence` answers when the service stops. */
  readonly answers: (number | 'silence')[];
  /** Requests for it, refused ones included. */
  asked: number;
}

/**
 * The push service of a browser vendor, and its browsers. It verifies who sends, and decrypts, as the standards demand.
 * @see RFC 8030, RFC 8291, RFC 8292
 */
export class PushService {
  /** Requests that break a standard. */
  readonly faults: string[] = [];
  readonly #browsers = new Map<string, { readonly browser: PushBrowser; readonly privateKey: unknown }>();
  #server: HttpServer | undefined;

  /** Returns the networks that it is in. */
  async start(): Promise<string[]> {
    this.#server = await serve((request, response) => {
      void this.#answer(request).then(
        (status) => status !== 'silence' && response.writeHead(status).end(),
        (error: unknown) => {
          this.faults.push(String(error));
          response.writeHead(400).end();
        },
      );
    });
    return ['127.0.0.0/8'];
  }

  stop = () => this.#server?.close();

  get origin(): string {
    return this.#server?.url ?? '';
  }

  browser(): PushBrowser {
    const keys = createECDH('prime256v1');
    const path = `/send/${randomBytes(12).toString('base64url')}`;
    const p256dh = keys.generateKeys('base64url');
    const browser: PushBrowser = {
      subscription: {
        endpoint: `${this.origin}${path}`,
        keys: { p256dh, auth: randomBytes(16).toString('base64url') },
      },
      ...{ notices: [], answers: [], asked: 0 },
    };
    this.#browsers.set(path, { browser, privateKey: keys });
    return browser;
  }

  async #answer(request: IncomingMessage): Promise<number | 'silence'> {
    const body = await buffer(request);
    const known = this.#browsers.get(request.url ?? '');
    if (known === undefined) return 404;
    const { browser, privateKey } = known;
    browser.asked += 1;
    const answer = browser.answers.shift() ?? 201;
    if (answer !== 201) return answer;
    const { headers } = request;
    const authSecret = browser.subscription.keys.auth;
    if (headers['content-encoding'] !== 'aes128gcm') throw new Error('the content is not encrypted by RFC 8188');
    if (body.length > 4_096) throw new Error('the content is too long');
    const content = ece.decrypt(body, { version: 'aes128gcm', privateKey, authSecret }).toString('utf8');
    browser.notices.push({
      content: JSON.parse(content) as PushNotice['content'],
      topic: headers['topic']?.toString(),
      urgency: headers['urgency']?.toString(),
      ttl: Number(headers['ttl']),
      subject: await this.#senderOf(headers.authorization ?? ''),
    });
    return 201;
  }

  /** The subject of the JWT, whose signature and audience are right. @see RFC 8292, section 3 */
  async #senderOf(authorization: string): Promise<string | undefined> {
    const [, token = '', key = ''] = /^vapid t=([^,]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
    const publicKey = await importJWK({ kty: 'EC', crv: 'P-256', x, y }, 'ES256');
    const { payload } = await jwtVerify(token, publicKey, { audience: this.origin });
    const lasts = (payload.exp ?? Infinity) - Date.now() / 1_000;
    if (lasts > 24 * 3_600) throw new Error('the token lasts for more than a day');
    return payload.sub;
  }
}

/** Sends JSON as a script of the page does, with its CSRF token unless another is given. */
export async function postAsPage(
  site: { readonly browser: Browser; readonly url: string },
  path: string,
  body: object,
  token?: string,
): Promise<number> {
  const { browser, url } = site;
  const page = await (await browser.go('/requests')).text();
  const csrfToken = token ?? /data-csrf-token="([^"]+)"/.exec(page)?.[1] ?? '';
  const cookie = browser.cookieNames.map((name) => `${name}=${browser.cookie(name)}`).join('; ');
  const headers = { cookie, 'content-type': 'application/json', 'x-csrf-token': csrfToken };
  return (await fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) })).status;
}
