import { describe, expect, it } from '@jest/globals';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { aForm, askedCalls } from '../support/asked-calls.ts';
import { anApproval, anOpening, CALLER } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, TOOL, type World } from '../support/steps.ts';

const away = new CountersignError('ERR_PDP_UNAVAILABLE', 'away');
const unreachable = new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'away');
const FORM = 'https://ars.test/second.json';
const WANTS_INPUT = {
  kind: 'requestable',
  evaluationId: 'eval_further',
  offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z', requestSchemaUrl: FORM },
} as const;

/** Everything that an approved call can wait for. */
const WAITS: readonly (readonly [string, World])[] = [
  [
    'a requirement that cannot be checked',
    {
      tool: { ...TOOL, facts: { ...TOOL.facts, requirements: ['env:production'] } },
      requirements: { claimNames: [], check: async () => ({ unmet: [], undecided: ['env:production'] }) },
    },
  ],
  ['a policy decision point that is away', { decision: away }],
  ['a policy that puts its decision off', { decision: { kind: 'retry', retryAfterMs: 1_000 } }],
  ['an upstream that is away', { tool: unreachable }],
  ['clocks that disagree', { clocksAgree: false }],
  ["the requester's answer", { decision: WANTS_INPUT, requestForms: { at: async () => aForm('ticket') } }],
  ['a worker', { store: { claim: async () => 'stale' }, isDecidedOnce: true }],
];

describe('a call that was approved in time', () => {
  const own = ownCalls();
  const calls = askedCalls(own);

  const endRequest = ({ gatedCallId }: { gatedCallId: string }) =>
    own.db.pool.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE id = $1', [
      gatedCallId,
    ]);
  const endApproval = ({ gatedCallId }: { gatedCallId: string }) =>
    own.db.pool.query('UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() WHERE id = $1', [
      gatedCallId,
    ]);
  const steps = (world: World) => stepsIn(world, own.fixture.lifecycle);
  const answer = async (call: { gatedCallId: string; taskId: string }) => {
    const { questions = [] } = (await own.fixture.calls.findTask(call.taskId, ownerKey(CALLER))) ?? {};
    const given = questions.map(({ key }) => ({ key, content: { ticket: 'CHG-1' } }));
    if (given.length > 0) expect(await own.fixture.calls.answer(call.gatedCallId, given)).toBe('granted');
  };

  it.each(WAITS)('waits past the request deadline for %s, and then runs', async (_, world) => {
    const call = await own.fixture.granted(anOpening({ takesInput: true }));
    await steps(world).toTheClaim(call);
    await endRequest(call);
    expect(await createDueCalls(own.db.pool).due(10)).toEqual([]);
    expect(['granted', 'input_required']).toContain(await own.fixture.lifecycle.expire(call.gatedCallId));
    const found = await steps(world).toTheClaim(call);
    expect(['retry', 'input_required']).toContain(found.kind);
    await answer(call);
    expect(await steps({}).toTheClaim(call)).toMatchObject({ kind: 'claimed' });
  });

  it.each(WAITS)('ends with its approval, and says so, while it waits for %s', async (_, world) => {
    const call = await own.fixture.granted(anOpening({ takesInput: true }));
    await steps(world).toTheClaim(call);
    await endRequest(call);
    await endApproval(call);
    expect(await steps(world).toTheClaim(call)).toEqual({ kind: 'ended' });
    expect(await calls.endOf(call)).toEqual(['denied', 'approval_expired']);
  });

  it('tells the requester the end of the approval as the time for an answer', async () => {
    const approvedUntil = new Date(Date.now() + 1_800_000).toISOString();
    const call = await own.fixture.granted(anOpening({ takesInput: true }), anApproval({ approvedUntil }));
    await steps(WAITS[5]?.[1] ?? {}).toTheClaim(call);
    const shown = await own.fixture.calls.findTask(call.taskId, ownerKey(CALLER));
    expect(shown).toMatchObject({ state: 'input_required', decideBy: approvedUntil });
  });

  it('is kept past the end of its approval, however short the request could wait', async () => {
    const approvedUntil = new Date(Date.now() + 12 * 3_600_000).toISOString();
    const call = await own.fixture.granted(undefined, anApproval({ approvedUntil }));
    const shown = await own.fixture.calls.findTask(call.taskId, ownerKey(CALLER));
    expect(Date.parse(String(shown?.retainUntil))).toBeGreaterThan(Date.parse(approvedUntil));
  });

  it('has as long for a further approval as it had for the first', async () => {
    const call = await own.fixture.granted();
    const { remainingMs } = await own.fixture.lifecycle.progress((await own.fixture.pending()).gatedCallId);
    await endRequest(call);
    const { requestSchemaUrl: _, ...offer } = WANTS_INPUT.offer;
    expect(await steps({ decision: { ...WANTS_INPUT, offer } }).toTheClaim(call)).toEqual({ kind: 'next_generation' });
    const found = await own.fixture.lifecycle.progress(call.gatedCallId);
    expect(found).toMatchObject({ state: 'pending', generation: 2 });
    expect(found.remainingMs).toBeGreaterThan(remainingMs - 60_000);
    await endRequest(call);
    expect(await own.fixture.lifecycle.expire(call.gatedCallId)).toBe('denied');
    expect(await calls.endOf(call)).toEqual(['denied', 'request_expired']);
  });
});
