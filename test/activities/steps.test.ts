import { describe, expect, it } from '@jest/globals';
import type { Decision } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { anApproval, gatedCallFixture } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { waitFor } from '../support/wait-for.ts';
import { stepsIn, TOOL, type World } from '../support/steps.ts';

/** The wait in milliseconds that a step asks for. Fails when the step asks for something else. */
function waitOf(found: { kind: string; waitMs?: number }, kind: 'open' | 'retry' = 'retry'): number {
  expect(found).toEqual({ kind, ...(kind === 'open' && { generation: 1 }), waitMs: expect.any(Number) });
  return found.waitMs ?? Number.NaN;
}

describe('the steps of a gated call', () => {
  const own = ownCalls();

  const steps = (world: World) => stepsIn(world, own.fixture.lifecycle);
  const stateOf = async (gatedCallId: string) => (await own.fixture.lifecycle.progress(gatedCallId)).state;
  const unavailable = new CountersignError('ERR_PDP_UNAVAILABLE', 'away');

  describe('reading the resolution', () => {
    it('grants on an authenticated approval, and then claims the call', async () => {
      const call = await own.fixture.pending();
      const found = await steps({ status: { kind: 'granted', approval: anApproval() } }).toTheClaim(call);
      expect(found).toEqual({ kind: 'claimed', claimId: expect.any(String), executionTimeoutMs: 600_000 });
      expect(await stateOf(call.gatedCallId)).toBe('claimed');
    });

    it('has granted without a decision yet, and begins with the shortest pause for that', async () => {
      const call = await own.fixture.pending();
      const world: World = { status: { kind: 'granted', approval: anApproval() }, decision: unavailable };
      const began = performance.now();
      const found = await steps(world).toTheClaim(call);
      // The pause is as long as the call has waited, which is longer on a machine that stood still.
      expect(waitOf(found)).toBeLessThanOrEqual(1_000 + performance.now() - began);
      expect(await stateOf(call.gatedCallId)).toBe('granted');
    });

    it.each([
      ['denied', 'denied'],
      ['expired', 'denied'],
      ['cancelled', 'cancelled'],
      ['failed', 'failed'],
    ] as const)('ends the call when the request is %s', async (kind, state) => {
      const call = await own.fixture.pending();
      expect(await steps({ status: { kind } }).toTheClaim(call)).toEqual({ kind: 'ended' });
      expect(await stateOf(call.gatedCallId)).toBe(state);
    });

    it('waits until the deadline while the request is pending', async () => {
      const call = await own.fixture.pending();
      const { remainingMs } = await own.fixture.lifecycle.progress(call.gatedCallId);
      const found = await steps({ status: { kind: 'pending', retryAfterMs: 1_000 } }).toTheClaim(call);
      expect(waitOf(found, 'open')).toBeGreaterThan(remainingMs - 60_000);
      expect(waitOf(found, 'open')).toBeLessThanOrEqual(remainingMs + 2);
    });

    it('asks again soon when the status cannot be read [ARAP-STS-20]', async () => {
      const call = await own.fixture.pending();
      const away = new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'away');
      const found = await steps({ status: away }).toTheClaim(call);
      expect(waitOf(found, 'open')).toBeGreaterThan(1_000);
      expect(waitOf(found, 'open')).toBeLessThanOrEqual(10_000);
      expect(await stateOf(call.gatedCallId)).toBe('pending');
    });

    it('ends the call at its deadline, even if the service says otherwise [ARAP-STS-10, PRJ-23]', async () => {
      const short = gatedCallFixture(own.db.pool, { requestTtlMs: 1 });
      const call = await short.pending();
      const granted: World = { status: { kind: 'granted', approval: anApproval() } };
      expect(await steps(granted).toTheClaim(call)).toEqual({ kind: 'ended' });
      expect(await stateOf(call.gatedCallId)).toBe('denied');
    });

    it('reports only the generation of the request that it waits for, and nothing else of the call', async () => {
      const call = await own.fixture.pending();
      expect(await steps({}).readResolution(call)).toEqual({
        ...{ kind: 'open', generation: 1 },
        waitMs: expect.any(Number),
      });
      const granted = await own.fixture.granted();
      expect(await steps({}).readResolution(granted)).toEqual({ kind: 'granted' });
    });

    it('makes no decision before the call is granted', async () => {
      const call = await own.fixture.pending();
      expect(await steps({}).decideAndClaim(call)).toEqual({ kind: 'next_generation' });
      expect(await stateOf(call.gatedCallId)).toBe('pending');
    });

    it('goes straight on to the execution of a call that is already claimed', async () => {
      const call = await own.fixture.claimed();
      expect(await steps({}).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
    });
  });

  describe('re-evaluating and claiming', () => {
    it('claims by the decision that it records [DENIAL-025]', async () => {
      const call = await own.fixture.granted();
      expect(await steps({}).toTheClaim(call)).toEqual({
        kind: 'claimed',
        claimId: expect.any(String),
        executionTimeoutMs: 600_000,
      });
      const { rows } = await own.db.pool.query(
        'SELECT d.kind FROM gateway.execution_claim c JOIN gateway.decision d ON d.id = c.decision_id WHERE c.gated_call_id = $1',
        [call.gatedCallId],
      );
      expect(rows).toEqual([{ kind: 'allow' }]);
    });

    it('asks the PDP only after it has seen the tool, since looking at the tool may take long', async () => {
      const call = await own.fixture.granted();
      let [isLookedAt, asked] = [false, 0];
      let see: () => void = () => undefined;
      const seen = new Promise<void>((resolve) => (see = resolve));
      const found = steps({
        get seen() {
          isLookedAt = true;
          return seen;
        },
        get decision(): Decision {
          asked += 1;
          return { kind: 'allow' };
        },
      }).toTheClaim(call);
      await waitFor(() => isLookedAt);
      await new Promise(setImmediate);
      expect(asked).toBe(0);
      see();
      expect(await found).toMatchObject({ kind: 'claimed' });
      expect(asked).toBeGreaterThan(0);
    });

    it('does not claim on an answer that was asked for six seconds ago, even if it was recorded later', async () => {
      const call = await own.fixture.granted();
      const load = async (gatedCallId: string) => {
        const found = await own.fixture.lifecycle.load(gatedCallId);
        return { ...found, readAt: { ...found.readAt, databaseMs: found.readAt.databaseMs - 6_000 } };
      };
      expect(waitOf(await steps({ store: { load }, isDecidedOnce: true }).toTheClaim(call))).toBeGreaterThanOrEqual(0);
      expect(await stateOf(call.gatedCallId)).toBe('granted');
    });

    it('finds its own claim again when it is repeated', async () => {
      const call = await own.fixture.granted();
      const both = await Promise.all([steps({}).toTheClaim(call), steps({}).toTheClaim(call)]);
      expect(both.map(({ kind }) => kind)).toEqual(['claimed', 'claimed']);
      expect(await steps({}).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
    });

    it.each([
      ['a denial', { decision: { kind: 'deny', reason: 'policy' } }, 'policy_denied'],
      ['a tool that changed', { tool: { ...TOOL, digest: 'sha-256:other' } }, 'tool_changed'],
    ] as [string, World, string][])(
      'denies on %s [ARAP-GEN-02, ARAP-REV-01, ARAP-REV-08]',
      async (_, world, reason) => {
        const call = await own.fixture.granted();
        expect(await steps(world).toTheClaim(call)).toEqual({ kind: 'ended' });
        const row = await own.db.pool.query('SELECT state, reason FROM gateway.gated_call WHERE id = $1', [
          call.gatedCallId,
        ]);
        expect(row.rows[0]).toEqual({ state: 'denied', reason });
      },
    );

    it.each([
      ['the PDP asks for patience', { decision: { kind: 'retry', retryAfterMs: 2_000 } }, 2_000],
      ['the PDP is away', { decision: unavailable }, 0],
      ['the clocks are too far apart', { clocksAgree: false }, 0],
      ['the upstream is away', { tool: new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'away') }, 0],
    ] as [string, World, number][])('waits while %s [ARAP-NXT-08]', async (_, world, atLeast) => {
      const call = await own.fixture.granted();
      const found = await steps(world).toTheClaim(call);
      expect(waitOf(found)).toBeGreaterThanOrEqual(atLeast);
      expect(await stateOf(call.gatedCallId)).toBe('granted');
    });

    it.each([
      [20, 16_000, 30_000],
      [3_000, 48_000, 60_000],
    ])('waits about as long again as it has already waited for a decision: %i s', async (seconds, fromMs, toMs) => {
      const call = await own.fixture.granted();
      const began = performance.now();
      const since = `UPDATE gateway.gated_call SET last_updated_at = last_updated_at - $2 * interval '1 s' WHERE id = $1`;
      await own.db.pool.query(since, [call.gatedCallId, seconds]);
      const found = await steps({ decision: unavailable }).toTheClaim(call);
      expect(waitOf(found)).toBeGreaterThanOrEqual(fromMs);
      expect(waitOf(found)).toBeLessThanOrEqual(Math.min(toMs + performance.now() - began, 60_000));
    });

    it('denies a call whose stored arguments were altered [AT-5]', async () => {
      const call = await own.fixture.granted();
      await own.db.pool.query('ALTER TABLE gateway.call_binding DISABLE TRIGGER call_binding_immutable');
      await own.db.pool.query(
        `UPDATE gateway.call_binding SET sealed_content = overlay(sealed_content placing 'AAAA' from 200) WHERE gated_call_id = $1`,
        [call.gatedCallId],
      );
      await own.db.pool.query('ALTER TABLE gateway.call_binding ENABLE TRIGGER call_binding_immutable');
      expect(await steps({}).toTheClaim(call)).toEqual({ kind: 'ended' });
      expect(await stateOf(call.gatedCallId)).toBe('denied');
    });

    it('denies when the approval is over [ARAP-CMP-07, ARAP-NXT-10]', async () => {
      const approvedUntil = new Date(Date.now() + 150).toISOString();
      const call = await own.fixture.granted(undefined, anApproval({ approvedUntil }));
      let found = await steps({ decision: unavailable }).toTheClaim(call);
      while (found.kind === 'retry') found = await steps({ decision: unavailable }).toTheClaim(call);
      expect(found).toEqual({ kind: 'ended' });
      expect(await stateOf(call.gatedCallId)).toBe('denied');
    });
  });
});
