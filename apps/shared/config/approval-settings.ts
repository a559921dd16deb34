import * as z from 'zod';
import { accessRequestSettings } from './access-request-settings.ts';
import { approverSettings, breakGlassSettings, webhookApproverSettings } from './approver-settings.ts';
import { catalogSettings } from './catalog-settings.ts';
import { notificationSettings } from './notification-settings.ts';
import { checkResolvers, resolverSettings } from './resolver-settings.ts';
import { clientId } from './sign-in-settings.ts';
import { port, scope, seconds } from './units.ts';

/** The access request service with its inbox: who decides, for how long, and who hears of it. */
export const approvalSettings = z
  .strictObject({
    port: port.default(4102).describe('Port of the access request service and its inbox.'),
    url: z.url().optional().describe('Public address. Without it, `http://` with `host` and `port`.'),
    clientId,
    scopes: z
      .array(scope)
      .default(['approvals'])
      .describe('Scopes that an access token needs for the API of the inbox.'),
    requestTtlSeconds: seconds
      .default(7 * 86_400)
      .describe('How long an access request waits for approvers, in seconds.'),
    approvalTtlSeconds: seconds.default(3_600).describe('How long a granted approval can be used, in seconds.'),
    webhookApprovers: webhookApproverSettings,
    ...accessRequestSettings,
    ...approverSettings,
    breakGlass: breakGlassSettings,
    notifications: notificationSettings,
    resolvers: resolverSettings,
    catalogs: catalogSettings,
  })
  .superRefine(checkResolvers)
  .prefault({})
  .describe('The access request service and its inbox: who decides, for how long, and who hears of it.');
