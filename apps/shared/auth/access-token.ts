import {
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyResult,
} from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { resourcesOf, type Service } from './client-credentials.ts';
import type { Config } from '../config/config.ts';
import { isLoopbackHttp } from '../http/known-hosts.ts';
import type { Timing } from '../limits.ts';
import { clientIn, principalOf, rolesIn, scopesIn } from './principal-of.ts';

/** Asymmetric algorithms only, because a verifier of an HMAC could also forge it. */
export const ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'];
const SKEW_SECONDS = 30;
/** The `typ` of access tokens; most issuers write `JWT`. @see RFC 9068, section 4 */
const TYPES: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
/** A verified token stays valid for this long without another check, and so does a key that its issuer withdraws. */
const CACHE_MS = 30_000;
const CACHED_TOKENS = 1_000;

/** A verified bearer token: its signature, issuer, audience and lifetime are valid. */
export interface AccessToken {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** All claims of the token. */
  readonly claims: JsonObject;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

interface ReaderOptions extends Timing {
  readonly issuer: string;
  /** The service that the token has to be issued for. */
  readonly audience: string;
  readonly rolesClaim: string;
  /** The claim by which policies identify people. Default: `sub`. */
  readonly identityClaim?: string;
  /** A token with a longer lifetime is refused. Seconds. */
  readonly maxLifetimeSeconds: number;
  /** An older token is refused, even before it expires. Seconds. Default: no limit. */
  readonly maxAgeSeconds?: number | undefined;
}

interface AccessTokenOptions extends ReaderOptions {
  /** Receives the reason for a refusal, which the response to the client never contains. */
  readonly log: Logger;
}

/**
 * Verifies JWT access tokens of one issuer for one service. Returns undefined for an invalid token, without the reason. Throws
 * `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when the issuer's keys cannot be read. @see RFC 9068
 */
export function createAccessTokenVerifier(options: AccessTokenOptions) {
  const { audience, clock, log } = options;
  const readToken = createAccessTokenReader(options);
  const verified = new LRUCache<string, AccessToken>({ max: CACHED_TOKENS, ttl: CACHE_MS });
  return async (token: string): Promise<AccessToken | undefined> => {
    const cached = verified.get(token);
    if (cached !== undefined && cached.expiresAt > clock.now() / 1_000) return cached;
    const read = await readToken(token);
    if ('refused' in read) return refuse(read.refused);
    verified.set(token, read);
    return read;
  };

  /** Never logs the token itself, and logs its claims only after its signature was verified. */
  function refuse({ reason, payload = {} }: Refused): undefined {
    const { sub: subject } = payload;
    const client = clientIn(payload);
    log.info({ event: 'token_refused', reason, audience, subject, client }, `an access token is refused: ${reason}`);
    return undefined;
  }
}

/** As `createAccessTokenVerifier`, without a memory and a log: a refusal has its reason. */
export function createAccessTokenReader(options: ReaderOptions) {
  const { issuer, audience, rolesClaim, identityClaim = 'sub', clock } = options;
  const keys = createKeys(issuer, options);
  return async (token: string): Promise<AccessToken | { readonly refused: Refused }> => {
    const found = await verify(token, await keys(), { issuer, audience, clock });
    if ('refused' in found) return found;
    const { payload } = found;
    const { sub, exp } = payload;
    if (!sub || exp === undefined) return { refused: { reason: `it has no \`${sub ? 'exp' : 'sub'}\``, payload } };
    const reason = faultOf(found, options);
    if (reason !== undefined) return { refused: { reason, payload } };
    const principal = principalOf(payload as JsonObject, { issuer, identityClaim });
    if (principal === undefined)
      return { refused: { reason: 'its client, or an actor in its `act` chain, cannot be read', payload } };
    return {
      principal,
      scopes: scopesIn(payload),
      roles: rolesIn(payload, rolesClaim),
      claims: payload as JsonObject,
      expiresAt: exp,
    };
  };
}

interface Refused {
  /** For operators. */
  readonly reason: string;
  /** The claims, where the signature is valid. */
  readonly payload?: JWTPayload | undefined;
}

type Verified = Pick<JWTVerifyResult, 'payload' | 'protectedHeader'>;

async function verify(
  token: string,
  keys: JWTVerifyGetKey,
  { clock, ...expected }: Pick<ReaderOptions, 'issuer' | 'audience' | 'clock'>,
): Promise<Verified | { refused: Refused }> {
  const options = {
    ...{ ...expected, algorithms: ALGORITHMS, clockTolerance: SKEW_SECONDS },
    // A getter, so that the time is read after the keys have arrived.
    get currentDate() {
      return new Date(clock.now());
    },
  };
  try {
    return await jwtVerify<JWTPayload>(token, keys, options);
  } catch (error) {
    const isOurs =
      !(error instanceof errors.JOSEError) || ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT'].includes(error.code);
    if (isOurs) throw unavailable(error);
    return { refused: tokenRefusalOf(error, expected) };
  }
}

/**
 * Why this service refuses a token with a valid signature. Issuers sign other tokens with the same keys: a logout token or another
 * security event must not grant access. @see RFC 8725, section 3.11
 */
function faultOf(
  { payload, protectedHeader }: Verified,
  { maxLifetimeSeconds, maxAgeSeconds = Infinity, clock }: ReaderOptions,
): string | undefined {
  const { typ } = protectedHeader;
  if (typ !== undefined && !TYPES.has(typ.toLowerCase())) return `it is not an access token: its type is ${shown(typ)}`;
  if ('events' in payload) return 'it is not an access token: it has the claim `events`';
  const { iat, exp = 0 } = payload;
  const now = Math.floor(clock.now() / 1_000);
  if (iat !== undefined && iat > now + SKEW_SECONDS) return 'it was issued in the future; compare the clocks';
  // A token of unknown age could carry roles that were withdrawn long ago.
  if (now - (iat ?? -Infinity) > maxAgeSeconds + SKEW_SECONDS) {
    return `it is older than identity.tokenMaxAgeSeconds allows here: ${maxAgeSeconds} s`;
  }
  const lifetime = exp - (iat ?? now);
  if (lifetime <= maxLifetimeSeconds) return undefined;
  return `it is valid for ${lifetime} s, and identity.maxTokenLifetimeSeconds allows ${maxLifetimeSeconds}`;
}

/** Explains jose's error so that an operator finds the wrong setting. */
function tokenRefusalOf(error: errors.JOSEError, expected: { issuer: string; audience: string }): Refused {
  if (error instanceof errors.JWTExpired) return { reason: 'it has expired', payload: error.payload };
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload } = error;
    const wanted = { iss: expected.issuer, aud: expected.audience }[claim];
    const reason =
      wanted === undefined
        ? `its claim \`${claim}\` is not valid`
        : `its \`${claim}\` is ${shown(payload[claim])}, but has to be ${shown(wanted)}`;
    return { reason, payload };
  }
  const reasons: Readonly<Record<string, string>> = {
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is not the issuer's",
    ERR_JWKS_NO_MATCHING_KEY: 'the issuer publishes no key for its signature',
    ERR_JOSE_ALG_NOT_ALLOWED: 'its signature algorithm is not accepted',
    ERR_JWS_INVALID: 'it is not a JWT',
    ERR_JWT_INVALID: 'it is not a JWT',
  };
  return { reason: reasons[error.code] ?? `it cannot be verified (${error.code})` };
}

/** A claim, cut to a length that fits a log line. */
const shown = (value: unknown) => JSON.stringify(value ?? null).slice(0, 200);

/** The issuer's key set, discovered through its metadata at the first use. */
function createKeys(issuer: string, time: Timing): () => Promise<JWTVerifyGetKey> {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  return () =>
    (keys ??= discoverKeys(issuer, time).catch((error: unknown) => {
      keys = undefined;
      throw unavailable(error);
    }));
}

/** The address of an issuer's metadata. @see OpenID Connect Discovery 1.0, section 4.1 */
export const metadataOf = (issuer: string): string => `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;

async function discoverKeys(issuer: string, { clock, limits }: Timing): Promise<JWTVerifyGetKey> {
  const response = await fetch(metadataOf(issuer), {
    redirect: 'error',
    signal: clock.signalAfter(limits.issuerMs),
  });
  const metadata = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (metadata.issuer !== issuer || typeof metadata.jwks_uri !== 'string') {
    throw new Error(
      `the issuer at ${issuer} calls itself ${shown(metadata.issuer)}: set identity.issuer to exactly that`,
    );
  }
  const keys = new URL(metadata.jwks_uri);
  // An attacker who answers in the issuer's place could sign any token.
  if (keys.protocol !== 'https:' && !isLoopbackHttp(keys))
    throw new Error(`the keys of ${issuer} are not served over https`);
  return createRemoteJWKSet(keys, { timeoutDuration: limits.issuerMs });
}

const unavailable = (cause: unknown) =>
  new CountersignError('ERR_IDENTITY_PROVIDER_UNAVAILABLE', 'the identity provider does not answer; try again', {
    cause,
  });

export type TokenVerifier = ReturnType<typeof createTokenVerifier>;

type Own = Timing & { readonly log: Logger };

const settingsOf = ({ urls, identity, gateway }: Config) => ({
  issuer: urls.issuer,
  rolesClaim: identity.rolesClaim,
  identityClaim: gateway.coaz.identityClaim,
  maxLifetimeSeconds: identity.maxTokenLifetimeSeconds,
});

/** Reads tokens as the service does for which they have to be. */
export function createServiceReader(config: Config, service: Service, time: Timing) {
  const { audience } = resourcesOf(config)[service];
  const maxAgeSeconds = service === 'mcp' ? undefined : config.identity.tokenMaxAgeSeconds;
  return createAccessTokenReader({ ...settingsOf(config), audience, maxAgeSeconds, ...time });
}

/** For a service of people: as `createAccessTokenVerifier`, for the configured issuer. Tokens may be `identity.tokenMaxAgeSeconds` old. */
export function createPeopleVerifier(config: Config, audience: string, own: Own) {
  const maxAgeSeconds = config.identity.tokenMaxAgeSeconds;
  return createAccessTokenVerifier({ ...settingsOf(config), audience, maxAgeSeconds, ...own });
}

/** Verifies tokens that the configured issuer made for `audience`. */
export function createTokenVerifier(config: Config, audience: string, own: Own) {
  const check = createAccessTokenVerifier({ ...settingsOf(config), audience, ...own });
  return {
    /** Throws `ERR_TOKEN_INVALID` for an invalid token, and `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when the keys cannot be read. */
    async verify(token: string): Promise<AccessToken> {
      const verified = await check(token);
      if (verified !== undefined) return verified;
      throw new CountersignError('ERR_TOKEN_INVALID', 'the access token is not valid for this service; get a new one');
    },
  };
}
