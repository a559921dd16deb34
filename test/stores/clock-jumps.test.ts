import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { createDueCalls } from '../../activities/stores/due-calls.ts';
import { startExpiry } from '../../apps/shared/maintenance/expire.ts';
import { checkInvariants } from '../invariants/check-invariants.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { jumpingClock } from '../support/database-clock.ts';
import { anApproval, anOpening, gatedCallFixture } from '../support/gated-calls.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let db: TestDatabase;
let fixture: ReturnType<typeof gatedCallFixture>;
let long: ReturnType<typeof gatedCallFixture>;
let setClock: (aheadMs: number) => Promise<void>;
beforeAll(async () => {
  db = await createTestDatabase();
  setClock = await jumpingClock(db.pool);
  fixture = gatedCallFixture(db.pool, { requestTtlMs: 30 * MINUTE_MS });
  long = gatedCallFixture(db.pool, { requestTtlMs: 4 * HOUR_MS });
});
afterAll(() => db.drop());

type Call = { readonly gatedCallId: string };
const until = (ms: number) => anApproval({ approvedUntil: new Date(Date.now() + ms).toISOString() });
const permit = () => ({ invocationId: randomUUID(), upstreamKey: randomUUID() });
const RESULT = { isError: false, text: '{"content":[]}' };
const ends = async (calls: Record<string, Call>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(calls).map(async ([name, { gatedCallId }]) => {
        const text = 'SELECT state, reason, ended_at FROM gateway.gated_call WHERE id = $1';
        return [name, (await db.pool.query(text, [gatedCallId])).rows[0]] as const;
      }),
    ),
  );
/** The worker's work that depends on time; it stops once all due calls have ended. */
async function sweep(): Promise<void> {
  const due = createDueCalls(db.pool);
  const { expire, end } = fixture.lifecycle;
  const sweeper = startExpiry({
    ...systemTime,
    calls: { ...due, expire, end, rewrap: async () => 0 },
    ...{ intervalMs: 20, abandonAfterMs: 10 * MINUTE_MS, log: pino({ enabled: false }) },
  });
  await waitFor(async () => (await due.due(1)).length + (await due.abandoned(10 * MINUTE_MS, 1)).length === 0);
  await sweeper.stop();
}
const claim = async (call: Call, decisionId: string) =>
  fixture.lifecycle.claim({
    ...{ gatedCallId: call.gatedCallId, generation: 1, epoch: 1, decisionId },
    ...{ claimId: randomUUID(), executionTimeoutMs: MINUTE_MS },
  });
async function execute(call: Call, claimId: string): Promise<string> {
  const { invocationId, upstreamKey } = permit();
  const given = await fixture.lifecycle.beginInvocation({ ...call, claimId, invocationId, upstreamKey });
  if (!given) return 'no permit';
  return fixture.lifecycle.settleResult({ ...call, invocationId, cause: 'result' }, RESULT);
}

it('a database clock that jumps an hour ahead and back ends calls early, and runs no call late or again', async () => {
  const sent = { ...(await fixture.claimed()), ...permit() };
  await fixture.lifecycle.beginInvocation(sent);
  const claimed = await fixture.claimed();
  const granted = await fixture.granted(undefined, until(30 * MINUTE_MS));
  const calls = { waits: await fixture.pending(), granted, claimed, sent, begun: await fixture.opened() };
  const patient = await long.pending();
  const decidedBefore = await fixture.allow(granted.gatedCallId);

  await setClock(HOUR_MS);
  // The next moment, before any sweep.
  expect(await claim(granted, decidedBefore)).toBe('lost');
  expect(await execute(claimed, claimed.claimId)).toBe('no permit');
  await sweep();
  const ended = await ends(calls);
  expect(ended).toMatchObject({
    waits: { state: 'denied', reason: 'request_expired' },
    granted: { state: 'denied', reason: 'approval_expired' },
    claimed: { state: 'denied', reason: 'approval_expired' },
    sent: { state: 'outcome_unknown' },
    begun: { state: 'denied', reason: 'request_expired' },
  });
  expect((await long.lifecycle.load(patient.gatedCallId)).state).toBe('pending');
  // Its answer arrives after the call has ended: it is evidence, and nothing else.
  const of = { gatedCallId: sent.gatedCallId, invocationId: sent.invocationId, cause: 'result' } as const;
  expect(await fixture.lifecycle.settleResult(of, RESULT)).toBe('outcome_unknown');
  const decidedAhead = await long.granted(undefined, until(3 * HOUR_MS));
  const allowedAhead = await fixture.allow(decidedAhead.gatedCallId);
  const ranAhead = await long.granted(undefined, until(3 * HOUR_MS));
  const [firstClaim, secondClaim] = [randomUUID(), randomUUID()];
  expect(await fixture.claim(ranAhead.gatedCallId, firstClaim)).toBe('won');
  expect(await execute(ranAhead, firstClaim)).toBe('executed');

  await setClock(0);
  await sweep();
  // Ended calls stay ended.
  expect(await ends(calls)).toEqual(ended);
  expect(await claim(granted, decidedBefore)).toBe('lost');
  expect(await fixture.lifecycle.settleResult(of, RESULT)).toBe('outcome_unknown');
  expect(await execute(ranAhead, firstClaim)).toBe('no permit');
  // A decision that seems to be from an hour ahead is not fresh for an hour: the policy is asked again.
  expect(await claim(decidedAhead, allowedAhead)).toBe('stale');
  expect(await fixture.claim(decidedAhead.gatedCallId, secondClaim)).toBe('won');
  expect(await execute(decidedAhead, secondClaim)).toBe('executed');
  // A call that waited through both jumps goes on, and so does the same call made anew.
  await long.lifecycle.grant(patient.gatedCallId, 1, until(HOUR_MS));
  const third = randomUUID();
  expect(await fixture.claim(patient.gatedCallId, third)).toBe('won');
  expect(await execute(patient, third)).toBe('executed');
  const anew = await fixture.granted(anOpening());
  const fourth = randomUUID();
  expect(await fixture.claim(anew.gatedCallId, fourth)).toBe('won');
  expect(await execute(anew, fourth)).toBe('executed');
  const permits = 'SELECT count(*)::int AS n FROM gateway.invocation';
  expect((await db.pool.query<{ n: number }>(permits)).rows[0]?.n).toBe(5);
  // A call that lived through the jump has instants that do not follow each other. It has no other violation. A decision that got too
  // old before its claim is made anew, and then the call has one more of them.
  const found = await checkInvariants(db.pool);
  const callsOf = (cases: readonly Record<string, unknown>[]) => [...new Set(cases.map((one) => one['gated_call_id']))];
  expect(found.map(({ invariant, cases }) => [invariant, callsOf(cases)])).toEqual([
    ['every event follows the one before it by the table of transitions', [decidedAhead.gatedCallId]],
    ['no decision or approval belongs to a generation that has not begun', [decidedAhead.gatedCallId]],
  ]);
});
