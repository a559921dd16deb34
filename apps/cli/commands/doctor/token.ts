import { decodeJwt } from 'jose';
import { isObject, type JsonObject, jsonIn } from '../../../../workflows/domain/canonical-json.ts';
import { AGENT_ROLE, APPROVER_ROLE } from '../../../../workflows/domain/access-request/eligibility.ts';
import { createServiceReader } from '../../../shared/auth/access-token.ts';
import { resourcesOf, type Service } from '../../../shared/auth/client-credentials.ts';
import { clientIn, rolesIn, scopesIn } from '../../../shared/auth/principal-of.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { limitsOf } from '../../../shared/limits.ts';
import { fail, type Finding, ok, reason, warn } from './check.ts';
import { knownProduct } from './identity.ts';
import { placesOf, type Product } from './products.ts';

/** One of these roles is necessary. */
const ROLES: Readonly<Record<Service, readonly string[]>> = {
  mcp: [],
  approvals: [APPROVER_ROLE, AGENT_ROLE],
  audit: ['auditor'],
};
const SERVICES: Readonly<Record<Service, string>> = {
  mcp: 'the gateway',
  approvals: 'the inbox',
  audit: "the auditors' pages",
};

interface Examined {
  readonly config: Config;
  readonly service: Service;
  readonly claims: JsonObject;
  readonly product: Product | undefined;
}

/**
 * Whether a service accepts this token, and which claim is missing: audience, subject, client, scopes or roles. No finding contains the
 * token. Without a service, the one that the token's audience names, or else the gateway.
 *
 * @param given The token, with or without `Bearer`, or the answer of a token endpoint.
 */
export async function examineToken(config: Config, given: string, chosen?: Service): Promise<Finding[]> {
  const token = tokenIn(given);
  const claims = claimsIn(token);
  const product = await knownProduct(config);
  if (claims === undefined) {
    return [
      fail('token', 'it is no JWT, so no service can read it', placesOf('jwt', product, wantedBy(config, 'mcp'))),
    ];
  }
  const service = chosen ?? serviceOf(config, claims) ?? 'mcp';
  const examined: Examined = { config, service, claims, product };
  return [
    await verdictOn(token, examined),
    audienceOf(examined),
    subjectOf(examined),
    clientOf(examined),
    scopesOf(examined),
    rolesOf(examined),
  ];
}

/** People paste headers, and pipe answers of token endpoints. */
function tokenIn(given: string): string {
  const text = given.trim();
  const answer = text.startsWith('{') ? jsonIn(text) : undefined;
  const token = isObject(answer) ? answer['access_token'] : text.replace(/^bearer +/i, '');
  return typeof token === 'string' ? token : '';
}

function claimsIn(token: string): JsonObject | undefined {
  try {
    return decodeJwt<JsonObject>(token);
  } catch {
    return undefined;
  }
}

const wantedBy = (config: Config, service: Service) => {
  const { audience, scope } = resourcesOf(config)[service];
  return { audience, scopes: service === 'mcp' ? config.gateway.scopes : scope.split(' ').filter(Boolean) };
};

const audiencesIn = ({ aud }: JsonObject): readonly unknown[] => (Array.isArray(aud) ? aud : [aud]);

function serviceOf(config: Config, claims: JsonObject): Service | undefined {
  const services = Object.entries(resourcesOf(config)) as [Service, { audience: string }][];
  return services.find(([, { audience }]) => audiencesIn(claims).includes(audience))?.[0];
}

const place = (what: Parameters<typeof placesOf>[0], { config, service, product }: Examined) =>
  placesOf(what, product, wantedBy(config, service));

/** The verdict of the code that verifies tokens in the services. */
async function verdictOn(token: string, examined: Examined): Promise<Finding> {
  const { config, service, claims } = examined;
  const name = 'token';
  const read = createServiceReader(config, service, { clock: systemClock, limits: limitsOf(config) });
  try {
    const found = await read(token);
    if (!('refused' in found)) return ok(name, `its signature and lifetime are valid for ${SERVICES[service]}`);
    const isForeign = claims.iss !== config.urls.issuer;
    const advice = isForeign ? place('issuer', examined) : 'the lines below name the claims; else get a new token';
    return fail(name, `${SERVICES[service]} refuses it: ${found.refused.reason}`, advice);
  } catch (error) {
    return warn(name, `its signature was not checked: ${reason(error)}`, 'start the issuer, and run this again');
  }
}

function audienceOf(examined: Examined): Finding {
  const name = 'token audience';
  const { audience } = wantedBy(examined.config, examined.service);
  const found = audiencesIn(examined.claims);
  if (found.includes(audience)) return ok(name, audience);
  const shown = examined.claims['aud'] === undefined ? 'aud is missing' : `aud is ${shownOf(found)}`;
  return fail(name, `${shown}, and has to contain ${audience}`, place('audience', examined));
}

function subjectOf(examined: Examined): Finding {
  const name = 'token subject';
  const { sub } = examined.claims;
  if (typeof sub === 'string' && sub !== '') return ok(name, sub);
  return fail(name, 'sub is missing', place('subject', examined));
}

function clientOf(examined: Examined): Finding {
  const name = 'token client';
  const { service, config } = examined;
  const client = clientIn(examined.claims);
  if (client !== undefined) return ok(name, client);
  const missing = 'client_id, azp and cid are missing, so it names no client';
  const isNeeded = service !== 'audit' && !config.identity.allowTokensWithoutClient;
  return (isNeeded ? fail : warn)(name, missing, place('client', examined));
}

function scopesOf(examined: Examined): Finding {
  const name = 'token scopes';
  const { scopes: needed, audience } = wantedBy(examined.config, examined.service);
  const held = scopesIn(examined.claims);
  const scopes = needed.filter((scope) => !held.includes(scope));
  const shown = held.length === 0 ? 'none' : held.join(', ');
  if (scopes.length === 0) return ok(name, needed.length === 0 ? `${shown}; none is necessary` : shown);
  const missing = `${scopes.join(', ')} is missing in scope and scp; the token has ${shown}`;
  return fail(name, missing, placesOf('scopes', examined.product, { audience, scopes }));
}

function rolesOf(examined: Examined): Finding {
  const name = 'token roles';
  const { config, service, claims } = examined;
  const { rolesClaim } = config.identity;
  const held = rolesIn(claims, rolesClaim);
  const needed = ROLES[service];
  const isEnough = needed.length === 0 ? held.length > 0 : needed.some((role) => held.includes(role));
  const shown = held.length === 0 ? `${rolesClaim} is missing or empty` : `${held.join(', ')}, by ${rolesClaim}`;
  if (isEnough) return ok(name, shown);
  const elsewhere = rolesElsewhere(claims, rolesClaim);
  const whereTo = elsewhere === undefined ? place('roles', examined) : `set identity.rolesClaim to ${elsewhere}`;
  if (needed.length === 0) return warn(name, `${shown}; rules and policies that name roles do not match`, whereTo);
  const assign = `assign ${needed[0]} at the issuer`;
  return fail(name, `${shown}; ${SERVICES[service]} needs ${needed.join(' or ')}`, held.length > 0 ? assign : whereTo);
}

/** Another claim with roles, by the names that issuers use. */
function rolesElsewhere(claims: JsonObject, rolesClaim: string): string | undefined {
  const names = [
    'roles',
    'realm_access.roles',
    ...Object.keys(claims).filter((name) => /^https?:.*roles?$/.test(name)),
  ];
  return names.find((name) => name !== rolesClaim && rolesIn(claims, name).length > 0);
}

/** Cut to a length that fits a line. */
const shownOf = (values: readonly unknown[]) => values.map(String).join(', ').slice(0, 200);
