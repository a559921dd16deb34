import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT, type JWTPayload } from 'jose';
import { boundParts, isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { startEnforcement, type Enforcement } from '../../support/enforcement.ts';
import { API_KEY_HEADER, FOREIGN_WORDS, startForeignAccessRequests } from '../../support/foreign-access-requests.ts';
import { startScriptedPdp, type Said, type ScriptedPdp } from '../../support/scripted-pdp.ts';
import { PATIENT_LIMITS } from '../../support/time.ts';

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
/** Keys of a service, without the five seconds that jose waits for them. */
const keysAt = (url: string) => createRemoteJWKSet(new URL(url), { timeoutDuration: PATIENT_LIMITS.pdpKeysMs });
const inAnHourSeconds = () => Math.floor(Date.now() / 1_000) + 3_600;
/** Numbers in odd notations, nested null, text with an odd sort order, and a name that is dangerous to copy. */
const STATE = JSON.parse(
  '{"z":[1.0,1e21,-0,0.1e-6,9007199254740993],"é":{"\\u2028":null},"a":false,"__proto__":{"x":1},"":"\\u0000"}',
) as Json;

const RAN = { status: 'completed', result: { isError: false } };
type Service = Awaited<ReturnType<typeof startForeignAccessRequests>>;
const writesTo = (product: Enforcement, path: string) =>
  product.calls().filter(({ arguments: args }) => args['path'] === path).length;

describe('an authority side of third-party services', () => {
  let pdp: ScriptedPdp;
  let service: Service;
  let product: Enforcement;
  const issued: JsonObject[] = [];
  const shown: unknown[] = [];

  /** Permits only with exactly the service's approval, by canonical form, and otherwise offers a request. */
  const decide = (body: unknown): Said => {
    const { approval } = (body as EvaluationRequest).context;
    if (approval !== undefined) shown.push(approval);
    const isGiven = issued.some((one) => canonicalJson(one) === canonicalJson(approval ?? null));
    const access_request = {
      expires_at: inAnHour(),
      binding_token: 'no JWT at all',
      'acme.test': 1,
      template: 'acme/7',
      display: { title: FOREIGN_WORDS, justification: FOREIGN_WORDS },
    };
    const context = {
      reason: 'acme.needs-a-person',
      access_request,
      evaluation_id: 'e-1',
      unknown: { reason_user: FOREIGN_WORDS },
    };
    return { body: isGiven ? { decision: true, more: 1 } : { context, decision: false } };
  };

  beforeAll(async () => {
    [pdp, service] = await Promise.all([startScriptedPdp(), startForeignAccessRequests()]);
    pdp.says('/.well-known/authzen-configuration/tenant', {
      headers: { 'cache-control': 'max-age=60' },
      body: {
        access_evaluation_endpoint: `${pdp.url}/decide`,
        access_request_endpoint: service.url,
        policy_decision_point: `${pdp.url}/tenant`,
      },
    });
    pdp.says('/decide', ({ body }) => decide(body));
    product = await startEnforcement({
      own: [],
      config: {
        pdp: { url: `${pdp.url}/tenant`, credentialHeader: 'X-Pdp-Key' },
        accessRequests: { credentialHeader: API_KEY_HEADER, trustedOrigins: [new URL(service.url).origin] },
      },
    });
  });
  afterAll(async () => {
    await product?.stop();
    await Promise.all([pdp?.close(), service?.close()]);
  });
  beforeEach(() => [shown, issued].forEach((seen) => seen.splice(0)));

  const approve = (_submission: JsonObject, id: string) => {
    const made = { state: STATE, 'acme.test': [id], approved_until: inAnHour(), id: `a ${id}` };
    issued.push(made);
    return made;
  };
  const write = (path: string) => product.call('write_file', { path, content: 'x' });

  it('is found by its metadata, and a call waits there and runs once [AZ-MD-02, AZ-MD-08, AZ-SE-02, ARAP-DEN-05, ARAP-CPL-05, ARAP-TSK-03, ARAP-TSK-14, ARAP-CMP-06, ARAP-DEN-14, ARAP-CB-11]', async () => {
    service.takes({ approve });
    const path = join(product.files, 'foreign.txt');
    const approveWhatWaits = () => {
      const [submitted] = service.submissions;
      expect(submitted?.headers[API_KEY_HEADER.toLowerCase()]).toBe(product.secrets.accessRequestToken);
      expect(pdp.askedAt('/decide').at(-1)?.headers['x-pdp-key']).toBe(product.secrets.pdpToken);
      expect(submitted?.body['denial']).toMatchObject({
        ...{ binding_token: 'no JWT at all', template: 'acme/7', evaluation_id: 'e-1', reason: 'acme.needs-a-person' },
      });
      expect(existsSync(path)).toBe(false);
      service.resolve('approved');
    };
    expect(await product.carriedOut(() => write(path), approveWhatWaits)).toMatchObject(RAN);
    expect(writesTo(product, path)).toBe(1);
  });

  it('cannot add its words to a task: all texts are ours [PRJ-39]', async () => {
    service.takes({ approve });
    const asked = await write(join(product.files, 'words.txt'));
    const { result: waiting } = await product.rpc('tasks/get', { taskId: asked['taskId'] });
    expect(waiting).toMatchObject({ status: 'working', statusMessage: expect.any(String) });
    service.resolve('approved');
    const told = JSON.stringify([asked, waiting, await product.ended(asked['taskId'])]);
    expect(told).not.toMatch(/Approved\?/);
  });

  it('gets its approval back unchanged, with any content [ARAP-CMP-08, ARAP-CMP-09, ARAP-REV-02]', async () => {
    service.takes({ approve });
    const { taskId } = await write(join(product.files, 'state.txt'));
    service.resolve('approved');
    await product.ended(taskId);
    // Each status has its own approval, and the presented one need not be the last.
    expect(issued.map((one) => canonicalJson(one))).toContain(canonicalJson(shown[0] as Json));
    expect(canonicalJson((shown[0] as JsonObject)['state'] as Json)).toBe(canonicalJson(STATE));
  });

  it.each([
    ['approved', 1],
    ['denied', 0],
  ] as const)('may settle a request at once, as %s [ARAP-TSK-10, ARAP-TSK-11]', async (settled, runs) => {
    service.takes({ settled, approve });
    const path = join(product.files, `settled-${settled}.txt`);
    const ended = await product.carriedOut(() => write(path));
    expect(ended).toMatchObject({ status: 'completed', result: { isError: runs === 0 } });
    expect(writesTo(product, path)).toBe(runs);
  });
});

describe('a third-party access request service with our policy decision point', () => {
  let service: Service;
  let product: Enforcement;
  beforeAll(async () => {
    service = await startForeignAccessRequests();
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'acme 1', alg: 'ES256', use: 'sig' };
    service.publishes(() => [jwk]);
    product = await startEnforcement({
      own: ['pdp'],
      config: {
        accessRequests: { url: service.url, jwksUrl: service.jwksUrl, credentialHeader: API_KEY_HEADER },
        // It has no list of revocations.
        pdp: { checkRevocations: false },
      },
    });
    const { config } = product;
    const pdpKeys = keysAt(`${config.urls.pdp}/access/v1/jwks`);
    service.takes({
      async approve(submission, id) {
        const { binding_token: token } = submission['denial'] as { binding_token: string };
        const of = { issuer: config.urls.pdp, audience: service.url };
        const { payload } = await jwtVerify<Record<string, Json>>(token, pdpKeys, of);
        const members = payload['binding_context_members'] as string[];
        const parts = boundParts(submission as unknown as EvaluationRequest, members);
        for (const part of ['subject', 'action', 'resource', 'context']) {
          if (!isSameJson(payload[part] ?? null, parts[part] ?? null))
            throw new Error(`${part} is not what was denied`);
        }
        const approvalId = `acme-${id}`;
        const claims: JWTPayload = {
          ...{ 'acme.test': { unknown: true }, binding_hash: payload['binding_hash'], scope: 'exact' },
          ...{ binding_context_members: [...members].reverse(), requester: payload['requester'] },
          ...{ template: payload['template'], approval_id: approvalId, jti: id, task_id: id },
          ...{ iss: service.url, aud: ['urn:other', config.urls.pdp], exp: inAnHourSeconds() },
        };
        const state = await new SignJWT(claims).setProtectedHeader({ kid: 'acme 1', alg: 'ES256' }).sign(privateKey);
        return { state, approved_until: inAnHour(), id: approvalId };
      },
    });
  });
  afterAll(async () => {
    await product?.stop();
    await service?.close();
  });

  it('approves calls that our policy then permits [ARAP-SCP-03, ARAP-CMP-14, ARAP-CMP-20, PRJ-06]', async () => {
    const path = join(product.files, 'cross.txt');
    const write = () => product.call('write_file', { path, content: 'x' });
    expect(await product.carriedOut(write, () => service.resolve('approved'))).toMatchObject(RAN);
    expect(writesTo(product, path)).toBe(1);
    const response = await fetch(`${product.config.urls.pdp}/access/v1/jwks`);
    expect(((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)).toContain('acme 1');
  });
});

describe('a third-party policy decision point with our access request service', () => {
  let pdp: ScriptedPdp;
  let product: Enforcement;
  const told: unknown[] = [];
  beforeAll(async () => {
    pdp = await startScriptedPdp();
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'their key', alg: 'ES256', use: 'sig' };
    pdp.says('/their/keys', { body: { keys: [jwk] } });
    product = await startEnforcement({
      own: ['approvals'],
      config: { pdp: { url: pdp.url, jwksUrl: `${pdp.url}/their/keys` } },
    });
    const { urls } = product.config;
    const arsKeys = keysAt(`${urls.approvals}/access/v1/jwks`);
    pdp.says('/access/v1/evaluation', async ({ body }) => {
      const { context, ...request } = body as EvaluationRequest;
      const { approval, ...bound } = context as Record<string, Json> & { approval?: { state: string; id: string } };
      if (approval !== undefined) {
        const of = { issuer: urls.accessRequests, audience: pdp.url };
        const { payload } = await jwtVerify<Record<string, Json>>(approval.state, arsKeys, of);
        told.push(payload);
        return { body: { decision: payload['approval_id'] === approval.id } };
      }
      const expires_at = new Date((Math.floor(Date.now() / 1_000) + 300) * 1_000).toISOString();
      const claims = {
        ...request,
        context: bound,
        binding_context_members: Object.keys(bound),
        unknown: { x: [null] },
      };
      const binding_token = await new SignJWT({ ...claims, evaluation_id: 'theirs', denial_expires_at: expires_at })
        .setProtectedHeader({ alg: 'ES256', kid: 'their key' })
        .setIssuer(pdp.url)
        .setAudience([urls.accessRequests])
        .setJti(crypto.randomUUID())
        .setExpirationTime(new Date(expires_at))
        .sign(privateKey);
      const access_request = { endpoint: urls.accessRequests, binding_token, expires_at, template: 'theirs' };
      return { body: { decision: false, context: { evaluation_id: 'theirs', access_request } } };
    });
  });
  afterAll(async () => {
    await product?.stop();
    await pdp?.close();
  });

  it('may bind its denials with inline claims and no hash, and verify our approvals [PRJ-04, ARAP-BND-09, ARAP-BND-22, ARAP-BND-04]', async () => {
    const path = join(product.files, 'theirs.txt');
    const write = () => product.call('write_file', { path, content: 'x' });
    const approve = async () => expect((await product.vote(await product.openRequest(), 'approve')).ok).toBe(true);
    expect(await product.carriedOut(write, approve)).toMatchObject(RAN);
    expect(writesTo(product, path)).toBe(1);
    expect(told).toContainEqual(
      expect.objectContaining({
        ...{ evaluation_id: 'theirs', scope: 'exact' },
        binding_hash: expect.stringMatching(/^[\w-]{43}$/),
      }),
    );
  });
});
