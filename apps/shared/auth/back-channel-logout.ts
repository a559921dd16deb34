import express, { type Router } from 'express';
import type { Logger } from 'pino';
import * as z from 'zod';
import type { Issuer } from './issuer.ts';
import { readLogoutToken } from './logout-token.ts';
import type { Rights } from './rights.ts';

export const BACK_CHANNEL_LOGOUT_PATH = '/oidc/back-channel-logout';

const bodySchema = z.object({ logout_token: z.string().min(1) });

interface BackChannelLogout {
  readonly issuer: Issuer;
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly rights: Pick<Rights, 'end'>;
  readonly log: Logger;
}

/**
 * `POST /oidc/back-channel-logout`: the issuer tells that a person signed out, and their sessions here end at once. A hint that makes it
 * quicker: without it they end when the issuer is asked the next time.
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
      log.warn('a logout token that is not good was refused');
      const error = {
        error: 'invalid_request',
        error_description: 'this is no logout token of the issuer for this client',
      };
      return void response.status(400).json(error);
    }
    log.info({ sessions: await rights.end(logout) }, 'the identity provider ended the sessions of a person');
    response.status(200).end();
  });
  return router;
}
