import { freshSignInPath } from '../../apps/shared/auth/fresh-sign-in.ts';
import { signInPath } from '../../apps/shared/auth/sign-in-path.ts';
import { Browser } from './browser.ts';

export interface SigningIn {
  /** The site to sign in to. */
  readonly site: Browser;
  /** The same browser at the issuer. */
  readonly atIssuer: Browser;
  readonly name: string;
  readonly returnTo?: string;
  /** Whether the person has to prove anew who they are. */
  readonly fresh?: boolean;
}

/** Goes as far as the way back from the embedded issuer; answers the address to which the issuer sends the browser. */
export async function beginSignIn({ site, atIssuer, name, returnTo = '/', fresh }: SigningIn): Promise<string> {
  const began = await site.go(fresh ? freshSignInPath(returnTo) : signInPath(returnTo));
  return chooseAtIssuer(atIssuer, began.headers.get('location') ?? '', name);
}

/** A person's steps at the embedded issuer; answers the address to which it sends the browser back. */
export async function chooseAtIssuer(atIssuer: Browser, address: string, name: string): Promise<string> {
  const who = await atIssuer.follow(await atIssuer.go(address));
  const action = /action="([^"]+)"/.exec(await who.text())?.[1] ?? '';
  const back = await atIssuer.follow(await atIssuer.go(action, { person: name }));
  return back.headers.get('location') ?? '';
}

/** A browser in which this person has signed in to a site the ordinary way, and the same browser at the issuer. */
export async function signInTo(
  { site, issuer }: { readonly site: string; readonly issuer: string },
  name: string,
): Promise<Required<Pick<SigningIn, 'site' | 'atIssuer'>>> {
  const browsers = { site: new Browser(site), atIssuer: new Browser(issuer) };
  await browsers.site.go(await beginSignIn({ ...browsers, name }));
  return browsers;
}

/** Ends this browser's session at the embedded issuer, as its own page does. */
export async function signOutAtIssuer(atIssuer: Browser, address = '/session/end'): Promise<Response> {
  const asked = await (await atIssuer.go(address)).text();
  const [, action = ''] = /action="([^"]+)"/.exec(asked) ?? [];
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(asked) ?? [];
  return atIssuer.go(action, { xsrf, logout: 'yes' });
}
