import { describe, expect, it } from '@jest/globals';
import {
  createSealedStates,
  type SealedContent,
  callScope,
  openRound,
  sealRound,
  type Round,
} from '../../../apps/gateway/extensions/sealed-state.ts';
import { systemTime } from '../../support/time.ts';

const key = (kid: string, byte: number) => ({
  kty: 'oct' as const,
  kid,
  k: Buffer.alloc(32, byte).toString('base64url'),
});
const [old, current] = [key('old', 1), key('current', 2)];
const CALL = {
  caller: { issuer: 'https://idp.test', subject: 'alice', clientId: 'agent-7' },
  upstream: 'bank',
  callDigest: 'sha-256:call',
  toolDigest: 'sha-256:tool',
};
const SCOPE = callScope(CALL);
const ASKED: Round = { kind: 'form', key: 'request-1-x', form: 'digest', round: 1 };
const RELAYED: Round = { kind: 'relayed_round', state: 'of the upstream' };
const TASK: SealedContent = { kind: 'relayed_task', upstream: 'bank', upstreamTaskId: '7', tool: 'bank__pay' };
const invalid = { name: 'CountersignError', code: 'ERR_REQUEST_STATE_INVALID' };

describe('the state of a round', () => {
  const sealedStates = createSealedStates([current, old], systemTime.clock);

  it.each([ASKED, RELAYED])('brings back the question, with a new name each time and ten minutes', async (round) => {
    const before = Date.now();
    const [one, two] = await Promise.all(
      [1, 2].map(async () => openRound(sealedStates, SCOPE, await sealRound(sealedStates, SCOPE, round))),
    );
    expect(one).toEqual({ ...round, nonce: expect.any(String), expiresAt: expect.any(String) });
    expect(one?.nonce).not.toBe(two?.nonce);
    const ends = Date.parse(one?.expiresAt ?? '');
    expect(ends).toBeGreaterThan(before + 595_000);
    expect(ends).toBeLessThanOrEqual(Date.now() + 601_000);
  });

  it.each([
    ['another call', { callDigest: 'sha-256:other' }],
    ['a tool that has changed', { toolDigest: 'sha-256:other' }],
    ['a tool of another upstream', { upstream: 'other' }],
    ['another person', { caller: { ...CALL.caller, subject: 'mallory' } }],
    ['another agent', { caller: { ...CALL.caller, clientId: 'agent-8' } }],
    ['another issuer', { caller: { ...CALL.caller, issuer: 'https://other.test' } }],
  ])('is valid for one caller and one request only: %s', async (_case, changes) => {
    for (const round of [ASKED, RELAYED]) {
      const state = await sealRound(sealedStates, SCOPE, round);
      await expect(openRound(sealedStates, callScope({ ...CALL, ...changes }), state)).rejects.toMatchObject(invalid);
    }
  });

  it('is not a task, not even for the same request', async () => {
    await expect(openRound(sealedStates, SCOPE, await sealedStates.seal(TASK, SCOPE, 60))).rejects.toMatchObject(
      invalid,
    );
  });

  it('is not needed by a request without answers', async () => {
    expect(await openRound(sealedStates, SCOPE, undefined)).toBeUndefined();
  });
});

describe('a handle', () => {
  it('outlives a change of keys for as long as the old key is known', async () => {
    const made = await createSealedStates([old], systemTime.clock).seal(TASK, SCOPE, 60);
    expect(await createSealedStates([current, old], systemTime.clock).open(made, SCOPE)).toMatchObject(TASK);
    expect(await createSealedStates([current], systemTime.clock).open(made, SCOPE)).toBeUndefined();
    expect(await createSealedStates([{ ...current, kid: 'old' }], systemTime.clock).open(made, SCOPE)).toBeUndefined();
  });

  it('is rejected when it is late, was altered, or is longer than any issued one', async () => {
    const sealedStates = createSealedStates([current], systemTime.clock);
    const made = await sealedStates.seal(TASK, SCOPE, 60);
    const at = made.length - 40;
    const altered = `${made.slice(0, at)}${made[at] === 'A' ? 'B' : 'A'}${made.slice(at + 1)}`;
    const late = await sealedStates.seal(TASK, SCOPE, -1);
    for (const one of [late, altered, made.slice(1), '', `${made}${'A'.repeat(200_000)}`]) {
      expect(await sealedStates.open(one, SCOPE)).toBeUndefined();
    }
  });

  it('can be opened with the longest content that an upstream may put into it', async () => {
    const sealedStates = createSealedStates([current], systemTime.clock);
    const longest: SealedContent = { kind: 'relayed_round', state: '\u0000'.repeat(16_384) };
    expect(await sealedStates.open(await sealedStates.seal(longest, SCOPE, 60), SCOPE)).toMatchObject(longest);
  });
});
