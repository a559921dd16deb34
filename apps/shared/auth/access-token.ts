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
import type { Config } from '../config/config.ts';
import { isLoopbackHttp } from '../http/known-hosts.ts';
import type { Timing } from '../limits.ts';
import { principalOf, rolesIn, scopesIn } from './principal-of.ts';

/** Signatures of access tokens: asymmetric ones only, because anybody who verifies an HMAC could also forge it. */
export const ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'];
const SKEW_SECONDS = 30;
/** Types of JWTs that issuers give access tokens; most say no more than `JWT`. @see RFC 9068, section 4 */
const TYPES: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
/** A token that was good stays good for this long without another look; an issuer's withdrawn key counts as long. */
const REMEMBER_MS = 30_000;
const REMEMBERED = 1_000;

/** A bearer token whose signature, issuer, audience and lifetime were checked. */
export interface AccessToken {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** Everything that the token says. */
  readonly claims: JsonObject;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

interface AccessTokenOptions extends Timing {
  readonly issuer: string;
  /** The service the token has to be made for. */
  readonly audience: string;
  readonly rolesClaim: string;
  /** The claim by which policies know people. Default: `sub`. */
  readonly identityClaim?: string;
  /** A token that is good for longer is refused, however its issuer signs. Seconds. */
  readonly maxLifetimeSeconds: number;
  /** Seconds after which a token no longer counts, though it says that it does. Default: as long as it says. */
  readonly maxAgeSeconds?: number | undefined;
  /** Gets the reason for which a token is refused. The answer to the client never has it. */
  readonly log: Logger;
}

/**
 * Verifies JWT access tokens of one issuer for one service. Answers undefined for any token that is not valid; throws
 * `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when the issuer's keys cannot be read. @see RFC 9068
 */
export function createAccessTokenVerifier(options: AccessTokenOptions) {
  const { issuer, audience, rolesClaim, identityClaim = 'sub', clock, log } = options;
  const keys = createKeys(issuer, options);
  const verified = new LRUCache<string, AccessToken>({ max: REMEMBERED, ttl: REMEMBER_MS });
  return async (token: string): Promise<AccessToken | undefined> => {
    const known = verified.get(token);
    if (known !== undefined && known.expiresAt > clock.now() / 1_000) return known;
    const read = await readToken(token);
    if (read !== undefined) verified.set(token, read);
    return read;
  };

  async function readToken(token: string): Promise<AccessToken | undefined> {
    const found = await verify(token, await keys(), { issuer, audience, clock });
    if ('refused' in found) return refuse(found.refused);
    const { payload } = found;
    const { sub, exp } = payload;
    if (!sub || exp === undefined) return refuse({ reason: `it has no \`${sub ? 'exp' : 'sub'}\``, payload });
    const reason = faultOf(found, options);
    if (reason !== undefined) return refuse({ reason, payload });
    const principal = principalOf(payload as JsonObject, { issuer, identityClaim });
    if (principal === undefined)
      return refuse({ reason: 'its client, or an actor of its `act` chain, cannot be read', payload });
    return {
      principal,
      scopes: scopesIn(payload),
      roles: rolesIn(payload, rolesClaim),
      claims: payload as JsonObject,
      expiresAt: exp,
    };
  }

  /** The token itself is never logged, and of what it claims only what its issuer signed. */
  function refuse({ reason, payload }: Refused): undefined {
    const { sub: subject, client_id: client } = payload ?? {};
    log.info({ event: 'token_refused', reason, audience, subject, client }, `an access token is refused: ${reason}`);
    return undefined;
  }
}

interface Refused {
  /** For operators: why, in words. */
  readonly reason: string;
  /** What the token says, where its signature is good. */
  readonly payload?: JWTPayload | undefined;
}

type Verified = Pick<JWTVerifyResult, 'payload' | 'protectedHeader'>;

async function verify(
  token: string,
  keys: JWTVerifyGetKey,
  { clock, ...expected }: Pick<AccessTokenOptions, 'issuer' | 'audience' | 'clock'>,
): Promise<Verified | { refused: Refused }> {
  const options = {
    ...{ ...expected, algorithms: ALGORITHMS, clockTolerance: SKEW_SECONDS },
    // Read when it is compared: the keys may take long to come.
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
    return { refused: refusalOf(error, expected) };
  }
}

/**
 * What is wrong with a token that its issuer signed for this service. Issuers sign more than access tokens with the same keys: a logout
 * token or another security event must open nothing. @see RFC 8725, section 3.11
 */
function faultOf(
  { payload, protectedHeader }: Verified,
  { maxLifetimeSeconds, maxAgeSeconds = Infinity, clock }: AccessTokenOptions,
): string | undefined {
  const { typ } = protectedHeader;
  if (typ !== undefined && !TYPES.has(typ.toLowerCase())) return `it is no access token: its type is ${shown(typ)}`;
  if ('events' in payload) return 'it is no access token: it tells of events';
  const { iat, exp = 0 } = payload;
  const now = Math.floor(clock.now() / 1_000);
  if (iat !== undefined && iat > now + SKEW_SECONDS) return 'it was issued in the future; compare the clocks';
  // Roles are part of a token: one that does not say how old it is could have had them for ever.
  if (now - (iat ?? -Infinity) > maxAgeSeconds + SKEW_SECONDS) {
    return `it is older than identity.tokenMaxAgeSeconds allows here: ${maxAgeSeconds} s`;
  }
  const lifetime = exp - (iat ?? now);
  if (lifetime <= maxLifetimeSeconds) return undefined;
  return `it is good for ${lifetime} s, and identity.maxTokenLifetimeSeconds allows ${maxLifetimeSeconds}`;
}

/** Why jose refuses a token, in the words that help an operator to find the setting that is wrong. */
function refusalOf(error: errors.JOSEError, expected: { issuer: string; audience: string }): Refused {
  if (error instanceof errors.JWTExpired) return { reason: 'it has expired', payload: error.payload };
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload } = error;
    const wanted = { iss: expected.issuer, aud: expected.audience }[claim];
    const reason =
      wanted === undefined
        ? `its claim \`${claim}\` is not good`
        : `its \`${claim}\` is ${shown(payload[claim])}, and has to be ${shown(wanted)}`;
    return { reason, payload };
  }
  const reasons: Readonly<Record<string, string>> = {
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is not that of the issuer',
    ERR_JWKS_NO_MATCHING_KEY: 'the issuer publishes no key that it could be signed with',
    ERR_JOSE_ALG_NOT_ALLOWED: 'its signature algorithm is not accepted',
    ERR_JWS_INVALID: 'it is not a JWT',
    ERR_JWT_INVALID: 'it is not a JWT',
  };
  return { reason: reasons[error.code] ?? `it cannot be verified (${error.code})` };
}

/** A claim, as far as a line of a log needs it. */
const shown = (value: unknown) => JSON.stringify(value ?? null).slice(0, 200);

/** The issuer's key set, found through its metadata when first needed. */
function createKeys(issuer: string, time: Timing): () => Promise<JWTVerifyGetKey> {
  let known: Promise<JWTVerifyGetKey> | undefined;
  return () => {
    known ??= discoverKeys(issuer, time).catch((error: unknown) => {
      known = undefined;
      throw unavailable(error);
    });
    return known;
  };
}

/** Where an issuer describes itself. @see OpenID Connect Discovery 1.0, section 4.1 */
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
  // An attacker who can answer in place of the issuer could sign any token.
  if (keys.protocol !== 'https:' && !isLoopbackHttp(keys)) throw new Error(`the keys of ${issuer} are not at https`);
  return createRemoteJWKSet(keys, { timeoutDuration: limits.issuerMs });
}

const unavailable = (cause: unknown) =>
  new CountersignError('ERR_IDENTITY_PROVIDER_UNAVAILABLE', 'the identity provider does not answer; try again', {
    cause,
  });

/** Checks access tokens for one service. */
export interface TokenVerifier {
  /**
   * The verified token. Throws `ERR_TOKEN_INVALID` for any token that is not valid, and `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when
   * the issuer's keys cannot be read.
   */
  verify(token: string): Promise<AccessToken>;
}

/** A verifier for tokens of the configured issuer that are made for `audience`, and not older than is said. */
export function createTokenVerifier(
  config: Config,
  audience: string,
  { log, ...time }: Timing & { readonly log: Logger },
  maxAgeSeconds?: number,
): TokenVerifier {
  const { issuer } = config.urls;
  const { rolesClaim, maxTokenLifetimeSeconds: maxLifetimeSeconds } = config.identity;
  const { identityClaim } = config.gateway.coaz;
  const of = { issuer, audience, rolesClaim, identityClaim };
  const check = createAccessTokenVerifier({ ...of, maxLifetimeSeconds, maxAgeSeconds, log, ...time });
  return {
    async verify(token) {
      const verified = await check(token);
      if (verified !== undefined) return verified;
      throw new CountersignError('ERR_TOKEN_INVALID', 'the access token is not valid here; get a new one');
    },
  };
}
