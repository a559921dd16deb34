import * as z from 'zod';
import { network } from './access-request-settings.ts';
import { isTrustworthy, secret } from './units.ts';

/** Who is told what becomes of access requests: a chat, a mailer, a pager. */
export const notificationSettings = z
  .strictObject({
    /** Gets a signed message when a stage opens, takes the place of a late one, is reminded of, and when a request ends. */
    url: z.url().refine(isTrustworthy, 'a notification goes by https, or by http to this machine alone'),
    /** Standard Webhooks secret (`whsec_…`) that they are signed with. */
    secret,
    /** Networks that are not public and that they may go to all the same. */
    networks: z.array(network).default([]),
  })
  .optional();
