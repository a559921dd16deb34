import * as z from 'zod';
import { scope, seconds } from './units.ts';

/**
 * Client under which the issuer knows a group of pages. Both groups may be one client; the issuer then tells one of them alone when
 * a person signs out, since a client has one address for that.
 */
export const clientId = z.string().min(1).default('countersign-web');

/** How people sign in, and how long what the issuer said of them counts. */
export const signInSettings = {
  /** Scopes of a sign-in. Some issuers let themselves be asked again only with `offline_access`. */
  signInScopes: z
    .array(scope)
    .refine((scopes) => scopes.includes('openid'), 'a sign-in has the scope openid')
    .default(['openid', 'profile']),
  /** How long an answer of the issuer on what a person may do is used, before it is asked again. */
  recheckSeconds: seconds.max(3_600).default(120),
  /** How long a person stays signed in, from the sign-in on, whether they do anything or not. */
  sessionSeconds: seconds.max(7 * 86_400).default(8 * 3_600),
  /** How long after it was made an access token counts at most, at the inbox and at the auditors' pages. */
  tokenMaxAgeSeconds: seconds.max(86_400).default(3_600),
};
