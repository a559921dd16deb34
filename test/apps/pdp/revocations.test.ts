import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import { createRevokedApprovals } from '../../../apps/pdp/approval/verify-approval.ts';
import { publicKey } from '../../../apps/shared/auth/signing-key.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { ACCESS_REQUESTS, anEs256Key } from '../../support/pdp.ts';
import { serve } from '../../support/serve.ts';
import { aRevocationList } from '../../support/signed-approvals.ts';
import { aWallClock, PATIENT_LIMITS } from '../../support/time.ts';

let key: JWK;
let server: HttpServer;
beforeAll(async () => {
  key = await anEs256Key('ars-1');
  const list = () => aRevocationList({ key, issuer: ACCESS_REQUESTS, revoked: ['apr_1'] });
  server = await serve((_request, response) => void list().then((text) => response.end(text)));
});
afterAll(() => server.close());

/** Fetches the list with a clock ahead of the signer's. The clock moves further ahead during the fetch of the keys. */
function revokedAt(aheadMs: number, fetchingMs = 0) {
  const clock = aWallClock();
  clock.aheadMs = aheadMs;
  const keySet = createLocalJWKSet({ keys: [publicKey(key)] });
  const keys: JWTVerifyGetKey = (header, token) => {
    clock.aheadMs += fetchingMs;
    return keySet(header, token);
  };
  return createRevokedApprovals({ url: server.url, issuer: ACCESS_REQUESTS, keys, clock, limits: PATIENT_LIMITS })();
}

it("a list of revocations is valid while it is fresh by the decision point's clock [PRJ-38]", async () => {
  expect(await revokedAt(0)).toEqual(new Set(['apr_1']));
  await expect(revokedAt(120_000)).rejects.toMatchObject({ code: 'ERR_JWT_EXPIRED' });
});

it('a list of revocations that becomes stale while its keys are fetched is not valid [PRJ-38]', async () => {
  await expect(revokedAt(0, 120_000)).rejects.toMatchObject({ code: 'ERR_JWT_EXPIRED' });
});
