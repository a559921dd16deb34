import { LRUCache } from 'lru-cache';
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { isLoopbackHttp } from '../http/loopback.ts';
import { rolesOf } from './roles.ts';

/** Signatures of access tokens: asymmetric ones only, because anybody who verifies an HMAC could also forge it. */
const ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'];
const SKEW_SECONDS = 30;
const FETCH_MS = 5_000;
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

export interface AccessTokenOptions {
  readonly issuer: string;
  /** The service the token has to be made for. */
  readonly audience: string;
  readonly rolesClaim: string;
}

/**
 * Verifies JWT access tokens of one issuer for one service. Answers undefined for a token that is not good, whatever is
 * wrong with it; throws `ERR_IDENTITY_PROVIDER_UNAVAILABLE` when the issuer's keys cannot be read. @see RFC 9068
 */
export function createAccessTokenVerifier({ issuer, audience, rolesClaim }: AccessTokenOptions) {
  const keys = createKeys(issuer);
  const verified = new LRUCache<string, AccessToken>({ max: REMEMBERED, ttl: REMEMBER_MS });
  return async (token: string): Promise<AccessToken | undefined> => {
    const known = verified.get(token);
    if (known !== undefined && known.expiresAt > Date.now() / 1_000) return known;
    const read = await readToken(token);
    if (read !== undefined) verified.set(token, read);
    return read;
  };

  async function readToken(token: string): Promise<AccessToken | undefined> {
    const payload = await verify(token, await keys(), { issuer, audience });
    if (!payload?.sub || payload.exp === undefined) return undefined;
    const { sub, exp, client_id: clientId, scope } = payload;
    return {
      principal: { issuer, subject: sub, ...(typeof clientId === 'string' && { clientId }) },
      scopes: typeof scope === 'string' ? scope.split(' ').filter((one) => one !== '') : [],
      roles: rolesOf(payload[rolesClaim]),
      claims: payload as JsonObject,
      expiresAt: exp,
    };
  }
}

async function verify(token: string, keys: JWTVerifyGetKey, expected: { issuer: string; audience: string }) {
  const options = { ...expected, algorithms: ALGORITHMS, clockTolerance: SKEW_SECONDS };
  try {
    return (await jwtVerify<JWTPayload>(token, keys, options)).payload;
  } catch (error) {
    const isOurs =
      !(error instanceof errors.JOSEError) || ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT'].includes(error.code);
    if (isOurs) throw unavailable(error);
    return undefined;
  }
}

/** The issuer's key set, found through its metadata when first needed. */
function createKeys(issuer: string): () => Promise<JWTVerifyGetKey> {
  let known: Promise<JWTVerifyGetKey> | undefined;
  return () => {
    known ??= discoverKeys(issuer).catch((error: unknown) => {
      known = undefined;
      throw unavailable(error);
    });
    return known;
  };
}

async function discoverKeys(issuer: string): Promise<JWTVerifyGetKey> {
  const response = await fetch(`${issuer}/.well-known/openid-configuration`, {
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_MS),
  });
  const metadata = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (metadata.issuer !== issuer || typeof metadata.jwks_uri !== 'string') {
    throw new Error(`the metadata of ${issuer} is not its own`);
  }
  const keys = new URL(metadata.jwks_uri);
  // Whoever can answer in the issuer's place could sign any token.
  if (keys.protocol !== 'https:' && !isLoopbackHttp(keys)) throw new Error(`the keys of ${issuer} are not at https`);
  return createRemoteJWKSet(keys, { timeoutDuration: FETCH_MS });
}

const unavailable = (cause: unknown) =>
  new CountersignError('ERR_IDENTITY_PROVIDER_UNAVAILABLE', 'the identity provider does not answer; try again', {
    cause,
  });
