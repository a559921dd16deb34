import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { bindingHash } from '../../../apps/pdp/offer/binding-token.ts';
import { ACCESS_REQUESTS, aTransfer, PDP_URL, startTestPdp } from '../../support/pdp.ts';
import { presenting } from '../../support/signed-approvals.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp()));
afterAll(() => pdp.stop());

interface Offer {
  readonly evaluation_id: string;
  readonly evaluated_at: string;
  readonly reason: string;
  readonly access_request: { expires_at: string; binding_token: string; [key: string]: unknown };
}
const offerOf = (answer: { body: { context?: object } }) => answer.body.context as Offer;

describe('a requestable denial', () => {
  it('is a denial that names its remedy [ARAP-DEN-01, ARAP-DEN-06, ARAP-DEN-18, ARAP-DEN-20, ARAP-EID-01, AZ-IM-12]', async () => {
    const answer = await pdp.post(aTransfer());
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      decision: false,
      context: {
        reason: 'approval_required',
        evaluation_id: expect.stringMatching(/^eval_[0-9a-f-]{36}$/),
        evaluated_at: expect.stringMatching(/Z$/),
        access_request: {
          endpoint: ACCESS_REQUESTS,
          template: 'treasury_approval',
          expires_at: expect.stringMatching(/Z$/),
          binding_token: expect.stringMatching(/^eyJ/),
          display: { title: 'Treasury approval', description: 'Transfers above the limit.' },
        },
      },
    });
  });

  it('has a token that the published keys verify and that is bound to this denial [ARAP-DEN-07, ARAP-DEN-10, ARAP-DEN-11, ARAP-BND-03, ARAP-BND-05, ARAP-BND-07, ARAP-BND-08, ARAP-GEN-07, PRJ-03, PRJ-04]', async () => {
    const request = aTransfer({ to: 'acct-1' });
    const { evaluation_id, evaluated_at, access_request } = offerOf(await pdp.post(request));
    const keys = (await (await fetch(`${pdp.origin}/access/v1/jwks`)).json()) as JSONWebKeySet;
    const { payload } = await jwtVerify(access_request.binding_token, createLocalJWKSet(keys), {
      issuer: PDP_URL,
      audience: ACCESS_REQUESTS,
      algorithms: ['ES256'],
    });
    const members = ['agent', 'amount', 'to'];
    expect(payload).toMatchObject({
      ...request,
      evaluation_id,
      denial_expires_at: access_request.expires_at,
      template: 'treasury_approval',
      policies: ['transfer-large'],
      requester: 'mcp-gateway',
      binding_context_members: members,
      binding_hash: bindingHash(request, members),
    });
    expect(new Date(access_request.expires_at).getTime()).toBe((payload.exp ?? 0) * 1_000);
    const window = Date.parse(access_request.expires_at) - Date.parse(evaluated_at);
    expect(window).toBeGreaterThan(0);
    expect(window).toBeLessThanOrEqual(600_000);
  });

  it('is recorded under the same identifier before it is answered [ARAP-EID-02, PRJ-02]', async () => {
    const before = pdp.recorded.length;
    const { evaluation_id } = offerOf(await pdp.post(aTransfer()));
    expect(pdp.recorded.slice(before).map((denial) => denial.evaluationId)).toEqual([evaluation_id]);
  });

  it('is not offered when no approval would lift the denial [ARAP-DEN-02]', async () => {
    const before = pdp.recorded.length;
    const hard = await pdp.post(aTransfer({ amount: 2_000_000 }));
    expect(hard.body).toEqual({ decision: false, context: { reason: 'hard_limit' } });
    expect(pdp.recorded).toHaveLength(before);
  });
});

describe('an approval that the caller invented', () => {
  it.each([
    ['as facts', { verified: true, template: 'treasury_approval' }],
    ['as an object without proof', { id: 'apr_1', approved_until: '2999-01-01T00:00:00Z' }],
    ['with an invented state', { id: 'apr_1', state: 'eyJhbGciOiJub25lIn0.e30.' }],
    ['with facts as its state', { id: 'apr_1', state: { verified: true, template: 'treasury_approval' } }],
    ['as text', 'approved'],
    ['as true', true],
  ])('never permits %s [ARAP-REV-03, ARAP-NXT-16, PRJ-27]', async (_name, approval) => {
    const answer = await pdp.post(presenting(aTransfer(), approval));
    expect(answer.body).toEqual({ decision: false, context: { reason: 'approval_unverifiable', next_action: 'none' } });
  });
  it('counts as absent when it is null [AZ-TR-14]', async () => {
    expect((await pdp.post(presenting(aTransfer(), null))).body.context).toHaveProperty('access_request');
  });
});

describe('a request that cannot be evaluated', () => {
  it.each([
    ['an amount as text', '{"agent":"a","amount":"50000"}'],
    ['an amount with a fraction', '{"agent":"a","amount":50000.5}'],
    ['an amount of null', '{"agent":"a","amount":null}'],
    ['no amount', '{"agent":"a"}'],
    ['a huge amount', '{"agent":"a","amount":1e30}'],
    ['an amount that is too large to count', '{"agent":"a","amount":9007199254740994}'],
  ])('is denied for good with %s, and raises an alarm [PRJ-28]', async (_name, context) => {
    const before = pdp.lines.length;
    const { subject, action, resource } = aTransfer();
    const body = JSON.stringify({ subject, action, resource }).replace(/\}$/, `,"context":${context}}`);
    const answer = await pdp.post(body);
    expect(answer.status).toBe(200);
    expect(answer.body.decision).toBe(false);
    expect(answer.body.context).not.toHaveProperty('access_request');
    expect(pdp.lines.slice(before).map((line) => line.alarm)).toEqual(['evaluation_failed']);
  });

  it('is denied for good when a policy fails [PRJ-28]', async () => {
    const answer = await pdp.post({ ...aTransfer(), action: { name: 'add_up' }, context: { a: 2 ** 52, b: 2 ** 52 } });
    expect(answer.body).toEqual({ decision: false, context: { reason: 'evaluation_failed' } });
  });
});

describe('a requestable denial that cannot be recorded', () => {
  it.each([
    ['signing', { signBindingToken: () => Promise.reject(new Error('no key')) }],
    ['recording', { evaluations: { record: () => Promise.reject(new Error('no database')) } }],
  ])('is a plain denial when %s fails [ARAP-DEN-08]', async (_name, decide) => {
    const broken = await startTestPdp({ decide });
    try {
      const answer = await broken.post(aTransfer());
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ decision: false, context: { reason: 'access_request_unavailable' } });
      expect(broken.lines.map((line) => line.alarm)).toContain('denial_not_recorded');
      expect((await broken.post(aTransfer({ amount: 10 }))).body).toEqual({ decision: true });
    } finally {
      await broken.stop();
    }
  });
});
