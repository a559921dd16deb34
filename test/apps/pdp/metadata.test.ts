import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose';
import { aTransfer, PDP_URL, startTestPdp } from '../../support/pdp.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp()));
afterAll(() => pdp.stop());

const WELL_KNOWN = '/.well-known/authzen-configuration';
const read = async (url: string) => (await (await fetch(url)).json()) as Record<string, unknown>;

describe('the metadata', () => {
  it('describe the decision point, without empty members [AZ-MD-01, AZ-MD-03, AZ-MD-11, AZ-MD-12, ARAP-DIS-01, ARAP-DIS-03, ARAP-DIS-05]', async () => {
    const response = await fetch(pdp.origin + WELL_KNOWN);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toEqual({
      policy_decision_point: PDP_URL,
      access_evaluation_endpoint: `${PDP_URL}/access/v1/evaluation`,
      access_evaluations_endpoint: `${PDP_URL}/access/v1/evaluations`,
      search_subject_endpoint: `${PDP_URL}/access/v1/search/subject`,
      search_resource_endpoint: `${PDP_URL}/access/v1/search/resource`,
      search_action_endpoint: `${PDP_URL}/access/v1/search/action`,
      access_request_endpoint: 'http://approvals.test/access/v1/requests',
      jwks_uri: `${PDP_URL}/access/v1/jwks`,
      supported_obligations: ['notification', 'step-up', 'session_termination', 'custom'],
      capabilities: ['urn:openid:authzen:capability:access-request'],
    });
  });

  it('may be cached for five minutes, like the keys [AZ-MD-18]', async () => {
    for (const path of [WELL_KNOWN, '/access/v1/jwks']) {
      expect((await fetch(pdp.origin + path)).headers.get('cache-control')).toBe('public, max-age=300');
    }
  });

  it('have a well-known path that ends with the path of the identifier [AZ-MD-02, AZ-MD-04, AZ-MD-05]', async () => {
    const tenant = await startTestPdp({ url: 'https://gate.test/t1' });
    try {
      expect(await read(`${tenant.origin}${WELL_KNOWN}/t1`)).toMatchObject({
        policy_decision_point: 'https://gate.test/t1',
        access_evaluation_endpoint: 'https://gate.test/t1/access/v1/evaluation',
      });
      const small = aTransfer({ amount: 10 });
      expect((await tenant.post(small, { path: '/t1/access/v1/evaluation' })).body).toEqual({ decision: true });
      expect((await tenant.post(small)).status).toBe(404);
    } finally {
      await tenant.stop();
    }
  });

  it('are signed if configured, with a published key and with every plain member [AZ-MD-13, AZ-MD-16]', async () => {
    const signing = await startTestPdp({ signMetadata: true });
    try {
      const { signed_metadata: signed, ...plain } = await read(signing.origin + WELL_KNOWN);
      const keys = (await read(`${signing.origin}/access/v1/jwks`)) as unknown as JSONWebKeySet;
      const { payload } = await jwtVerify(String(signed), createLocalJWKSet(keys), {
        issuer: PDP_URL,
        algorithms: ['ES256'],
      });
      const { iss: _issuer, iat, ...said } = payload;
      expect(said).toEqual(plain);
      expect(iat).toBeGreaterThan(0);
      expect(decodeProtectedHeader(String(signed))).toEqual({ alg: 'ES256', typ: 'JWT', kid: signing.pdpKey.kid });
    } finally {
      await signing.stop();
    }
  });
});

it('the published keys are public halves only [ARAP-DIS-07]', async () => {
  const { keys } = (await read(`${pdp.origin}/access/v1/jwks`)) as unknown as JSONWebKeySet;
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
});
