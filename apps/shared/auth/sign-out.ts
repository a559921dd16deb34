import express, { type CookieOptions, type Router } from 'express';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import * as z from 'zod';
import { csrfProtection, Refusal } from '../http/csrf.ts';
import { endSession } from '../http/session.ts';
import type { Issuer } from './issuer.ts';
import { readLogoutToken } from './logout-token.ts';
import type { Rights } from './rights.ts';
import { signInPath } from './sign-in-path.ts';

/** The issuer redirects people here after their sign-out. */
export const SIGNED_OUT_PATH = '/signed-out';

interface SignOut {
  readonly issuer: Issuer;
  readonly rights: Pick<Rights, 'idToken'>;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly cookie: { readonly name: string; readonly options: CookieOptions };
  readonly log: Logger;
}

/** `POST /sign-out` ends the session here, and then the issuer's. `GET /signed-out` is the page at the end. */
export function signOutRouter({ cookie, ...parts }: SignOut): Router {
  const router = express.Router();
  router.get(SIGNED_OUT_PATH, () => {
    throw signedOut('On a shared machine, close the browser as well.');
  });
  const read = express.urlencoded({ extended: false, limit: '4kb' });
  router.post('/sign-out', read, csrfProtection, async (request, response) => {
    const idToken = await parts.rights.idToken(request.sessionID);
    await endSession(request);
    response.clearCookie(cookie.name, cookie.options);
    const atIssuer = await endAtIssuer(idToken, parts);
    if (atIssuer === undefined) {
      throw signedOut('You may still be signed in at the identity provider: sign out there, and close the browser.');
    }
    // Not a redirect: the CSP lets a form lead only to this site, and the issuer may redirect through other sites.
    response.set('Refresh', `0; url=${atIssuer}`);
    const link = { href: atIssuer, label: 'Sign out at the identity provider' };
    throw new Refusal(200, 'You are signed out here', 'Next, you sign out at the identity provider.', link);
  });
  return router;
}

const signedOut = (nextStep: string) =>
  new Refusal(200, 'You are signed out', nextStep, { href: signInPath('/'), label: 'Sign in' });

/**
 * The address at which the issuer ends its session; undefined when it has none or does not answer.
 * @see OpenID Connect RP-Initiated Logout 1.0, section 2
 */
async function endAtIssuer(
  idToken: string | undefined,
  { issuer, baseUrl, clientId, log }: Omit<SignOut, 'cookie' | 'rights'>,
): Promise<string | undefined> {
  const configuration = await issuer.configuration().catch(() => undefined);
  const endpoint = configuration?.serverMetadata().end_session_endpoint;
  if (configuration === undefined || endpoint === undefined) {
    log.info('a session ended only here: the identity provider has no sign-out endpoint, or does not answer');
    return undefined;
  }
  const address = oidc.buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: `${baseUrl}${SIGNED_OUT_PATH}`,
    client_id: clientId,
    ...(idToken !== undefined && { id_token_hint: idToken }),
  });
  return address.href;
}

export const BACK_CHANNEL_LOGOUT_PATH = '/oidc/back-channel-logout';

const bodySchema = z.object({ logout_token: z.string().min(1) });

interface BackChannelLogout extends Pick<SignOut, 'issuer' | 'clientId' | 'log'> {
  readonly issuerUrl: string;
  readonly rights: Pick<Rights, 'end'>;
}

/**
 * `POST /oidc/back-channel-logout`: the issuer reports that a person signed out, and their sessions here end at once. Without this
 * report, they end when the issuer is asked the next time.
 * @see OpenID Connect Back-Channel Logout 1.0, sections 2.5 to 2.8
 */
export function backChannelLogout({ issuer, issuerUrl, clientId, rights, log }: BackChannelLogout): Router {
  const router = express.Router();
  const read = express.urlencoded({ extended: false, limit: '16kb', inflate: false });
  router.post(BACK_CHANNEL_LOGOUT_PATH, read, async (request, response) => {
    const body = bodySchema.safeParse(request.body).data;
    const logout = body && (await readLogoutToken(body.logout_token, { ...issuer, issuer: issuerUrl, clientId }));
    response.set('Cache-Control', 'no-store');
    if (logout === undefined) {
      log.warn('an invalid logout token was refused');
      const description = 'this is not a logout token of the issuer for this client';
      return void response.status(400).json({ error: 'invalid_request', error_description: description });
    }
    log.info({ sessions: await rights.end(logout) }, 'the identity provider ended the sessions of a person');
    response.status(200).end();
  });
  return router;
}
