import { objectOf, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ownProperty } from '../../../workflows/domain/own-property.ts';

/** Words of a claim: a list of texts, or one text with blanks between, as issuers differ. Nothing else counts. */
export function wordsOf(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((word) => word !== '');
  return Array.isArray(claim) ? claim.filter((word): word is string => typeof word === 'string') : [];
}

/**
 * Roles in the claim with this name. Where there is none, dots lead into it: Keycloak keeps roles in `realm_access.roles`, while
 * other issuers have dots in the name itself (`https://example.com/roles`).
 */
export function rolesIn(claims: Readonly<Record<string, unknown>>, rolesClaim: string): string[] {
  const named = ownProperty(claims, rolesClaim);
  if (named !== undefined) return wordsOf(named);
  const steps = rolesClaim.split('.');
  const found = steps.reduce<unknown>((at, step) => ownProperty(objectOf(at as JsonObject), step), claims);
  return wordsOf(found);
}

/** Scopes of an access token: `scope` (RFC 9068, section 2.2.3), and `scp`, as Entra ID and Okta write it. */
export const scopesIn = (claims: Readonly<Record<string, unknown>>): string[] => [
  ...new Set([...wordsOf(ownProperty(claims, 'scope')), ...wordsOf(ownProperty(claims, 'scp'))]),
];
