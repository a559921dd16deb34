import { resolve } from 'node:path';
import * as z from 'zod';
import { accessRequestSettings } from './access-request-settings.ts';
import { approverSettings, webhookApproverSettings } from './approver-settings.ts';
import { breakGlassSettings } from './break-glass-settings.ts';
import { channelSettings } from './channel-settings.ts';
import { checkResolvers, resolverSettings } from './resolver-settings.ts';
import { clientId } from './identity-settings.ts';
import {
  listOf,
  lowerCaseName,
  network,
  port,
  recordOf,
  scope,
  seconds,
  secret,
  text,
  trustworthyUrl,
} from './units.ts';

const notificationSettings = z
  .strictObject({
    url: trustworthyUrl.describe(
      'Address that receives a signed message. The service sends one when a stage opens or escalates, for a reminder, and when ' +
        'a request ends.',
    ),
    secret: secret.describe('Standard Webhooks secret (`whsec_…`) that signs the messages.'),
    networks: listOf(network).describe(
      'Private networks that messages may reach. Without it, messages reach public addresses only.',
    ),
  })
  .optional()
  .describe(
    'Receiver of messages about access requests: a chat bot, a mailer or a pager. Without it, no messages are sent.',
  );

/** Parameters of a catalog endpoint that do not name a scope. @see ARAP, Catalog Endpoint */
const RESERVED = new Set(['q', 'cursor', 'limit', 'evaluation_id']);

/** JSON Pointer to a value of the form, by the names that forms show. */
const pointer = z
  .string()
  .regex(
    /^\/(context|requested_access)(\/[A-Za-z][A-Za-z0-9_-]{0,63})+$/,
    'use a JSON Pointer into the submission, such as /context/cost_center',
  );

const field = z.strictObject({
  template: text.describe('Template whose requests have the field.'),
  field: pointer.describe('JSON Pointer to the field that takes its values from the catalog.'),
  scope: recordOf(
    z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,31}$/, 'use lower-case letters, digits and underscore, at most 32')
      .refine(
        (name) => !RESERVED.has(name),
        `use another name than ${[...RESERVED].join(', ')}, which have another meaning`,
      ),
    pointer,
  ).describe('Fields that narrow the catalog down, by the parameter that carries their values.'),
});

const catalog = z.strictObject({
  file: text.describe(
    'File with the JSON list of values. Countersign reads it again when it changes. A relative path starts at the folder of ' +
      'the configuration file.',
  ),
  fields: z.array(field).min(1).describe('Fields of templates that take their values from the catalog.'),
});

const catalogSettings = z
  .record(lowerCaseName, catalog)
  .superRefine((catalogs, context) => {
    const known = new Set<string>();
    for (const [name, { fields }] of Object.entries(catalogs)) {
      for (const [index, { template, field: at }] of fields.entries()) {
        const key = JSON.stringify([template, at]);
        const path = [name, 'fields', index, 'field'];
        if (known.has(key))
          context.addIssue({ code: 'custom', path, message: `${at} already has a catalog: remove one of the two` });
        known.add(key);
      }
    }
  })
  .default({})
  .describe(
    'Lists from which requesters choose values of an access request. The key is the name in the address of the catalog.',
  );

export type CatalogSettings = z.infer<typeof catalogSettings>;

/** Relative file names start at `baseDir`, not at the folder of the process. */
export const withAbsoluteCatalogs = (catalogs: CatalogSettings, baseDir: string): CatalogSettings =>
  Object.fromEntries(
    Object.entries(catalogs).map(([name, one]) => [name, { ...one, file: resolve(baseDir, one.file) }]),
  );

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
    channels: channelSettings,
    resolvers: resolverSettings,
    catalogs: catalogSettings,
  })
  .superRefine(checkResolvers)
  .prefault({})
  .describe('The access request service and its inbox: who decides, for how long, and who gets messages.');
