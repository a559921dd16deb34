import * as z from 'zod';
import { type JsonObject, objectOf, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { Actor, Principal } from '../../../workflows/domain/principal.ts';

const name = z.string().min(1);
const tokenNames = z.looseObject({ sub: name, client_id: name.optional(), azp: name.optional() });
const hopNames = z
  .looseObject({ sub: name.optional(), iss: name.optional(), client_id: name.optional(), azp: name.optional() })
  .refine(({ sub, client_id: client, azp }) => (sub ?? client ?? azp) !== undefined);

/**
 * The client that claims name: `client_id` (RFC 9068, section 2.2), or else `azp` (Keycloak, Entra ID, Auth0), or else `cid` (Okta).
 * Beside one of the first two, `cid` may mean anything.
 */
export const clientIn = (claims: object): string | undefined =>
  textIn(claims, 'client_id') ?? textIn(claims, 'azp') ?? textIn(claims, 'cid');

/**
 * The principal that verified claims name. Undefined without a subject, and when `act` cannot be read: a token with an unknown actor is
 * not accepted.
 *
 * @param identityClaim The claim by which policies identify people; its value is an alias of the subject.
 */
export function principalOf(
  claims: JsonObject,
  { issuer, identityClaim }: { readonly issuer: string; readonly identityClaim: string },
): Principal | undefined {
  const { data: names } = tokenNames.safeParse(claims);
  const actors = actorsOf(claims['act']);
  if (names === undefined || actors === undefined) return undefined;
  const { sub: subject, azp } = names;
  const clientId = clientIn(claims);
  const own = aliasesOf(claims, identityClaim).filter((one) => one !== clientId);
  const isOtherName = azp !== undefined && ![subject, clientId, ...own].includes(azp);
  const aliases = isOtherName ? [...own, azp] : own;
  return {
    issuer,
    subject,
    ...(clientId !== undefined && { clientId }),
    ...(actors.length > 0 && { actors }),
    ...(aliases.length > 0 && { aliases }),
    ...(isOtherName && { clientAliases: [azp] }),
  };
}

/**
 * Names of the subject besides `sub`: by the claim by which policies identify people, and by the claim that is the same in every token
 * of a person where `sub` is not. Otherwise a person could decide at the inbox what they asked for through a program.
 */
export function aliasesOf(claims: object, identityClaim: string): string[] {
  const names = [
    identityClaim,
    ...ACROSS_TOKENS.filter(({ beside }) => textIn(claims, beside)).map(({ claim }) => claim),
  ];
  const aliases = names.flatMap((claim) => textIn(claims, claim) ?? []);
  return [...new Set(aliases)].filter((alias) => alias !== textIn(claims, 'sub'));
}

/** Other issuers may give these names to something else, so a second claim of the same product has to be beside each. */
const ACROSS_TOKENS = [
  // Entra ID writes another `sub` for each application.
  { claim: 'oid', beside: 'tid' },
  // Okta's access tokens have a login name as `sub`, and its ID tokens have this id.
  { claim: 'uid', beside: 'cid' },
] as const;

function textIn(claims: object, claim: string): string | undefined {
  return name.safeParse(ownProperty(claims as Record<string, unknown>, claim)).data;
}

/** The chain from the outermost actor inwards; undefined when a hop of it has no name. */
function actorsOf(act: unknown): Actor[] | undefined {
  const actors: Actor[] = [];
  for (let at = act; at !== undefined && at !== null; at = (at as { act?: unknown }).act) {
    const { data: hop } = hopNames.safeParse(at);
    const client = hop?.client_id ?? hop?.azp;
    const subject = hop?.sub ?? client;
    if (hop === undefined || subject === undefined) return undefined;
    actors.push({
      subject,
      ...(hop.iss !== undefined && { issuer: hop.iss }),
      ...(client !== undefined && client !== subject && { clientId: client }),
    });
  }
  return actors;
}

/** The words of a claim: issuers write a list of texts, or one text separated by spaces. Other values are ignored. */
function wordsOf(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((word) => word !== '');
  return Array.isArray(claim) ? claim.filter((word): word is string => typeof word === 'string') : [];
}

/**
 * The roles in the claim with this name. If there is no such claim, the name is a path with dots: Keycloak has `realm_access.roles`,
 * while other issuers have dots in the name itself (`https://example.com/roles`).
 */
export function rolesIn(claims: Readonly<Record<string, unknown>>, rolesClaim: string): string[] {
  const named = ownProperty(claims, rolesClaim);
  if (named !== undefined) return wordsOf(named);
  const steps = rolesClaim.split('.');
  const found = steps.reduce<unknown>((at, step) => ownProperty(objectOf(at), step), claims);
  return wordsOf(found);
}

/** Scopes of an access token: `scope` (RFC 9068, section 2.2.3), and `scp`, as Entra ID and Okta write it. */
export const scopesIn = (claims: Readonly<Record<string, unknown>>): string[] => [
  ...new Set([...wordsOf(ownProperty(claims, 'scope')), ...wordsOf(ownProperty(claims, 'scp'))]),
];
