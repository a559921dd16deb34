import express, { type CookieOptions, type Router } from 'express';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import { csrfProtection } from '../http/csrf.ts';
import { Refusal } from '../http/refusal.ts';
import { endSession } from '../http/session.ts';
import type { Issuer } from './issuer.ts';
import type { Rights } from './rights.ts';
import { signInPath } from './sign-in-path.ts';

/** Where the issuer sends people back to who have signed out. */
export const SIGNED_OUT_PATH = '/signed-out';

interface SignOut {
  readonly issuer: Issuer;
  readonly rights: Pick<Rights, 'idToken'>;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly cookie: { readonly name: string; readonly options: CookieOptions };
  readonly log: Logger;
}

/** `POST /sign-out`: ends the session here, and then the issuer's. `GET /signed-out`: where people end up. */
export function signOutRouter({ cookie, ...parts }: SignOut): Router {
  const router = express.Router();
  router.get(SIGNED_OUT_PATH, () => {
    throw signedOut('Close the browser on a machine that others use, too.');
  });
  const read = express.urlencoded({ extended: false, limit: '4kb' });
  router.post('/sign-out', read, csrfProtection, async (request, response) => {
    const idToken = await parts.rights.idToken(request.sessionID);
    await endSession(request);
    response.clearCookie(cookie.name, cookie.options);
    const atIssuer = await endAtIssuer(idToken, parts);
    if (atIssuer === undefined) {
      throw signedOut('The identity provider may still know you: sign out there as well, and close the browser.');
    }
    // Not a redirect: a form may lead to this site alone, and how many sites the issuer leads through is its own matter.
    response.set('Refresh', `0; url=${atIssuer}`);
    throw new Refusal(
      200,
      'You are signed out here',
      'The identity provider still knows you: you go there to sign out.',
      {
        href: atIssuer,
        label: 'Sign out at the identity provider',
      },
    );
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
    log.info('a session ended here alone: the identity provider has no address for it, or does not answer');
    return undefined;
  }
  const address = oidc.buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: `${baseUrl}${SIGNED_OUT_PATH}`,
    client_id: clientId,
    ...(idToken !== undefined && { id_token_hint: idToken }),
  });
  return address.href;
}
