import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet, type JWK } from 'jose';
import {
  type EvaluationRequest,
  POLICIES_MEMBER,
  POLICY_VERSION_MEMBER,
} from '../../../workflows/domain/authzen/evaluation.ts';
import { startPdp } from '../../../apps/pdp/main.ts';
import { publicKey } from '../../../apps/shared/auth/signing-key.ts';
import { parseConfig, type Config } from '../../../apps/shared/config/config.ts';
import type { Secrets } from '../../../apps/shared/config/secrets.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import { type HttpServer, listen } from '../../../apps/shared/http/listen.ts';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { anEs256Key, DEFAULT_POLICIES, PDP_TOKEN, post, recordingLog } from '../../support/pdp.ts';
import { anApprovalFor, aRevocationList, presenting } from '../../support/signed-approvals.ts';
import { CUT_AT_ONCE, PATIENT_FACTOR, systemTime } from '../../support/time.ts';

/** The basis of a decision. */
const restsOn = (...policies: string[]) => ({
  [POLICY_VERSION_MEMBER]: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/),
  [POLICIES_MEMBER]: policies,
});
const AT_ROOT = { baseDir: '/', stateDir: '/' };
const CHANGE = restsOn('files-change');

let database: TestDatabase;
let keyServer: HttpServer;
let fetched = 0;
let arsKey: JWK;
let config: Config;
let secrets: Pick<Secrets, 'pdpToken' | 'pdpSigningKey'>;
let pdp: Running;

/** An approval as the access request service signs it. A test may change its claims. */
let revoked: string[] = [];
let revocations = () => aRevocationList({ key: arsKey, issuer: config.urls.accessRequests, revoked });

beforeAll(async () => {
  database = await createTestDatabase();
  arsKey = await anEs256Key('ars-1');
  keyServer = await listen(
    (request, response) => {
      if (request.url === '/access/v1/revocations') return void revocations().then((list) => response.end(list));
      fetched += 1;
      const known = request.url === '/access/v1/jwks' ? { keys: [publicKey(arsKey)] } : { keys: [] };
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(known));
    },
    { host: '127.0.0.1', port: 0, ...systemTime, limits: CUT_AT_ONCE },
  );
  config = parseConfig(
    {
      timeLimitFactor: PATIENT_FACTOR,
      ...{ pdp: { port: await freePort(), policies: DEFAULT_POLICIES }, approvals: { url: keyServer.url } },
    },
    AT_ROOT,
  );
  secrets = { pdpToken: PDP_TOKEN, pdpSigningKey: await anEs256Key('pdp-1') };
  pdp = await startPdp(config, secrets, { ...systemTime, log: recordingLog().log, databaseUrl: database.url });
});
afterAll(async () => {
  await pdp.stop();
  await keyServer.close();
  await database.drop();
});

const aCall = (tool: string, path = '/srv/notes.txt'): EvaluationRequest => ({
  subject: { type: 'identity', id: 'agent' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: tool },
  context: { agent: 'agent', arguments: { path, content: 'hello' }, call_digest: 'sha-256:00' },
});

const approve = (request: EvaluationRequest, key = arsKey) =>
  anApprovalFor(request, {
    key,
    claims: { iss: config.urls.accessRequests, aud: config.urls.pdp, template: 'operator_approval' },
  });

describe('the decision point with the example policies', () => {
  it('permits unrestricted calls', async () => {
    const answer = await post(config.urls.pdp, aCall('files__read_file'));
    expect(answer.body).toEqual({ decision: true, context: restsOn('files-look') });
  });

  it('denies a change, offers a request for it, and records it [ARAP-EID-02, ARAP-GEN-07, PRJ-02]', async () => {
    const answer = await post(config.urls.pdp, aCall('files__write_file'));
    const { evaluation_id, access_request } = answer.body.context as {
      evaluation_id: string;
      access_request: { binding_token: string; endpoint: string };
    };
    expect(access_request.endpoint).toBe(config.urls.accessRequests);
    const keys = (await (await fetch(`${config.urls.pdp}/access/v1/jwks`)).json()) as JSONWebKeySet;
    const { payload } = await jwtVerify(access_request.binding_token, createLocalJWKSet(keys), {
      issuer: config.urls.pdp,
      audience: config.urls.accessRequests,
    });
    expect(payload).toMatchObject({
      binding_context_members: ['agent', 'arguments', 'call_digest'],
      policies: ['files-change'],
    });
    const row = await database.prisma.evaluation.findUniqueOrThrow({ where: { evaluationId: evaluation_id } });
    expect(row).toMatchObject({
      tokenId: payload.jti,
      bindingHash: payload['binding_hash'],
      template: 'operator_approval',
    });
  });

  it("permits the change with the approval, by the access request service's published keys [ARAP-CMP-14] [ARAP-DIS-08]", async () => {
    const request = aCall('files__write_file');
    const approval = await approve(request);
    const permit = {
      decision: true,
      context: { approval: { id: approval.id, approved_until: approval.approved_until }, ...CHANGE },
    };
    expect((await post(config.urls.pdp, presenting(request, approval))).body).toEqual(permit);
    const before = fetched;
    expect((await post(config.urls.pdp, presenting(request, approval))).body).toEqual(permit);
    expect(fetched).toBe(before);
  });

  it('permits neither another path with that approval, nor an approval signed by an unknown key [ARAP-REV-04, ARAP-DIS-09]', async () => {
    const request = aCall('files__write_file');
    const other = presenting(aCall('files__write_file', '/srv/other.txt'), await approve(request));
    expect((await post(config.urls.pdp, other)).body).toMatchObject({
      decision: false,
      context: { reason: 'out_of_scope' },
    });
    const foreign = await approve(request, await anEs256Key('ars-9'));
    const before = fetched;
    for (let time = 0; time < 5; time += 1) {
      const answer = await post(config.urls.pdp, presenting(request, foreign));
      expect(answer.body.context).toEqual({ reason: 'approval_unverifiable', next_action: 'none', ...CHANGE });
    }
    expect(fetched - before).toBeLessThanOrEqual(1);
  });

  it('publishes the keys for approvals beside its own [ARAP-DIS-06, ARAP-DIS-07, ARAP-CMP-20]', async () => {
    const { keys } = (await (await fetch(`${config.urls.pdp}/access/v1/jwks`)).json()) as JSONWebKeySet;
    expect(keys.map((key) => key.kid)).toEqual(['pdp-1', 'ars-1']);
    expect(keys.every((key) => !('d' in key))).toBe(true);
  });

  it('never gives two denials the same identifier [ARAP-BND-06]', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(config.urls.pdp, aCall('files__edit_file'))),
    );
    const ids = answers.map((answer) => {
      const token = (answer.body.context as { access_request: { binding_token: string } }).access_request.binding_token;
      return decodeJwt(token).jti;
    });
    expect(new Set(ids).size).toBe(20);
  });
});

describe('a revoked approval', () => {
  const present = async () => {
    const request = aCall('files__write_file');
    const approval = await approve(request);
    revoked = ['apr_another'];
    const answer = async () => (await post(config.urls.pdp, presenting(request, approval))).body;
    return { id: approval.id, answer };
  };
  const listed = (claims: Record<string, unknown>, typ?: string) =>
    aRevocationList({
      key: arsKey,
      issuer: config.urls.accessRequests,
      revoked: [],
      claims,
      ...(typ !== undefined && { typ }),
    });
  const honest = revocations;
  afterEach(() => {
    revoked = [];
    revocations = honest;
  });

  it('permits no request from the next question on, and a new approval may be requested [PRJ-38] [ARAP-REV-10] [ARAP-NXT-12]', async () => {
    const { id, answer } = await present();
    expect(await answer()).toMatchObject({ decision: true });
    revoked.push(id);
    expect(await answer()).toMatchObject({
      decision: false,
      context: { reason: 'approval_expired', next_action: 'request', access_request: expect.anything() },
    });
  });

  it.each<[string, () => Promise<string>]>([
    ['is missing', () => Promise.resolve('')],
    ['is of another signer', async () => aRevocationList({ ...OF_ARS(), key: await anEs256Key('ars-1') })],
    ['is of another issuer', () => listed({ iss: config.urls.pdp })],
    ['is old', () => listed({ iat: Math.floor(Date.now() / 1_000) - 61, exp: Math.floor(Date.now() / 1_000) + 60 })],
    ['is another token of its signer', () => listed({}, 'JWT')],
    ['lacks its entries', () => listed({ revoked: undefined })],
  ])('delays the answer without a permit while the list %s [PRJ-38]', async (_name, list) => {
    const { answer } = await present();
    revocations = list;
    expect(await answer()).toEqual({
      decision: false,
      context: { reason: 'grant_pending', next_action: 'retry', retry_after: 5, ...CHANGE },
    });
  });

  const OF_ARS = () => ({ issuer: config.urls.accessRequests, revoked: [] as string[] });

  it('is not checked where the access request service has no revocations', async () => {
    const pdpPort = await freePort();
    const own = { ...config, pdp: { ...config.pdp, port: pdpPort, checkRevocations: false } };
    const trusting = await startPdp(own, secrets, {
      ...systemTime,
      log: recordingLog().log,
      databaseUrl: database.url,
    });
    try {
      revocations = () => Promise.resolve('');
      const request = aCall('files__write_file');
      const answer = await post(`http://127.0.0.1:${pdpPort}`, presenting(request, await approve(request)));
      expect(answer.body.decision).toBe(true);
    } finally {
      await trusting.stop();
    }
  });
});

describe('starting the decision point', () => {
  const start = (changed: Partial<Config>, key = secrets.pdpSigningKey) =>
    startPdp(
      { ...config, ...changed },
      { ...secrets, pdpSigningKey: key },
      { ...systemTime, log: recordingLog().log, databaseUrl: database.url },
    );

  it('offers no search if another decision point decides [AZ-MD-07, AZ-MD-11]', async () => {
    const port = await freePort();
    const { engine } = parseConfig({ pdp: { engine: { authzen: { url: keyServer.url } } } }, AT_ROOT).pdp;
    const front = await start({ pdp: { ...config.pdp, port, engine } });
    const metadata = await fetch(`http://127.0.0.1:${port}/.well-known/authzen-configuration`);
    await front.stop();
    expect(Object.keys((await metadata.json()) as object).filter((name) => name.startsWith('search'))).toEqual([]);
  });
  it('fails with EADDRINUSE when the port is taken', async () => {
    await expect(start({})).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
  it('fails without policies', async () => {
    await expect(start({ pdp: { ...config.pdp, policies: '/does/not/exist' } })).rejects.toMatchObject({
      code: 'ERR_CONFIG_INVALID',
    });
  });
  it('fails when the signing key has another type', async () => {
    await expect(start({}, { kty: 'RSA', kid: 'x', d: 'y' })).rejects.toMatchObject({ code: 'ERR_CONFIG_INVALID' });
  });
});
