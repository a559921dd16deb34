import * as z from 'zod';
import {
  count,
  listOf,
  lowerCaseName,
  network,
  off,
  on,
  port,
  scope,
  seconds,
  section,
  text,
  trustworthyUrl,
} from './units.ts';

/**
 * Client of a group of pages at the issuer. Both groups can share one client. The issuer then notifies only one group when a person
 * signs out, because a client has one address for that.
 */
export const clientId = text.default('countersign-web').describe('Client id of these pages at the issuer.');

/** How people sign in, and how long the answers of the issuer about them are used. */
const signInSettings = {
  signInScopes: z
    .array(scope)
    .refine((scopes) => scopes.includes('openid'), 'add the scope openid, which every sign-in needs')
    .default(['openid', 'profile'])
    .describe('Scopes of a sign-in. Some issuers renew tokens only with `offline_access`.'),
  recheckSeconds: seconds
    .max(3_600)
    .default(120)
    .describe('How long the answer of the issuer about the roles of a person is used, in seconds.'),
  sessionSeconds: seconds
    .max(7 * 86_400)
    .default(8 * 3_600)
    .describe(
      'How long a person stays signed in, in seconds. The time counts from the sign-in, with or without activity.',
    ),
  tokenMaxAgeSeconds: seconds
    .max(86_400)
    .default(3_600)
    .describe(
      "Highest age of an access token at the inbox and the auditors' pages, in seconds. The age counts from its issue.",
    ),
};

/** How programs of people, such as editors with an MCP client, sign in at the embedded issuer. */
const hostSettings = section({
  metadataDocuments: on.describe(
    'Hosts may name themselves by the address of a document about them (Client ID Metadata Document).',
  ),
  registration: on.describe('Hosts may register themselves (dynamic client registration).'),
  documentNetworks: listOf(network).describe(
    'Private networks that such documents may be in. Without it, their addresses must be public.',
  ),
  maxRegistrations: count
    .default(200)
    .describe(
      'Registrations that the issuer keeps. A new one replaces the oldest one with which no person is signed in.',
    ),
  registrationsPerMinute: count
    .default(30)
    .describe('Registrations per minute. The issuer answers further ones with HTTP 429.'),
  sessionSeconds: seconds
    .max(90 * 86_400)
    .default(30 * 86_400)
    .describe('How long a host stays signed in, in seconds. After that, it asks the person again.'),
}).describe('How MCP hosts sign in at the embedded development issuer.');

const person = z.strictObject({
  name: lowerCaseName.describe('Name for the sign-in, and subject of the tokens.'),
  displayName: z.string().optional().describe('Name that pages show.'),
  roles: z
    .array(z.string().regex(/^[\w.:-]{1,64}$/, 'use letters, digits, dot, colon, dash and underscore, at most 64'))
    .min(1)
    .describe('Roles: `agent`, `approver`, `auditor`, and any role that the templates of `approvals` name.'),
});

export const identitySettings = section({
  port: port.default(4104).describe('Port of the embedded development issuer.'),
  issuer: trustworthyUrl
    .optional()
    .describe(
      'OpenID Connect issuer, exactly as its metadata spells it, with or without a slash at its end. Without it, the embedded ' +
        'development issuer. Required in production.',
    ),
  rolesClaim: text
    .default('roles')
    .describe(
      'Claim that carries roles (`approver`, `auditor`). If no claim has this name, dots lead into objects, as in ' +
        '`realm_access.roles`.',
    ),
  maxTokenLifetimeSeconds: seconds
    .default(86_400)
    .describe('Longest lifetime of an access token, in seconds. Countersign refuses tokens with a longer one.'),
  allowTokensWithoutClient: off.describe(
    'Accepts access tokens that name no client by `client_id`, `azp` or `cid`. All programs of a person are then one caller. An agent ' +
      'with the token of an approver can then approve its own call.',
  ),
  ...signInSettings,
  hosts: hostSettings,
  people: z
    .array(person)
    .default([
      { name: 'agent', displayName: 'Demo agent', roles: ['agent'] },
      { name: 'alice', displayName: 'Alice Approver', roles: ['approver'] },
      { name: 'bob', displayName: 'Bob Approver', roles: ['approver', 'agent'] },
      { name: 'olivia', displayName: 'Olivia Auditor', roles: ['auditor'] },
    ])
    .describe('People of the embedded issuer. Each name can get a token. Approvers and auditors can sign in.'),
}).describe('How people sign in, at which issuer, and which access tokens are valid.');
