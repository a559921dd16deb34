import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { bindingHash } from '../../../apps/pdp/offer/binding-token.ts';
import { anEs256Key, aTransfer, startTestPdp } from '../../support/pdp.ts';
import { anApprovalFor, presenting } from '../../support/signed-approvals.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp()));
afterAll(() => pdp.stop());

type Making = Partial<Parameters<typeof anApprovalFor>[1]>;
const approvalFor = (request: EvaluationRequest, of: Making = {}) => anApprovalFor(request, { key: pdp.arsKey, ...of });

/** Presents an approval for one transfer with another request, by default the same one. */
async function present(of: Making & { with?: EvaluationRequest; approval?: object } = {}) {
  const { with: request = aTransfer(), approval: changes, ...making } = of;
  const approval = { ...(await approvalFor(aTransfer(), making)), ...changes };
  return (await pdp.post(presenting(request, approval))).body;
}

const UNVERIFIABLE = { decision: false, context: { reason: 'approval_unverifiable', next_action: 'none' } };
/** The approval has expired or is for another request, and a new request may be made. */
const another = (reason: string) => ({
  decision: false,
  context: {
    reason,
    next_action: 'request',
    evaluation_id: expect.any(String),
    evaluated_at: expect.any(String),
    access_request: expect.objectContaining({ template: 'treasury_approval', binding_token: expect.any(String) }),
  },
});

describe('an approval for this very request', () => {
  it('permits, and the answer says until when [ARAP-CMP-14, ARAP-GEN-04]', async () => {
    const approval = await approvalFor(aTransfer());
    const answer = await pdp.post(presenting(aTransfer(), approval));
    expect(answer.body).toEqual({
      decision: true,
      context: { approval: { id: approval.id, approved_until: approval.approved_until } },
    });
  });
  it('permits when members that are never bound have changed [ARAP-GEN-11]', async () => {
    const approval = await approvalFor(aTransfer({ time: '09:00' }));
    const later = presenting(aTransfer({ time: '10:00', request_id: '2' }), approval);
    expect((await pdp.post(later)).body.decision).toBe(true);
  });
  it('permits although a member was added that policies cannot see', async () => {
    expect(await present({ with: aTransfer({ risk: 'low' }) })).toMatchObject({ decision: true });
  });
  it('does not lift a forbid that is not requestable [ARAP-REV-08, ARAP-REV-09, ARAP-NXT-15]', async () => {
    const request = aTransfer({ amount: 2_000_000 });
    const answer = await pdp.post(presenting(request, await approvalFor(request)));
    expect(answer.body).toEqual({ decision: false, context: { reason: 'policy_denied', next_action: 'none' } });
  });
  it('does not help a subject that has been suspended since [ARAP-REV-09]', async () => {
    const request = { ...aTransfer(), subject: { type: 'identity', id: 'mallory@example.com' } };
    const answer = await pdp.post(presenting(request, await approvalFor(request)));
    expect(answer.body).toEqual({ decision: false, context: { reason: 'policy_denied', next_action: 'none' } });
  });
  it('does not permit a request that needs another template', async () => {
    expect(await present({ claims: { template: 'change_advisory' } })).toEqual(another('out_of_scope'));
  });
  it('is denied for good when the request can no longer be evaluated', async () => {
    const request = aTransfer({ rate: 1.5 });
    const answer = await pdp.post(presenting(request, await approvalFor(request)));
    expect(answer.body).toEqual({ decision: false, context: { reason: 'input_not_evaluable', next_action: 'none' } });
  });
});

describe('an approval for another request', () => {
  const { subject, action, resource } = aTransfer();
  it.each<[string, EvaluationRequest]>([
    ['another amount', aTransfer({ amount: 60_000 })],
    ['another agent', aTransfer({ agent: 'agent-8' })],
    ['no agent', aTransfer({ agent: undefined })],
    ['a target that policies can see', aTransfer({ to: 'acct-7' })],
    ['another subject', { ...aTransfer(), subject: { ...subject, id: 'bob@example.com' } }],
    ['another kind of subject', { ...aTransfer(), subject: { ...subject, type: 'user' } }],
    ['another resource', { ...aTransfer(), resource: { ...resource, id: 'acct-992' } }],
    ['a property on the resource', { ...aTransfer(), resource: { ...resource, properties: { a: 1 } } }],
    ['a property on the action', { ...aTransfer(), action: { ...action, properties: { fast: true } } }],
  ])(
    'does not permit %s [ARAP-REV-04, ARAP-REV-05, ARAP-REV-07, ARAP-SCP-01, ARAP-SCP-02, ARAP-SEC-01, ARAP-NXT-02, ARAP-NXT-13]',
    async (_name, request) => {
      expect(await present({ with: request })).toEqual(another('out_of_scope'));
    },
  );
  it('does not permit another call that differs only in members that policies do not see [PRJ-17]', async () => {
    const approval = await approvalFor(aTransfer({ call_digest: 'sha-256:1' }));
    const answer = await pdp.post(presenting(aTransfer({ call_digest: 'sha-256:2' }), approval));
    expect(answer.body).toEqual(another('out_of_scope'));
  });
  it.each([
    ['to another requester', { requester: 'another-gateway' }],
    ['with an unknown scope', { scope: 'any' }],
    [
      'with a member list that leaves the amount open',
      { binding_context_members: ['agent'], binding_hash: bindingHash(aTransfer(), ['agent']) },
    ],
  ])('does not permit when it was given %s [ARAP-REV-05, ARAP-SCP-01]', async (_name, claims) => {
    expect(await present({ claims })).toEqual(another('out_of_scope'));
  });
  it('offers no request where no approval would help', async () => {
    const answer = await present({ with: aTransfer({ amount: 2_000_000 }) });
    expect(answer).toEqual({ decision: false, context: { reason: 'policy_denied', next_action: 'none' } });
  });
});

describe('an approval that cannot be verified', () => {
  it.each<[string, Making]>([
    ['another issuer', { claims: { iss: 'http://elsewhere.test/access/v1/requests' } }],
    ['the issuer of binding tokens', { claims: { iss: 'http://pdp.test' } }],
    ['no issuer', { claims: { iss: undefined } }],
    ['another audience', { claims: { aud: 'http://other-pdp.test' } }],
    ['no audience', { claims: { aud: undefined } }],
    ['no expiry', { claims: { exp: undefined } }],
    ['an unknown key', { header: { kid: 'ars-2' } }],
    ['the id of another approval', { claims: { approval_id: 'apr_another' } }],
    ['no id', { claims: { approval_id: undefined } }],
    ['no template', { claims: { template: undefined } }],
    ['no binding', { claims: { binding_hash: undefined } }],
  ])('is invalid with %s [ARAP-CMP-12, ARAP-CMP-13, ARAP-REV-06, ARAP-REV-17]', async (_name, of) => {
    expect(await present(of)).toEqual(UNVERIFIABLE);
  });

  it('is invalid under another id [ARAP-REV-06, ARAP-REV-07]', async () => {
    expect(await present({ approval: { id: 'apr_swapped' } })).toEqual(UNVERIFIABLE);
  });

  it.each([0, 1, 2])('is invalid when part %i of its state was altered [ARAP-REV-17]', async (part) => {
    const approval = await approvalFor(aTransfer());
    const parts = approval.state.split('.');
    const text = parts[part] ?? '';
    parts[part] = (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
    const answer = await pdp.post(presenting(aTransfer(), { ...approval, state: parts.join('.') }));
    expect(answer.body).toEqual(UNVERIFIABLE);
  });

  it('is invalid when another key signed it, even one in its own header [ARAP-CMP-13, PRJ-06]', async () => {
    const key = { ...(await anEs256Key('ars-1')) };
    expect(await present({ key })).toEqual(UNVERIFIABLE);
    const { d: _d, ...jwk } = key;
    expect(await present({ key, header: { jwk } })).toEqual(UNVERIFIABLE);
  });

  it('is invalid when the decision point itself signed it [ARAP-CMP-13]', async () => {
    expect(await present({ key: { ...pdp.pdpKey, kid: 'ars-1' } })).toEqual(UNVERIFIABLE);
  });

  it('is invalid when it is signed with the public key as a shared secret', async () => {
    const approval = await approvalFor(aTransfer());
    const claims = JSON.parse(Buffer.from(approval.state.split('.')[1] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >;
    const secret = new TextEncoder().encode(JSON.stringify({ x: pdp.arsKey.x, y: pdp.arsKey.y }));
    const state = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'ars-1' }).sign(secret);
    expect((await pdp.post(presenting(aTransfer(), { ...approval, state }))).body).toEqual(UNVERIFIABLE);
  });

  it('is valid with an Ed25519 key, and each key verifies only with its own algorithm [PRJ-03]', async () => {
    const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'ed-1' };
    const trusting = await startTestPdp({ keys: createLocalJWKSet({ keys: [{ ...jwk, alg: 'EdDSA' }] }) });
    const pinned = await startTestPdp({ keys: createLocalJWKSet({ keys: [{ ...jwk, alg: 'ES256' }] }) });
    try {
      const key = { ...(await exportJWK(privateKey)), kid: 'ed-1' };
      const approval = await anApprovalFor(aTransfer(), { key, header: { alg: 'EdDSA' } });
      expect((await trusting.post(presenting(aTransfer(), approval))).body.decision).toBe(true);
      expect((await pinned.post(presenting(aTransfer(), approval))).body).toEqual(UNVERIFIABLE);
    } finally {
      await trusting.stop();
      await pinned.stop();
    }
  });

  it('is not accepted as a binding token', async () => {
    const denial = (await pdp.post(aTransfer())).body.context as { access_request: { binding_token: string } };
    const approval = { id: 'apr_1', state: denial.access_request.binding_token };
    expect((await pdp.post(presenting(aTransfer(), approval))).body).toEqual(UNVERIFIABLE);
  });

  it('does not block a request that is permitted without it', async () => {
    const answer = await pdp.post(presenting(aTransfer({ amount: 10 }), { id: 'x', state: 'y' }));
    expect(answer.body).toEqual({ decision: true });
  });
});

describe('an expired approval', () => {
  it('does not permit, and a new approval may be requested [ARAP-NXT-01, ARAP-NXT-02, ARAP-NXT-12, ARAP-REV-07]', async () => {
    expect(await present({ expiresInSeconds: -1 })).toEqual(another('approval_expired'));
  });
  it('is denied for good when the request is now forbidden', async () => {
    const answer = await present({ expiresInSeconds: -1, with: aTransfer({ to: 'acct-666' }) });
    expect(answer).toEqual({ decision: false, context: { reason: 'policy_denied', next_action: 'none' } });
  });
  it('is unverifiable when its signature is invalid', async () => {
    expect(await present({ expiresInSeconds: -1, key: await anEs256Key('ars-1') })).toEqual(UNVERIFIABLE);
  });
});

describe('the keys of the access request service', () => {
  it('cause a retry while they cannot be fetched, and never a permit [ARAP-NXT-07, ARAP-NXT-14]', async () => {
    const cut = await startTestPdp({ keys: () => Promise.reject(new TypeError('fetch failed')) });
    try {
      const approval = await anApprovalFor(aTransfer(), { key: cut.arsKey });
      expect((await cut.post(presenting(aTransfer(), approval))).body).toEqual({
        decision: false,
        context: { reason: 'grant_pending', next_action: 'retry', retry_after: 5 },
      });
      const final = presenting(aTransfer({ amount: 2_000_000 }), approval);
      expect((await cut.post(final)).body.context).toEqual({ reason: 'policy_denied', next_action: 'none' });
    } finally {
      await cut.stop();
    }
  });
});

describe('a denied re-evaluation', () => {
  it('does not offer a request that could not be recorded', async () => {
    const broken = await startTestPdp({ decide: { evaluations: { record: () => Promise.reject(new Error('down')) } } });
    try {
      const approval = await anApprovalFor(aTransfer({ amount: 30_000 }), { key: broken.arsKey });
      expect((await broken.post(presenting(aTransfer(), approval))).body).toEqual({
        decision: false,
        context: { reason: 'access_request_unavailable', next_action: 'retry', retry_after: 5 },
      });
    } finally {
      await broken.stop();
    }
  });
});
