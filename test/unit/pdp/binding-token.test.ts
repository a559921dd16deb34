import { describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import {
  bindDenial,
  bindingHash,
  bindingMembers,
  createBindingTokenSigner,
} from '../../../apps/pdp/offer/binding-token.ts';
import type { Requestable } from '../../../apps/pdp/engine/policy-engine.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { publicKey } from '../../../apps/shared/auth/signing-key.ts';
import { anEs256Key, aTransfer } from '../../support/pdp.ts';

const OFFER: Requestable = {
  kind: 'requestable',
  template: 'treasury_approval',
  reason: 'approval_required',
  title: 'Treasury approval',
  policies: ['transfer-large'],
};

describe('the binding hash', () => {
  const members = ['agent', 'amount'];

  it('has the published value for a transfer with its context [ARAP-BND-10]', () => {
    expect(bindingHash(aTransfer(), members)).toBe('1D3AUzxxGix20RNsi3F0diqdPOJ7sP6ZHV3L9p3Tyn8');
  });
  it('has the published value when no context member is bound [ARAP-BND-10]', () => {
    expect(bindingHash(aTransfer(), [])).toBe('iVScull4ZkZejfUf8P5oOnL31hBtxnJvaj4ppRRMy5c');
  });
  it('has the published value for another amount', () => {
    expect(bindingHash(aTransfer({ amount: 60_000 }), members)).toBe('pSR0yX2Sv4lGvXJRioZ1UuDa1-ph0OSWqvxyp79uAzg');
  });
  it('does not depend on the order of members', () => {
    const { subject, action, resource } = aTransfer();
    const shuffled = { context: { amount: 50_000, agent: 'agent-7' }, resource, action, subject };
    expect(bindingHash(shuffled, ['amount', 'agent'])).toBe(bindingHash(aTransfer(), members));
  });
  it('leaves out the actor of the subject, and keeps properties that this empties [ARAP-BND-11, PRJ-04]', () => {
    const withProperties = (properties: Record<string, string>): EvaluationRequest => ({
      ...aTransfer(),
      subject: { type: 'identity', id: 'alice@example.com', properties },
    });
    expect(bindingHash(withProperties({ act: 'agent-7' }), members)).toBe(bindingHash(withProperties({}), members));
    expect(bindingHash(withProperties({}), members)).not.toBe(bindingHash(aTransfer(), members));
    expect(bindingHash(withProperties({ role: 'x' }), members)).not.toBe(bindingHash(withProperties({}), members));
  });
  it('distinguishes an absent member from one that is null [ARAP-BND-12]', () => {
    expect(bindingHash(aTransfer({ memo: null }), ['memo'])).not.toBe(bindingHash(aTransfer(), ['memo']));
  });
});

describe('the bound context members', () => {
  it('are all that the request carried, without answers of a PDP and values that change each time [ARAP-GEN-10, ARAP-GEN-11]', () => {
    const context = { time: 'now', request_id: '1', evaluation_id: 'e', access_request: {}, approval: {}, reason: 'r' };
    expect(bindingMembers(aTransfer({ ...context, arguments: {}, call_digest: 'sha-256:1' }))).toEqual([
      'agent',
      'amount',
      'arguments',
      'call_digest',
    ]);
  });
});

describe('the binding token', () => {
  const issuer = 'https://gate.example.test';
  const audience = 'https://gate.example.test/access/v1/requests';
  const DENIED = {
    requester: 'mcp-gateway',
    offer: OFFER,
    listedTemplates: ['treasury_approval'],
    policyVersion: 'sha-256:00',
  };

  it('verifies with the public key and contains the binding of the denial [ARAP-BND-08, PRJ-03]', async () => {
    const key = await anEs256Key('pdp-1');
    const sign = await createBindingTokenSigner({ key, issuer, audience });
    const denial = bindDenial({ ...DENIED, request: aTransfer() }, { ttlSeconds: 600, now: Date.now() });
    const { payload, protectedHeader } = await jwtVerify(
      await sign(denial),
      createLocalJWKSet({ keys: [publicKey(key)] }),
      { issuer, audience, algorithms: ['ES256'] },
    );
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'pdp-1' });
    expect(payload).toMatchObject({
      ...aTransfer(),
      evaluation_id: denial.evaluationId,
      requester: 'mcp-gateway',
      template: 'treasury_approval',
      listed_templates: ['treasury_approval'],
      reason: 'approval_required',
      policies: ['transfer-large'],
      display: { title: 'Treasury approval' },
      binding_context_members: ['agent', 'amount'],
      binding_hash: '1D3AUzxxGix20RNsi3F0diqdPOJ7sP6ZHV3L9p3Tyn8',
      denial_expires_at: denial.expiresAt.toISOString(),
      exp: denial.expiresAt.getTime() / 1_000,
      jti: denial.tokenId,
    });
    expect(denial.expiresAt.getTime() - denial.evaluatedAt.getTime()).toBeLessThanOrEqual(600_000);
  });

  it('binds only by hash when the copies would be large', async () => {
    const sign = await createBindingTokenSigner({ key: await anEs256Key('pdp-1'), issuer, audience });
    const request = aTransfer({ arguments: { content: 'x'.repeat(100_000) } });
    const token = await sign(bindDenial({ ...DENIED, request }, { ttlSeconds: 600, now: Date.now() }));
    expect(token.length).toBeLessThan(2_000);
    expect(decodeJwt(token)).toMatchObject({ binding_hash: bindingHash(request, bindingMembers(request)) });
    expect(decodeJwt(token)).not.toHaveProperty('context');
  });

  it('never repeats an identifier [ARAP-EID-03]', () => {
    const denials = Array.from({ length: 50 }, () =>
      bindDenial({ ...DENIED, request: aTransfer() }, { ttlSeconds: 600, now: Date.now() }),
    );
    expect(new Set(denials.map((denial) => denial.evaluationId)).size).toBe(50);
    expect(new Set(denials.map((denial) => denial.tokenId)).size).toBe(50);
  });
});
