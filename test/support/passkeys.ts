import { Authenticator, type Ceremony } from './authenticator.ts';
import type { Browser } from './browser.ts';
import { csrfTokenIn } from './pages.ts';

/** The inbox in a browser, at the address to which passkeys are bound in development. */
export interface Inbox {
  readonly browser: Browser;
  readonly origin: string;
}

/** What a page asks the browser for. */
export const inAttribute = (page: string, name: string): string =>
  (new RegExp(`${name}="([^"]*)"`).exec(page)?.[1] ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** In a browser that is signed in at this address of the inbox. Passkeys are bound to another name of this machine. */
export const inboxIn = (browser: Browser, url: string): Inbox => ({
  browser,
  origin: url.replace('127.0.0.1', 'localhost'),
});

/** The page for a new passkey. The sign-in of the browser has to be recent. */
export async function registration({ browser, origin }: Inbox) {
  const page = await (await browser.go(`${origin}/passkeys/new`)).text();
  const { challenge, rp } = JSON.parse(inAttribute(page, 'data-passkey-registration')) as {
    challenge: string;
    rp: { id: string };
  };
  const asked: Ceremony = { challenge, rpId: rp.id, origin };
  const send = (passkey: string, name = 'Laptop') =>
    browser.go(`${origin}/passkeys`, { csrfToken: csrfTokenIn(page), name, passkey });
  return { asked, send };
}

/** Registers a new passkey of this person. */
export async function registered(inbox: Inbox): Promise<Authenticator> {
  const authenticator = new Authenticator();
  const { asked, send } = await registration(inbox);
  const { status } = await send(authenticator.create(asked));
  if (status !== 303) throw new Error(`the registration was answered ${status}`);
  return authenticator;
}

/** The page of a request, whose form takes a passkey. */
export async function approvalForm({ browser, origin }: Inbox, request: { id: string; callDigest: string }) {
  const page = await (await browser.go(`${origin}/requests/${request.id}`)).text();
  const options = JSON.parse(inAttribute(page, 'data-passkeys') || '{}') as Record<
    string,
    { challenge: string; rpId: string; allowCredentials: { id: string }[] } | undefined
  >;
  const asked = (behalf = ''): Ceremony => {
    const { challenge, rpId } = options[behalf] ?? { challenge: '', rpId: '' };
    return { challenge, rpId, origin };
  };
  const nonce = inAttribute(page, 'name="passkeyNonce" value');
  const form = {
    ...{
      csrfToken: csrfTokenIn(page),
      verdict: 'approve',
      callDigest: request.callDigest,
      generation: '1',
      stage: '1',
    },
    passkeyNonce: nonce,
  };
  const send = (passkey: string, more: Record<string, string> = {}) =>
    browser.go(`${origin}/requests/${more['id'] ?? request.id}/votes`, { ...form, passkey, ...more });
  return { page, options, asked, nonce, send };
}
