import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { altered } from '../support/altered.ts';
import { aPdpClient, type PdpClientOptions } from '../support/authority-clients.ts';
import { recordingLog } from '../support/pdp.ts';
import { startScriptedPdp, type ScriptedPdp } from '../support/scripted-pdp.ts';
import { waitFor } from '../support/wait-for.ts';

const WELL_KNOWN = '/.well-known/authzen-configuration';
const EVALUATION = '/access/v1/evaluation';
const QUESTION = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'bank__transfer' },
  context: {},
};
const unavailable = { code: 'ERR_PDP_UNAVAILABLE' };

let server: ScriptedPdp;
beforeAll(async () => {
  server = await startScriptedPdp();
});
afterAll(() => server.close());
beforeEach(() => {
  server.reset();
  for (const path of [EVALUATION, '/odd/evaluate', '/t1/access/v1/evaluation', '/t1/odd']) {
    server.says(path, { body: { decision: true } });
  }
});

const metadata = (more: object = {}, pdpUrl = server.url) => ({
  policy_decision_point: pdpUrl,
  access_evaluation_endpoint: `${server.url}/odd/evaluate`,
  ...more,
});
const evaluate = (pdpUrl = server.url, options: PdpClientOptions = {}) =>
  aPdpClient(pdpUrl, options).evaluate(QUESTION);
const pathsAsked = () => server.asked.map(({ path }) => path);

describe('PDP metadata', () => {
  it('names the endpoint of evaluations, regardless of its other members [AZ-MD-08, AZ-MD-10]', async () => {
    server.says(WELL_KNOWN, {
      body: metadata({ unknown_member: { this: null }, capabilities: 'none', search_subject_endpoint: 7 }),
    });
    expect(await evaluate()).toEqual({ kind: 'allow' });
    expect(pathsAsked()).toEqual([WELL_KNOWN, '/odd/evaluate']);
    expect(server.asked[0]?.headers.authorization).toBeUndefined();
  });

  it('of a PDP with a path is at the well-known path before it [AZ-MD-02]', async () => {
    const pdpUrl = `${server.url}/t1`;
    server.says(`${WELL_KNOWN}/t1`, { body: metadata({ access_evaluation_endpoint: `${server.url}/t1/odd` }, pdpUrl) });
    expect(await evaluate(pdpUrl)).toEqual({ kind: 'allow' });
    expect(pathsAsked()).toEqual([`${WELL_KNOWN}/t1`, '/t1/odd']);
  });

  it.each([
    ['a slash at the end', (url: string) => `${url}/`],
    ['another host', (url: string) => url.replace('127.0.0.1', 'localhost')],
    ['another tenant', (url: string) => `${url}/t1`],
    ['another case', (url: string) => url.replace('http', 'HTTP')],
  ])('of an identity with %s is refused, without a fallback [AZ-MD-06]', async (_case, change) => {
    server.says(WELL_KNOWN, { body: metadata({}, change(server.url)) });
    await expect(evaluate()).rejects.toMatchObject(unavailable);
    expect(pathsAsked()).toEqual([WELL_KNOWN]);
  });

  it('that does not exist is replaced by the default AuthZEN paths [AZ-MD-09]', async () => {
    expect(await evaluate()).toEqual({ kind: 'allow' });
    expect(await evaluate(`${server.url}/t1/`)).toEqual({ kind: 'allow' });
    expect(pathsAsked()).toEqual([WELL_KNOWN, EVALUATION, `${WELL_KNOWN}/t1`, '/t1/access/v1/evaluation']);
  });

  it('is not fetched when the configuration says so', async () => {
    expect(await evaluate(server.url, { metadata: 'ignored' })).toEqual({ kind: 'allow' });
    expect(pathsAsked()).toEqual([EVALUATION]);
  });

  it.each([
    ['an error', { status: 500 }],
    ['a refusal', { status: 403 }],
    ['a redirect', { status: 302, headers: { location: '/odd/evaluate' } }],
    ['not JSON', { body: '<html>' }],
    ['without an endpoint', { body: { policy_decision_point: 'x' } }],
  ])('that is %s causes an error instead of a default', async (_case, said) => {
    server.says(WELL_KNOWN, said);
    await expect(evaluate()).rejects.toMatchObject(unavailable);
    expect(pathsAsked()).toEqual([WELL_KNOWN]);
  });

  it('with evaluations at another host is refused, unless the configuration trusts that host [PRJ-24, AZ-SE-01]', async () => {
    const other = await startScriptedPdp();
    other.says('/e', { body: { decision: true } });
    server.says(WELL_KNOWN, { body: metadata({ access_evaluation_endpoint: `${other.url}/e` }) });
    await expect(evaluate()).rejects.toMatchObject(unavailable);
    expect(other.asked).toEqual([]);
    expect(await evaluate(server.url, { trusted: [other.url] })).toEqual({ kind: 'allow' });
    await other.close();
  });

  it.each(['https://127.0.0.1/e', '/e', '', 'data:application/json,{"decision":true}'])(
    'with evaluations at %j is refused',
    async (endpoint) => {
      server.says(WELL_KNOWN, { body: metadata({ access_evaluation_endpoint: endpoint }) });
      await expect(evaluate()).rejects.toMatchObject(unavailable);
      expect(pathsAsked()).toEqual([WELL_KNOWN]);
    },
  );

  it('without a batch endpoint causes single questions [AZ-MD-07, COAZ-EN-07]', async () => {
    server.says(WELL_KNOWN, { body: metadata() });
    expect(await aPdpClient(server.url).evaluateAll([QUESTION, QUESTION])).toEqual([
      { kind: 'allow' },
      { kind: 'allow' },
    ]);
    expect(new Set(pathsAsked())).toEqual(new Set([WELL_KNOWN, '/odd/evaluate']));
    server.reset();
    server.says(WELL_KNOWN, { body: metadata({ access_evaluations_endpoint: `${server.url}/odd/batch` }) });
    server.says('/odd/batch', { body: { evaluations: [{ decision: false }, { decision: true }] } });
    expect(await aPdpClient(server.url).evaluateAll([QUESTION, QUESTION])).toEqual([
      { kind: 'deny' },
      { kind: 'allow' },
    ]);
    expect(pathsAsked()).toEqual([WELL_KNOWN, '/odd/batch']);
  });
});

describe('cached metadata', () => {
  it('is fetched again when it is stale [AZ-MD-18]', async () => {
    server.says(WELL_KNOWN, { headers: { 'cache-control': 'max-age=1' }, body: metadata() });
    const pdp = aPdpClient(server.url);
    await waitFor(async () => (await pdp.evaluate(QUESTION), server.askedAt(WELL_KNOWN).length > 1));
  });

  it('is fetched each time with no-store [AZ-MD-18]', async () => {
    server.says(WELL_KNOWN, { headers: { 'cache-control': 'no-store' }, body: metadata() });
    const pdp = aPdpClient(server.url);
    for (let n = 0; n < 3; n += 1) await pdp.evaluate(QUESTION);
    expect(server.askedAt(WELL_KNOWN)).toHaveLength(3);
  });

  it.each([[{}], [{ 'cache-control': 'public, max-age=86400' }]])('is kept with %j [AZ-MD-18]', async (headers) => {
    server.says(WELL_KNOWN, { headers, body: metadata() });
    const pdp = aPdpClient(server.url);
    for (let n = 0; n < 3; n += 1) await pdp.evaluate(QUESTION);
    expect(server.askedAt(WELL_KNOWN)).toHaveLength(1);
  });

  it('is not fetched each time when it is missing', async () => {
    const pdp = aPdpClient(server.url);
    for (let n = 0; n < 3; n += 1) await pdp.evaluate(QUESTION);
    expect(server.askedAt(WELL_KNOWN)).toHaveLength(1);
  });
});

describe('signed metadata', () => {
  const issuer = 'https://signer.test';
  const signed = () => ({ signedMetadata: { issuer, jwksUrl: `${server.url}/keys` } });
  let sign: (claims: Record<string, unknown>, of?: { iss?: string; kid?: string }) => Promise<string>;

  beforeEach(async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' };
    server.says('/keys', { body: { keys: [jwk] } });
    sign = (claims, { iss = issuer, kid = 'k' } = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).setIssuer(iss).sign(privateKey);
  });

  it('overrides plain metadata [AZ-MD-14]', async () => {
    const token = await sign(metadata());
    const plain = metadata({ access_evaluation_endpoint: `${server.url}/plain`, signed_metadata: token });
    server.says(WELL_KNOWN, { body: plain });
    expect(await evaluate(server.url, signed())).toEqual({ kind: 'allow' });
    expect(pathsAsked()).toEqual([WELL_KNOWN, '/keys', '/odd/evaluate']);
  });

  it('is ignored without a configured signer [AZ-MD-17, PRJ-37]', async () => {
    const token = await sign({ access_evaluation_endpoint: `${server.url}/signed` });
    server.says(WELL_KNOWN, { body: metadata({ signed_metadata: token }) });
    expect(await evaluate()).toEqual({ kind: 'allow' });
    expect(pathsAsked()).toEqual([WELL_KNOWN, '/odd/evaluate']);
  });

  it.each([
    ['missing', async () => undefined],
    ['of another issuer', async () => sign(metadata(), { iss: 'https://other.test' })],
    ['by an unknown key', async () => sign(metadata(), { kid: 'other' })],
    ['altered', async () => altered(await sign(metadata()))],
    ['of another PDP', async () => sign(metadata({}, 'https://other.test'))],
    ['nested', async () => sign(metadata({ signed_metadata: 'x.y.z' }))],
  ])('that is %s is an error without a fallback [AZ-MD-15, AZ-MD-16, PRJ-37]', async (_case, make) => {
    server.says(WELL_KNOWN, { body: metadata({ signed_metadata: await make() }) });
    await expect(evaluate(server.url, signed())).rejects.toMatchObject(unavailable);
    server.says(WELL_KNOWN, { status: 404 });
    await expect(evaluate(server.url, signed())).rejects.toMatchObject(unavailable);
    expect(pathsAsked()).not.toContain('/odd/evaluate');
    expect(pathsAsked()).not.toContain(EVALUATION);
  });
});

describe('the address for access requests', () => {
  const offered = (offer: object) => ({
    decision: false,
    context: {
      evaluation_id: 'e',
      access_request: { expires_at: '2126-01-01T00:00:00Z', binding_token: 't', ...offer },
    },
  });
  const endpointOf = async (offer: object, options: PdpClientOptions = {}) => {
    server.says('/odd/evaluate', { body: offered(offer) });
    const { lines, log } = recordingLog();
    const decision = await evaluate(server.url, { ...options, log });
    const alarms = lines.filter(({ alarm }) => alarm === 'foreign_address').length;
    return decision.kind === 'requestable' ? decision.offer.endpoint : { kind: decision.kind, alarms };
  };

  it('comes from the denial, else the configuration, else the metadata [ARAP-DEN-05, ARAP-DIS-04]', async () => {
    const own = `${server.url}/requests`;
    server.says(WELL_KNOWN, { body: metadata({ access_request_endpoint: own }) });
    expect(await endpointOf({})).toBe(own);
    expect(await endpointOf({}, { accessRequestsUrl: 'https://ars.test/r' })).toBe('https://ars.test/r');
    const configured = { accessRequestsUrl: 'https://ars.test/r' };
    expect(await endpointOf({ endpoint: 'https://ars.test/this' }, configured)).toBe('https://ars.test/this');
    // That endpoint has the credential for the other service.
    expect(await endpointOf({ endpoint: `${server.url}/this` }, configured)).toEqual({ kind: 'deny', alarms: 1 });
  });

  it('is refused when it is not trusted, with an alarm [PRJ-24, ARAP-DIS-02]', async () => {
    server.says(WELL_KNOWN, { body: metadata({ access_request_endpoint: 'http://ars.test/r' }) });
    const denied = { kind: 'deny', alarms: 1 };
    expect(await endpointOf({})).toEqual(denied);
    expect(await endpointOf({ endpoint: 'https://evil.test/r' }, { trusted: ['https://ars.test'] })).toEqual(denied);
    expect(await endpointOf({ endpoint: 'https://ars.test/r' }, { trusted: ['https://ars.test'] })).toBe(
      'https://ars.test/r',
    );
    server.says(WELL_KNOWN, { body: metadata() });
    expect(await endpointOf({})).toEqual(denied);
  });
});

describe('an answer of the PDP', () => {
  it('without the X-Request-ID counts, and is logged once [PRJ-31]', async () => {
    const { lines, log } = recordingLog();
    const pdp = aPdpClient(server.url, { log });
    for (let n = 0; n < 3; n += 1) expect(await pdp.evaluate(QUESTION)).toEqual({ kind: 'allow' });
    expect(lines.filter(({ msg }) => String(msg).includes('X-Request-ID'))).toHaveLength(1);
  });
});
