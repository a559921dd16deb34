import { readFile } from 'node:fs/promises';
import { importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import type { Limits } from '../../../apps/shared/limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';

/** A secret as it is written, or the file that holds it, which is read whenever the secret is used. */
export type SecretText = string | { readonly file: string };

/** How access tokens for an upstream are got. @see RFC 6749, section 4.4; RFC 8693 */
export interface UpstreamAuth {
  /** The authorization server, an OpenID provider. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: SecretText | undefined;
  /** A private ES256 key as a JWK: the client proves itself with it (`private_key_jwt`), and says with it who calls. */
  readonly privateKey?: SecretText | undefined;
  /** Separated by blanks. */
  readonly scope?: string | undefined;
  /** What the tokens are for. Default: the address of the upstream. @see RFC 8707 */
  readonly resource?: string | undefined;
  /** Calls are made with a token that names their caller, which the client's own token is exchanged for. */
  readonly onBehalfOfCaller: boolean;
}

/** What an upstream gets with each request to know us by. */
export interface Credentials {
  /**
   * Headers for one request, or for the calls of a caller. Throws `ERR_UPSTREAM_UNAVAILABLE` when they cannot be got now;
   * nothing was sent to the upstream then.
   */
  headers(caller?: Principal): Promise<Record<string, string>>;
  /** The upstream took them for bad: the next request gets new ones. */
  refused(): void;
}

const ALGORITHM = 'ES256';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TYPE_JWT = 'urn:ietf:params:oauth:token-type:jwt';
const TYPE_ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** A token is not used any more so long before it ends, since the request takes its time to arrive. */
const MARGIN_SECONDS = 30;
/** How long one is used whose issuer does not say when it ends. */
const UNKNOWN_LIFETIME_SECONDS = 60;
/** Who calls is said for one exchange, which takes place at once. */
const SUBJECT_TOKEN_LIFETIME = '1m';

/** What the configuration says of an upstream that is reached by HTTP. */
export interface HttpUpstream {
  readonly url: string;
  readonly headers: Readonly<Record<string, SecretText>>;
  readonly auth?: UpstreamAuth | undefined;
}

/** Whether the configuration names a credential of any kind for it. */
export const hasCredentials = ({ headers, auth }: HttpUpstream): boolean =>
  auth !== undefined || Object.keys(headers).length > 0;

/** Those of an upstream that needs none, as a program that we start. */
export const NO_CREDENTIALS: Credentials = { headers: async () => ({}), refused: () => undefined };

/** `auth` gives an `Authorization` header, beside those that are always the same. */
export function createCredentials({ url, headers, auth }: HttpUpstream, limits: Limits): Credentials {
  const tokens = auth && createTokens({ ...auth, resource: auth.resource ?? url }, limits);
  return {
    async headers(caller) {
      try {
        const entries = Object.entries(headers).map(async ([name, value]) => [name, await reveal(value)] as const);
        const fixed = Object.fromEntries(await Promise.all(entries));
        return tokens === undefined ? fixed : { ...fixed, authorization: `Bearer ${await tokens.tokenFor(caller)}` };
      } catch (cause) {
        throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'no credential for the upstream server can be got', {
          cause,
        });
      }
    },
    refused: () => tokens?.forget(),
  };
}

/**
 * The client's own token is kept until it ends. One that names a caller is got for one call and not kept: it must not
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

  /** What was read of issuer and secrets is read anew after a failure: a secret may have been changed. */
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
 * Says who calls, signed by us: a call that waited has no token of its caller any more, and one that did not wait has one
 * that is meant for us alone. @see RFC 8693, section 2.1; RFC 9493
 */
async function subjectToken(auth: UpstreamAuth, { issuer, subject, clientId }: Principal): Promise<string> {
  if (auth.privateKey === undefined) throw new Error('no key to say who calls');
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
  return typeof secret === 'string' ? secret : (await readFile(secret.file, 'utf8')).trim();
}
