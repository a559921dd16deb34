import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';
import { pino } from 'pino';
import { createApprovalVerifier } from '../../../../apps/pdp/approval/verify-approval.ts';
import { createAccessTokenVerifier } from '../../../../apps/shared/auth/access-token.ts';
import {
  createServiceToken,
  createSigner,
  isServiceToken,
  publicKey,
} from '../../../../apps/shared/auth/signing-key.ts';
import type { HttpServer } from '../../../../apps/shared/http/listen.ts';
import { ACCESS_REQUESTS, anEs256Key, PDP_URL, REQUESTER } from '../../../support/pdp.ts';
import { serve } from '../../../support/serve.ts';
import { anApprovalFor } from '../../../support/signed-approvals.ts';
import { aWallClock, PATIENT_LIMITS } from '../../../support/time.ts';

const HOUR_MS = 3_600_000;
const limits = PATIENT_LIMITS;

let clock: ReturnType<typeof aWallClock>;
let key: JWK;
beforeEach(async () => {
  clock = aWallClock();
  key = await anEs256Key('key-1');
});

/** Keys whose fetch takes this long. */
function keysAfter(ms: number) {
  const keys = createLocalJWKSet({ keys: [publicKey(key)] });
  return (...of: Parameters<typeof keys>) => {
    clock.aheadMs += ms;
    return keys(...of);
  };
}

it.each([
  ["accepts a service's token", 0, true],
  ["refuses a service's token that expired", 2 * HOUR_MS, false],
])('%s during a fetch of the keys', async (_what, ms, isTaken) => {
  const of = { issuer: ACCESS_REQUESTS, audience: PDP_URL, clock };
  const token = await createServiceToken(await createSigner(key), of)();
  expect(await isServiceToken(token, { ...of, keys: keysAfter(ms) })).toBe(isTaken);
});

it.each([
  ['accepts an approval', 0, 'verified'],
  ['refuses an approval that expired', 2 * HOUR_MS, 'expired'],
])('%s during a fetch of the keys', async (_what, ms, kind) => {
  const request = {
    subject: { type: 'identity', id: 'agent' },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: 'files__write_file' },
    context: {},
  };
  const verify = createApprovalVerifier({
    issuer: ACCESS_REQUESTS,
    keys: keysAfter(ms),
    audience: PDP_URL,
    revoked: async () => new Set(),
    clock,
  });
  const approval = await anApprovalFor(request, { key });
  expect(await verify({ approval, request, requester: REQUESTER, visible: new Set() })).toMatchObject({ kind });
});

describe('an access token', () => {
  let issuer: HttpServer;
  let fetchingMs = 0;
  beforeEach(async () => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    key = { ...(await exportJWK(pair.privateKey)), kid: 'key-1', alg: 'ES256' };
    issuer = await serve((request, response) => {
      const isKeys = request.url === '/jwks';
      if (isKeys) clock.aheadMs += fetchingMs;
      const document = isKeys ? { keys: [publicKey(key)] } : { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
    });
  });
  afterEach(() => issuer.close());

  it.each([
    ['is accepted', 0, { subject: 'alice' }],
    ['is refused when it expired', 2 * HOUR_MS, undefined],
  ])("%s during a fetch of its issuer's keys", async (_what, ms, principal) => {
    fetchingMs = ms;
    const of = { issuer: issuer.url, audience: 'https://gateway.test/mcp', rolesClaim: 'roles' };
    const log = pino({ level: 'silent' });
    const verify = createAccessTokenVerifier({ ...of, maxLifetimeSeconds: 86_400, clock, limits, log });
    const token = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: 'key-1' })
      .setIssuer(of.issuer)
      .setAudience(of.audience)
      .setSubject('alice')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key);
    const verified = await verify(token);
    if (principal === undefined) expect(verified).toBeUndefined();
    else expect(verified).toMatchObject({ principal });
  });
});
