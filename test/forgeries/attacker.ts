import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, SignJWT, type JWK } from 'jose';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import type { Chance } from '../histories/chance.ts';
import { serve } from '../support/serve.ts';

const OWN = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'RS256', 'PS256', 'EdDSA'] as const;
type Algorithm = (typeof ALGORITHMS)[number];

/** An attacker with genuine tokens, every public key, keys of their own, and a server that offers them. */
export interface Attacker {
  readonly algorithms: readonly Algorithm[];
  readonly keys: Readonly<Record<Algorithm, { readonly sign: CryptoKey; readonly jwk: JWK }>>;
  /** The address where the attacker's server offers those keys. No request may ever come. */
  readonly jwksUrl: string;
  visits(): number;
  close(): Promise<void>;
}

export async function startAttacker(): Promise<Attacker> {
  const made = await Promise.all(
    ALGORITHMS.map(async (alg) => {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
      return [alg, { sign: privateKey, jwk: { ...(await exportJWK(publicKey)), alg, kid: `own-${alg}` } }] as const;
    }),
  );
  const keys = Object.fromEntries(made) as unknown as Attacker['keys'];
  let visits = 0;
  const server: HttpServer = await serve((_request, response) => {
    visits += 1;
    const body = JSON.stringify({ keys: Object.values(keys).map(({ jwk }) => jwk) });
    response.setHeader('Content-Type', 'application/json').end(body);
  });
  return { algorithms: ALGORITHMS, keys, jwksUrl: `${server.url}/jwks`, visits: () => visits, close: server.close };
}

/** A genuine token, its possible signers, and other tokens to mix it with. */
export interface Target {
  readonly token: string;
  /** Another genuine one of the same kind. */
  readonly another: string;
  /** A genuine one of the other kind. */
  readonly otherKind: string;
  /** The key that signs such tokens: for purposes that its owner may sign for, but not for this place. */
  readonly signingKey: JWK;
  readonly attacker: Attacker;
  readonly chance: Chance;
}

export type Claims = Readonly<Record<string, unknown>>;

export const b64 = (value: string | Uint8Array) => Buffer.from(value).toString('base64url');
export const json64 = (value: unknown) => b64(JSON.stringify(value));
export const partsOf = (token: string) => token.split('.') as [header: string, payload: string, signature: string];
export const claimsOf = (token: string): Record<string, unknown> => decodeJwt(token);

/** The token with these claims and header members instead, signed with the key that signs such tokens. */
export async function signedByOwner(
  { token, signingKey }: Target,
  claims: Claims,
  header: Claims = {},
): Promise<string> {
  return new SignJWT(withoutUndefined({ ...claimsOf(token), ...claims }))
    .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'ES256', ...header })
    .sign(await importJWK(signingKey, 'ES256'), { crit: { 'https://elsewhere.test/x': true } });
}

/** The same, signed with a key of the attacker. */
export function signedByAttacker(
  of: Target,
  claims: Claims,
  header: Claims & { alg?: Algorithm } = {},
): Promise<string> {
  const alg = header.alg ?? 'ES256';
  return new SignJWT(withoutUndefined({ ...claimsOf(of.token), ...claims }))
    .setProtectedHeader({ ...decodeProtectedHeader(of.token), ...header, alg })
    .sign(of.attacker.keys[alg].sign);
}

/** A signature of the attacker over any two texts, as a token; they need not be JSON. */
export function sealed(header: string, payload: string): string {
  const text = `${b64(header)}.${b64(payload)}`;
  return `${text}.${b64(sign('sha256', Buffer.from(text), { key: OWN.privateKey, dsaEncoding: 'ieee-p1363' }))}`;
}

/** The public half of a key in every form that code could use as a shared secret. */
export function secretsFrom(key: JWK): Buffer[] {
  const { kty, crv, x, y, kid, alg } = key;
  const publicKey = createPublicKey({ key: { kty, crv, x, y } as never, format: 'jwk' });
  return [
    Buffer.from(String(publicKey.export({ type: 'spki', format: 'pem' }))),
    Buffer.from(String(publicKey.export({ type: 'spki', format: 'pem' })).trim()),
    publicKey.export({ type: 'spki', format: 'der' }),
    Buffer.from(JSON.stringify({ kty, crv, x, y })),
    Buffer.from(JSON.stringify({ kty, crv, x, y, kid, use: 'sig', alg })),
    Buffer.from(String(x), 'base64url'),
    Buffer.from(String(kid)),
    Buffer.alloc(0),
    randomBytes(32),
  ];
}

const withoutUndefined = (claims: Claims): Record<string, unknown> => JSON.parse(JSON.stringify(claims)) as never;
