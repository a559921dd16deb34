import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { checkPolicyDecisionPoint } from '../../activities/clients/pdp/check.ts';
import { aPdpClient, type PdpClientOptions } from '../support/authority-clients.ts';
import { startScriptedPdp, type ScriptedPdp } from '../support/scripted-pdp.ts';
import { systemTime } from '../support/time.ts';

const accessRequestsUrl = 'https://approvals.test/access/v1/requests';
const WELL_KNOWN = '/.well-known/authzen-configuration';
let server: ScriptedPdp;

const metadata = (more: object = {}) => ({
  policy_decision_point: server.url,
  access_evaluation_endpoint: `${server.url}/access/v1/evaluation`,
  access_request_endpoint: accessRequestsUrl,
  jwks_uri: `${server.url}/keys`,
  capabilities: ['urn:openid:authzen:capability:access-request'],
  ...more,
});
const check = (options: PdpClientOptions = { accessRequestsUrl }) => {
  const { describe: describePdp, trust, ...pdp } = aPdpClient(server.url, options);
  return checkPolicyDecisionPoint({
    ...systemTime,
    ...{ pdp, pdpUrl: server.url, describe: describePdp, isTrusted: trust.accessRequests },
    accessRequestsUrl: options.accessRequestsUrl,
  });
};

beforeAll(async () => {
  server = await startScriptedPdp();
});
afterAll(() => server.close());
beforeEach(() => {
  server.reset();
  server.says(WELL_KNOWN, { body: metadata() });
  server.says('/keys', { body: { keys: [{ kty: 'EC', crv: 'P-256', kid: 'k' }] } });
  server.says('/access/v1/evaluation', { body: { decision: false } });
});

describe('a policy decision point [PRJ-40]', () => {
  it('that matches the configuration has no problem', async () => {
    expect(await check()).toEqual([]);
    expect(server.askedAt('/access/v1/evaluation')).toHaveLength(1);
  });

  it('that allows an invalid request must not be used', async () => {
    server.says('/access/v1/evaluation', { body: { decision: true } });
    expect(await check()).toEqual([
      { weight: 'fatal', what: expect.stringContaining('allow anything'), nextStep: expect.any(String) },
    ]);
  });

  it.each([
    ['another access request service', { access_request_endpoint: 'https://approvals.test/other' }, 'another access_'],
    ['no capability', { capabilities: undefined }, 'its capabilities'],
    ['missing keys', { jwks_uri: 'http://127.0.0.1:9/keys' }, 'cannot be read'],
    ['keys without an address', { jwks_uri: 'keys' }, 'is not https'],
    ['keys over plain http', { jwks_uri: 'http://keys.test/' }, 'is not https'],
  ])('with %s is reported', async (_case, more, what) => {
    server.says(WELL_KNOWN, { body: metadata(more) });
    expect(await check()).toContainEqual({
      weight: 'notable',
      what: expect.stringContaining(what),
      nextStep: expect.any(String),
    });
  });

  it('without published keys is reported', async () => {
    server.says('/keys', { body: { keys: [] } });
    expect(await check()).toEqual([expect.objectContaining({ what: expect.stringContaining('no keys') })]);
  });

  it('with access requests at an unknown host, or nowhere, is reported as such [PRJ-24]', async () => {
    expect(await check({})).toEqual([
      expect.objectContaining({ weight: 'fatal', what: expect.stringContaining('another host') }),
    ]);
    server.says(WELL_KNOWN, { body: metadata({ access_request_endpoint: undefined }) });
    expect(await check({})).toEqual([
      expect.objectContaining({ weight: 'notable', what: 'it offers no access requests' }),
    ]);
  });

  it('without metadata is reported', async () => {
    server.says(WELL_KNOWN, { status: 404 });
    expect(await check()).toEqual([expect.objectContaining({ what: 'it has no metadata' })]);
  });

  it('with another identity cannot be used', async () => {
    server.says(WELL_KNOWN, { body: metadata({ policy_decision_point: 'https://other.test' }) });
    await expect(check()).rejects.toMatchObject({ code: 'ERR_PDP_UNAVAILABLE' });
    expect(server.askedAt('/access/v1/evaluation')).toEqual([]);
  });
});
