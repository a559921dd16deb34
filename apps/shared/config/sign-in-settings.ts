import * as z from 'zod';
import { scope, seconds } from './units.ts';

/**
 * Client under which the issuer knows a group of pages. Both groups may be one client; the issuer then tells one of them alone when
 * a person signs out, since a client has one address for that.
 */
export const clientId = z
  .string()
  .min(1)
  .default('countersign-web')
  .describe('Client id of these pages at the issuer.');

/** How people sign in, and how long what the issuer said of them counts. */
export const signInSettings = {
  signInScopes: z
    .array(scope)
    .refine((scopes) => scopes.includes('openid'), 'a sign-in has the scope openid')
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
