import { exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT, type JWK } from 'jose';
import Provider, { errors } from 'oidc-provider';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { createMemoryAdapter } from '../../apps/shared/embedded/identity/memory-adapter.ts';
import { serve } from './serve.ts';

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const LIFETIME_SECONDS = 600;
export const BY_SECRET = 'countersign-by-secret';
export const BY_KEY = 'countersign-by-key';

/** A subject for whom no token is exchanged. */
export const UNKNOWN = 'unknown-subject';

/** An ES256 key pair as JWKs. */
export async function keyPair(kid: string): Promise<{ readonly publicJwk: JWK; readonly privateJwk: JWK }> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const of = async (key: CryptoKey) => ({ ...(await exportJWK(key)), kid, alg: 'ES256', use: 'sig' });
  return { publicJwk: await of(publicKey), privateJwk: await of(privateKey) };
}

/**
 * An authorization server on the official provider with two clients: one has a secret, and one proves itself with a key
 * and may exchange its assertion about a caller for a token that names the caller.
 */
export async function startTokenServer(secret: string, clientKey: JWK) {
  const signing = await keyPair('issuer');
  const seen = { grants: [] as string[], subjects: [] as Record<string, unknown>[] };
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const provider = new Provider(url, {
    adapter: createMemoryAdapter(),
    clients: [
      { client_id: BY_SECRET, client_secret: secret, ...ofPrograms(['client_credentials']) },
      {
        client_id: BY_KEY,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [clientKey] },
        ...ofPrograms(['client_credentials', TOKEN_EXCHANGE]),
      },
    ],
    jwks: { keys: [signing.privateJwk] },
    cookies: { keys: ['a key of a test'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'], clientAuthSigningAlgValues: ['ES256'] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, audience) => ({
          audience,
          scope: 'use',
          accessTokenFormat: 'jwt',
          accessTokenTTL: LIFETIME_SECONDS,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (ctx) => {
      const { subject_token: subject, resource, scope } = ctx.oidc.params as Record<string, string>;
      const { payload } = await jwtVerify(subject ?? '', clientKey, { issuer: BY_KEY, audience: url });
      seen.subjects.push(payload);
      if (payload.sub === UNKNOWN) throw new errors.InvalidRequest('the subject is unknown');
      const claims = { client_id: BY_KEY, act: { sub: BY_KEY }, ...(scope !== undefined && { scope }) };
      const token = new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'issuer' })
        .setIssuer(url)
        .setSubject(payload.sub ?? '')
        .setAudience(resource ?? '')
        .setExpirationTime('5m');
      const issued = { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', token_type: 'Bearer' };
      ctx.body = { access_token: await token.sign(await importJWK(signing.privateJwk)), ...issued, expires_in: 300 };
    },
    ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope'],
  );
  provider.on('grant.success', (ctx) => seen.grants.push(String(ctx.oidc.params?.['grant_type'])));
  const endpoints = provider.callback();
  const { close } = await serve((request, response) => void endpoints(request, response), port);
  return { seen, url, close, publicKey: signing.publicJwk };
}

const ofPrograms = (grants: string[]) => ({ grant_types: grants, response_types: [], redirect_uris: [] });
