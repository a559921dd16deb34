import { describe, expect, it } from '@jest/globals';
import { createSealedStates } from '../../../apps/gateway/extensions/sealed-state.ts';
import { capabilitiesIn } from '../../../apps/gateway/sessions/capabilities.ts';
import { createTombstones, openSession, sealSession } from '../../../apps/gateway/sessions/session-id.ts';
import { SEALING_SECRETS } from '../../support/gated-calls.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const DAY_MS = 86_400_000;
const CALLER = { issuer: 'https://issuer.test', subject: 'alice', clientId: 'agent-7' };
const DECLARED = {
  revision: '2025-11-25',
  client: { name: 'c'.repeat(100), version: 'v'.repeat(100) },
  capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} },
};

describe('the id of a session', () => {
  const clock = new ManualClock();
  const seals = createSealedStates(SEALING_SECRETS.sealingKeys, clock);
  const seal = () => sealSession(seals, 'gateway-1', CALLER, DECLARED);

  it('holds what the client declared, in visible characters, and fits into a header', async () => {
    const id = await seal();
    expect(await openSession(seals, CALLER, id)).toEqual(DECLARED);
    expect(id).toMatch(/^gateway-1\.[\x21-\x7e]{1,1000}$/);
    expect(await seal()).not.toBe(id);
  });

  it.each([
    ['another person', { subject: 'mallory' }],
    ['another client', { clientId: 'agent-8' }],
    ['another issuer', { issuer: 'https://other.test' }],
    ['an actor for the caller', { actors: [{ subject: 'robot' }] }],
  ])('does not open for %s', async (_who, change) => {
    expect(await openSession(seals, { ...CALLER, ...change }, await seal())).toBeUndefined();
  });

  it('does not open when it was altered, is a sealed value of another kind, or is 30 days old', async () => {
    const id = await seal();
    const scope = { caller: CALLER, about: 'a session' };
    const round = await seals.seal({ kind: 'relayed_round' }, scope, 60);
    for (const one of ['', 'x', '.', 'gateway-1.', `${id}x`, id.slice(0, -3), id.slice(10), `gateway-1.${round}`]) {
      expect(await openSession(seals, CALLER, one)).toBeUndefined();
    }
    clock.set(clock.now() + 29 * DAY_MS);
    expect(await openSession(seals, CALLER, id)).toEqual(DECLARED);
    clock.set(clock.now() + 2 * DAY_MS);
    expect(await openSession(seals, CALLER, id)).toBeUndefined();
  });
});

it('only the newest deleted ids are remembered', () => {
  const tombstones = createTombstones(2);
  for (const id of ['a', 'b', 'c']) tombstones.add(id);
  expect(['a', 'b', 'c', 'd'].map((id) => tombstones.has(id))).toEqual([false, true, true, false]);
});

const EVERYTHING = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: { listChanged: true },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
  experimental: { x: {} },
};

describe('the capabilities of a session', () => {
  it.each([
    ['2025-03-26', { sampling: {}, roots: {} }],
    ['2025-06-18', { elicitation: { form: {} }, sampling: {}, roots: {} }],
    ['2025-11-25', { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} }],
  ])('are those that the revision %s has', (revision, capabilities) => {
    expect(capabilitiesIn(revision, EVERYTHING)).toEqual(capabilities);
  });

  it('have forms where no mode of elicitation is named', () => {
    expect(capabilitiesIn('2025-11-25', { elicitation: {} })).toEqual({ elicitation: { form: {} } });
    expect(capabilitiesIn('2025-11-25', { elicitation: { url: {} } })).toEqual({ elicitation: { url: {} } });
  });

  it.each([undefined, null, 'all', [], { elicitation: 1, sampling: 'x', roots: [] }])('are none in %j', (declared) => {
    expect(capabilitiesIn('2025-11-25', declared)).toEqual({});
  });
});
