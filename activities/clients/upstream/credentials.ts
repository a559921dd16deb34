import { importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import type { Limits } from '../../../apps/shared/limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { readText } from '../../../apps/shared/text-file.ts';

/**
 * A secret as it is written, or the file that holds it, which is read whenever the secret is used. `scheme` is the word before the content
 * of that file, with a blank between them.
 */
export type SecretText = string | { readonly file: string; readonly scheme?: string | undefined };

/** How to get access tokens for an upstream. @see RFC 6749, section 4.4; RFC 8693 */
export interface UpstreamAuth {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: SecretText | undefined;
  /** A private ES256 key as a JWK. With it, the client authenticates (`private_key_jwt`) and names the caller. */
  readonly privateKey?: SecretText | undefined;
  readonly scope?: string | undefined;
  /** The resource of the tokens. Default: the address of the upstream. @see RFC 8707 */
  readonly resource?: string | undefined;
  /** Calls carry a token that names their caller. The client's own token is exchanged for it. */
  readonly onBehalfOfCaller: boolean;
}

export interface Credentials {
  /**
   * Headers for one request, or for the calls of a caller. Throws `ERR_UPSTREAM_UNAVAILABLE` when they are not available now;
   * nothing was sent to the upstream then.
   */
  headers(caller?: Principal): Promise<Record<string, string>>;
  /** The upstream refused them: the next request gets new ones. */
  refused(): void;
}

const ALGORITHM = 'ES256';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TYPE_JWT = 'urn:ietf:params:oauth:token-type:jwt';
const TYPE_ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** A token is not used so long before it ends, since the request takes its time to arrive. */
const MARGIN_SECONDS = 30;
/** For a token whose issuer does not state its end. */
const UNKNOWN_LIFETIME_SECONDS = 60;
/** A subject token is for one exchange, which takes place at once. */
const SUBJECT_TOKEN_LIFETIME = '1m';

export interface HttpUpstream {
  readonly url: string;
  readonly headers: Readonly<Record<string, SecretText>>;
  readonly auth?: UpstreamAuth | undefined;
}

/** For an upstream that needs none, such as a program that we start. */
export const NO_CREDENTIALS: Credentials = { headers: async () => ({}), refused: () => undefined };

/** `auth` adds an `Authorization` header to the fixed ones. */
export function createCredentials({ url, headers, auth }: HttpUpstream, limits: Limits): Credentials {
  const tokens = auth && createTokens({ ...auth, resource: auth.resource ?? url }, limits);
  return {
    async headers(caller) {
      try {
        const entries = Object.entries(headers).map(async ([name, value]) => [name, await reveal(value)] as const);
        const fixed = Object.fromEntries(await Promise.all(entries));
        return tokens === undefined ? fixed : { ...fixed, authorization: `Bearer ${await tokens.tokenFor(caller)}` };
      } catch (cause) {
        throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'no credential for the upstream is available', {
          cause,
        });
      }
    },
    refused: () => tokens?.forget(),
  };
}

/**
 * The client's own token is kept until it ends. A token that names a caller serves one call and is not kept: it must not
 * outlive the approval that the call rests on. @see SEP-2848, Completion
 */
function createTokens(auth: UpstreamAuth & { readonly resource: string }, limits: Limits) {
  let configuration: Promise<oidc.Configuration> | undefined;
  const parameters = { resource: auth.resource, ...(auth.scope !== undefined && { scope: auth.scope }) };
  const own = new LRUCache<'own', string>({
    max: 1,
    fetchMethod: async (_key, _stale, { options }) => {
      const { access_token, expires_in } = await ask((issuer) => oidc.clientCredentialsGrant(issuer, parameters));
      options.ttl = Math.max(1, (expires_in ?? UNKNOWN_LIFETIME_SECONDS) - MARGIN_SECONDS) * 1_000;
      return access_token;
    },
  });

  /** After a failure, issuer and secrets are read anew: a secret may have been changed. */
  async function ask<T>(grant: (issuer: oidc.Configuration) => Promise<T>): Promise<T> {
    configuration ??= discover(auth, limits);
    try {
      return await grant(await configuration);
    } catch (error) {
      configuration = undefined;
      throw error;
    }
  }

  async function exchange(caller: Principal): Promise<string> {
    const granted = await ask(async (issuer) =>
      oidc.genericGrantRequest(issuer, TOKEN_EXCHANGE, {
        ...parameters,
        subject_token: await subjectToken(auth, caller),
        subject_token_type: TYPE_JWT,
        requested_token_type: TYPE_ACCESS_TOKEN,
      }),
    );
    return granted.access_token;
  }

  return {
    tokenFor: (caller?: Principal) =>
      caller !== undefined && auth.onBehalfOfCaller ? exchange(caller) : own.forceFetch('own'),
    forget: () => void own.delete('own'),
  };
}

async function discover(auth: UpstreamAuth, { tokenMs }: Limits): Promise<oidc.Configuration> {
  const url = new URL(auth.issuer);
  const proof =
    auth.privateKey === undefined
      ? oidc.ClientSecretBasic(await reveal(auth.clientSecret ?? ''))
      : oidc.PrivateKeyJwt(await privateKey(auth.privateKey));
  return oidc.discovery(url, auth.clientId, undefined, proof, {
    // Secrets travel over plain http on loopback only; the configuration takes no other issuer.
    execute: url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [],
    timeout: tokenMs / 1_000,
  });
}

/**
 * Names the caller, signed by us: a call that waited has no token of its caller any more, and the token of another call is meant
 * for us alone. @see RFC 8693, section 2.1; RFC 9493
 */
async function subjectToken(auth: UpstreamAuth, { issuer, subject, clientId }: Principal): Promise<string> {
  if (auth.privateKey === undefined) throw new Error('no key to name the caller with');
  const { key, kid } = await privateKey(auth.privateKey);
  return new SignJWT({
    sub_id: { format: 'iss_sub', iss: issuer, sub: subject },
    ...(clientId !== undefined && { client_id: clientId }),
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', ...(kid !== undefined && { kid }) })
    .setIssuer(auth.clientId)
    .setSubject(subject)
    .setAudience(auth.issuer)
    .setIssuedAt()
    .setExpirationTime(SUBJECT_TOKEN_LIFETIME)
    .setJti(crypto.randomUUID())
    .sign(key);
}

async function privateKey(secret: SecretText): Promise<{ key: CryptoKey; kid?: string }> {
  const jwk = JSON.parse(await reveal(secret)) as JWK;
  const key = await importJWK({ ...jwk, alg: ALGORITHM }, ALGORITHM);
  if (key instanceof Uint8Array) throw new Error('the private key is a symmetric one');
  return { key, ...(jwk.kid !== undefined && { kid: jwk.kid }) };
}

export async function reveal(secret: SecretText): Promise<string> {
  if (typeof secret === 'string') return secret;
  const content = (await readText(secret.file)).trim();
  return secret.scheme === undefined ? content : `${secret.scheme} ${content}`;
}
