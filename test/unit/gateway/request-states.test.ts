import { describe, expect, it } from '@jest/globals';
import { createRequestStates } from '../../../apps/gateway/input/request-states.ts';

const key = (kid: string, byte: number) => ({
  kty: 'oct' as const,
  kid,
  k: Buffer.alloc(32, byte).toString('base64url'),
});
const [old, current] = [key('old', 1), key('current', 2)];
const CALL = {
  caller: { issuer: 'https://idp.test', subject: 'alice', clientId: 'agent-7' },
  callDigest: 'sha-256:call',
  toolDigest: 'sha-256:tool',
};
const ASKED = { key: 'request-1-x', form: 'digest', round: 1 };
const invalid = { name: 'CountersignError', code: 'ERR_REQUEST_STATE_INVALID' };

describe('a state', () => {
  const states = createRequestStates([current, old]);

  it('brings back what was asked, with a name of its own each time and ten minutes', async () => {
    const before = Date.now();
    const [one, two] = await Promise.all([1, 2].map(async () => states.open(await states.seal(CALL, ASKED), CALL)));
    expect(one).toEqual({ ...ASKED, nonce: expect.any(String), expiresAt: expect.any(String) });
    expect(one?.nonce).not.toBe(two?.nonce);
    const lifetime = Date.parse(one?.expiresAt ?? '') - before;
    expect(lifetime).toBeGreaterThan(595_000);
    expect(lifetime).toBeLessThanOrEqual(601_000);
  });

  it.each([
    ['another call', { callDigest: 'sha-256:other' }],
    ['a tool that has changed', { toolDigest: 'sha-256:other' }],
    ['another person', { caller: { ...CALL.caller, subject: 'mallory' } }],
    ['another agent', { caller: { ...CALL.caller, clientId: 'agent-8' } }],
    ['another issuer', { caller: { ...CALL.caller, issuer: 'https://other.test' } }],
  ])('is for nobody and nothing else: %s', async (_case, changes) => {
    await expect(states.open(await states.seal(CALL, ASKED), { ...CALL, ...changes })).rejects.toMatchObject(invalid);
  });

  it('outlives a change of keys for as long as the old key is known', async () => {
    const made = await createRequestStates([old]).seal(CALL, ASKED);
    expect(await states.open(made, CALL)).toMatchObject(ASKED);
    await expect(createRequestStates([current]).open(made, CALL)).rejects.toMatchObject(invalid);
    await expect(createRequestStates([{ ...current, kid: 'old' }]).open(made, CALL)).rejects.toMatchObject(invalid);
  });
});
