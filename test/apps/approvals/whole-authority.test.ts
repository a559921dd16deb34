import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import * as z from 'zod';
import { startPdp } from '../../../apps/pdp/main.ts';
import { publicKey } from '../../../apps/shared/auth/signing-key.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { BundleItem } from '../../support/bundles.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { anEs256Key, DEFAULT_POLICIES, post } from '../../support/pdp.ts';
import { presenting } from '../../support/signed-approvals.ts';
import { waitFor } from '../../support/wait-for.ts';
import { SHAPES } from '../../support/whole-answers.ts';
import { systemTime } from '../../support/time.ts';

/** A PDP and an access request service that share only their published keys: no database, no secret. */
describe('the authority side', () => {
  const service = new ApprovalsUnderTest();
  const log = pino({ level: 'silent' });
  let databases: TestDatabase[];
  let decisionPoints: Running[];
  let other = '';
  beforeAll(async () => {
    const [port, otherPort] = [await freePort(), await freePort()];
    await service.start({ pdp: { url: `http://127.0.0.1:${port}` }, approvals: { bulk: {} } });
    other = `http://127.0.0.1:${otherPort}`;
    databases = [await createTestDatabase(), await createTestDatabase()];
    const start = (at: number, of: TestDatabase | undefined) =>
      startPdp(
        { ...service.config, pdp: { ...service.config.pdp, policies: DEFAULT_POLICIES, port: at } },
        service.secrets,
        { ...systemTime, log, databaseUrl: of?.url ?? '' },
      );
    decisionPoints = [await start(port, databases[0]), await start(otherPort, databases[1])];
  });
  afterAll(async () => {
    for (const pdp of decisionPoints) await pdp.stop();
    for (const database of databases) await database.drop();
    await service.stop();
  });

  const aCall = (path = `/srv/${crypto.randomUUID()}`): EvaluationRequest => {
    const [tool, args] = ['files__write_file', { path, content: 'hello' }];
    return {
      subject: { type: 'identity', id: 'agent' },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: tool },
      context: { agent: 'agent', arguments: args, call_digest: callDigest({ tool, arguments: args }, sha256) },
    };
  };
  const ask = async (request: EvaluationRequest, pdp = service.config.urls.pdp) =>
    (await post(pdp, request, { headers: { Authorization: `Bearer ${service.secrets.pdpToken}` } })).body;
  const denied = async (request: EvaluationRequest) => SHAPES.denial.parse(await ask(request)).context;
  const submissionOf = (request: EvaluationRequest, denial: z.infer<typeof SHAPES.denial>['context']) => ({
    ...request,
    callback: { endpoint: `${service.config.urls.gateway}/callbacks/access-requests`, state: 'opaque' },
    denial: {
      evaluation_id: denial.evaluation_id,
      evaluated_at: denial.evaluated_at,
      expires_at: denial.access_request.expires_at,
      reason: denial.reason,
      template: denial.access_request.template,
      binding_token: denial.access_request.binding_token,
    },
  });
  /** A call that was denied, requested, and approved by alice. */
  async function approved() {
    const request = aCall();
    const submitted = await service.submit(submissionOf(request, await denied(request)));
    const { id } = SHAPES.status.parse(submitted.body).task;
    await service.vote('alice', { id, callDigest: request.context['call_digest'] as string }, 'approve');
    const { result } = SHAPES.status.parse((await service.status(id)).body);
    return { request, id, approval: result?.approval };
  }

  it('denies a call, takes the request and permits the approved call, and reveals no more than allowed [ARAP-EXT-01] [ARAP-EXT-02] [ARAP-CPL-01] [ARAP-CPL-04] [ARAP-CPL-05] [ARAP-TSK-05]', async () => {
    const { request, id, approval } = await approved();
    SHAPES.permit.parse(await ask(presenting(request, approval)));
    await waitFor(() => service.callbacks.some(({ body }) => body.includes(id)));
    SHAPES.callback.parse(JSON.parse(service.callbacks.find(({ body }) => body.includes(id))?.body ?? ''));
  });

  it('shares no state with the PDP: another PDP permits with the same approval [ARAP-GEN-03] [ARAP-GEN-04] [ARAP-CMP-10] [ARAP-CMP-14] [ARAP-SCP-03] [ARAP-SCP-04]', async () => {
    const { request, approval } = await approved();
    // The PDP has another address, and the approval names the audience that both PDPs use.
    expect(await ask(presenting(request, approval), other)).toMatchObject({ decision: true });
  });

  it('permits no other request with that approval [ARAP-REV-04] [ARAP-REV-05] [ARAP-SCP-01] [ARAP-SCP-02] [ARAP-SEC-01]', async () => {
    const { request, approval } = await approved();
    const changed: EvaluationRequest[] = [
      aCall(),
      { ...request, subject: { type: 'identity', id: 'bob' } },
      { ...request, resource: { type: 'tool', id: 'files__edit_file' } },
      { ...request, context: { ...request.context, agent: 'agent-8' } },
    ];
    for (const one of changed) expect(await ask(presenting(one, approval))).toMatchObject({ decision: false });
  });

  it('permits each item of a bundle only with its own approval [ARAP-SCP-06] [ARAP-BLK-04]', async () => {
    const { subject, action, context } = aCall();
    const { call_digest: _digest, ...shared } = context;
    const questions = ['files__write_file', 'files__edit_file'].map((id) => ({
      ...{ subject, action, context: shared },
      resource: { type: 'tool', id },
    }));
    const items = await Promise.all(
      questions.map(async (question) => {
        const { evaluation_id, access_request } = await denied(question);
        return { resource: question.resource, action, denial: { ...access_request, evaluation_id } };
      }),
    );
    const { body } = await service.submit({ subject, context: shared, items });
    const listed = (await service.asPerson('alice', '/requests')).body.requests as BundleItem[];
    const ofBundle = listed.filter(({ bundle }) => bundle?.id === body.task.id);
    const inOrder = [1, 2].flatMap((position) => ofBundle.filter(({ bundle }) => bundle?.position === position));
    for (const [at, item] of inOrder.entries()) {
      await service.vote('alice', item, 'approve');
      const shown = (await service.status(body.task.id)).body.task.items as { result?: { approval: object } }[];
      const decisions = await Promise.all(
        questions.map(async (question) => (await ask(presenting(question, shown[at]?.result?.approval))).decision),
      );
      expect(decisions).toEqual([at === 0, at === 1]);
      expect(shown.map((one) => one.result !== undefined)).toEqual([true, at === 1]);
    }
    expect(inOrder).toHaveLength(2);
  });

  it('accepts a denial by its evaluation alone, and lets no other client look it up [ARAP-SUB-12] [ARAP-BND-19] [ARAP-DEN-07]', async () => {
    const request = aCall();
    const denial = await denied(request);
    const { denial: echo, ...rest } = submissionOf(request, denial);
    const { binding_token: token, ...byId } = echo;
    const lookUp = (authorization?: string) =>
      fetch(`${service.config.urls.pdp}/access/v1/denials/${denial.evaluation_id}`, {
        headers: authorization === undefined ? {} : { authorization },
      });
    const { approval } = await approved();
    for (const no of [
      undefined,
      `Bearer ${service.secrets.pdpToken}`,
      `Bearer ${token}`,
      `Bearer ${approval?.state ?? ''}`,
    ]) {
      expect((await lookUp(no)).status).toBe(401);
    }
    const wrong = { ...rest, context: { ...rest.context, agent: 'another' }, denial: byId };
    expect((await service.submit(wrong)).status).toBe(400);
    expect((await service.submit({ ...rest, denial: byId })).status).toBe(202);
  });

  it('refuses a revoked approval at the next question, at each PDP [PRJ-38] [ARAP-REV-10] [ARAP-REV-11]', async () => {
    const { request, id, approval } = await approved();
    expect(await ask(presenting(request, approval))).toMatchObject({ decision: true });
    await service.asPerson('bob', `/requests/${id}/revoke`, { method: 'POST', body: '{}' });
    for (const pdp of [service.config.urls.pdp, other]) {
      const answer = await ask(presenting(request, approval), pdp);
      expect(SHAPES.denial.parse(answer).context).toMatchObject({ reason: 'approval_expired', next_action: 'request' });
    }
  });

  it('permits nothing and asks to retry while the access request service is down [PRJ-38] [ARAP-NXT-07] [ARAP-NXT-14]', async () => {
    const { request, approval } = await approved();
    await service.pause();
    expect(await ask(presenting(request, approval))).toMatchObject({
      decision: false,
      context: { reason: 'grant_pending', next_action: 'retry', retry_after: 5 },
    });
    await service.restart();
    expect(await ask(presenting(request, approval))).toMatchObject({ decision: true });
  });

  it('publishes the keys of both services in one set, and continues after either changes its key [ARAP-DIS-06] [ARAP-CMP-20] [ARAP-DIS-07]', async () => {
    const set = z.strictObject({ keys: z.array(z.strictObject({ kid: z.string(), use: z.literal('sig') }).loose()) });
    const published = async () =>
      set.parse(await (await fetch(`${service.config.urls.pdp}/access/v1/jwks`)).json()).keys.map(({ kid }) => kid);
    const { pdpSigningKey, accessRequestSigningKey } = service.secrets;
    expect(await published()).toEqual([pdpSigningKey.kid, accessRequestSigningKey.kid]);
    const { request, approval } = await approved();
    const next = await anEs256Key('ars-next');
    const former = z.parse(z.any(), publicKey(accessRequestSigningKey)) as never;
    await service.restart({ key: next, publishedKeys: [former] });
    const port = await freePort();
    const config = { ...service.config, pdp: { ...service.config.pdp, policies: DEFAULT_POLICIES, port } };
    const fresh = await startPdp(config, service.secrets, { ...systemTime, log, databaseUrl: databases[0]?.url ?? '' });
    try {
      expect(await ask(presenting(request, approval), `http://127.0.0.1:${port}`)).toMatchObject({ decision: true });
    } finally {
      await fresh.stop();
    }
  });
});
