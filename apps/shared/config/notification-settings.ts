import * as z from 'zod';
import { network } from './access-request-settings.ts';
import { isTrustworthy, secret } from './units.ts';

export const notificationSettings = z
  .strictObject({
    url: z
      .url()
      .refine(isTrustworthy, 'a notification goes by https, or by http to this machine alone')
      .describe(
        'Address that receives a signed message. The service sends one when a stage opens or escalates, for a reminder, and when ' +
          'a request ends.',
      ),
    secret: secret.describe('Standard Webhooks secret (`whsec_…`) that signs the messages.'),
    networks: z
      .array(network)
      .default([])
      .describe('Private networks that messages may reach. Without it, messages reach public addresses only.'),
  })
  .optional()
  .describe('Who hears of access requests: a chat bot, a mailer or a pager. Without it, no messages are sent.');
