import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';
import { pino } from 'pino';
import { createAccessTokenVerifier } from '../../../../apps/shared/auth/access-token.ts';
import type { HttpServer } from '../../../../apps/shared/http/listen.ts';
import { serve } from '../../../support/serve.ts';
import { systemTime } from '../../../support/time.ts';

const AUDIENCE = 'https://gateway.test/mcp';
/** After this interval an unknown key causes a new read of the keys. */
const KEYS_REST_MS = 30_000;

let issuer!: HttpServer;
let published: JWK[] = [];
let reads = 0;
beforeEach(async () => {
  [published, reads] = [[], 0];
  issuer = await serve((request, response) => {
    const isKeys = request.url === '/jwks';
    reads += isKeys ? 1 : 0;
    const metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(isKeys ? { keys: published } : metadata));
  });
});
afterEach(async () => {
  jest.useRealTimers();
  await issuer.close();
});

const verifier = () =>
  createAccessTokenVerifier({
    ...systemTime,
    issuer: issuer.url,
    audience: AUDIENCE,
    rolesClaim: 'roles',
    maxLifetimeSeconds: 86_400,
    log: pino({ level: 'silent' }),
  });
const later = (ms: number) =>
  jest.useFakeTimers({
    now: Date.now() + ms,
    doNotFake: [
      'nextTick',
      'setTimeout',
      'setImmediate',
      'setInterval',
      'clearTimeout',
      'clearImmediate',
      'clearInterval',
      'performance',
      'queueMicrotask',
      'hrtime',
    ],
  });

/** A published key of the issuer, and a function that signs with it. */
async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
  published.push(jwk);
  const sign = (alg = 'ES256', key: CryptoKey | Uint8Array = privateKey) =>
    new SignJWT({ scope: 'mcp' })
      .setProtectedHeader({ alg, kid })
      .setIssuer(issuer.url)
      .setAudience(AUDIENCE)
      .setSubject('alice')
      .setExpirationTime('1h')
      .sign(key);
  return { jwk, sign };
}

it('a token with a new key of the issuer is accepted, and one with a withdrawn key is refused after a while', async () => {
  const verify = verifier();
  const first = await newKey('first');
  expect(await verify(await first.sign())).toMatchObject({ principal: { subject: 'alice' } });
  const second = await newKey('second');
  later(KEYS_REST_MS + 1_000);
  expect(await verify(await second.sign())).toMatchObject({ principal: { subject: 'alice' } });
  expect(reads).toBe(2);
  published.shift();
  later(11 * 60_000);
  expect(await verify(await first.sign())).toBeUndefined();
  expect(await verify(await second.sign())).toBeDefined();
});

it('tokens with unknown keys cause a read of the keys at intervals, not each time', async () => {
  const verify = verifier();
  await newKey('first');
  const unknown = await newKey('unknown');
  published.pop();
  // The clock stands still while the machine signs.
  later(0);
  const tokens = await Promise.all(Array.from({ length: 20 }, () => unknown.sign()));
  for (const token of tokens) expect(await verify(token)).toBeUndefined();
  expect(reads).toBe(1);
});

it('a token signed with the public key as a shared secret is refused', async () => {
  const { jwk, sign } = await newKey('first');
  const verify = verifier();
  for (const secret of [JSON.stringify(jwk), jwk.x ?? '']) {
    expect(await verify(await sign('HS256', new TextEncoder().encode(secret.padEnd(32, '='))))).toBeUndefined();
  }
});
