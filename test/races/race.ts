import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { errorCode } from '../../apps/shared/lifecycle.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { anApproval, gatedCallFixture } from '../support/gated-calls.ts';

/** How far before or after the common moment each of the rivals comes. */
const SPREAD_MS = 5;
/** Between the preparation and that moment. */
const LEAD_MS = 12;
const HOUR_MS = 3_600_000;

export type Winner = 'claim' | 'cancel' | 'expiry';

export interface RaceResult {
  readonly winner: Winner;
  /** The contradictions in the answers that the rivals got. */
  readonly contradictions: readonly string[];
  readonly arrival?: Arrival;
}

/** Why the database left a rival without an answer: the outcome of that call shows only in the invariants. */
export interface Unanswered {
  readonly unanswered: string;
}

export type Race = (index: number) => Promise<RaceResult | Unanswered>;

const WINNERS: Readonly<Record<string, Winner>> = { claimed: 'claim', cancelled: 'cancel', denied: 'expiry' };

/**
 * One gated call for which two workers, a cancellation and a deadline compete within ten milliseconds, by the product's
 * own stores. In every other call the workers have recorded the approval before; in the others that is part of the
 * race. In one of ten, a stray session keeps the row locked until the deadline is over, so that all rivals wait for it.
 */
export function createRace(pool: Pool): Race {
  const fixture = gatedCallFixture(pool, { maxOpenPerCaller: 1_000_000 });
  const { lifecycle } = fixture;
  const pace = createPace();

  async function approve(gatedCallId: string, approvedUntil: number) {
    await lifecycle.grant(gatedCallId, 1, anApproval({ approvedUntil: new Date(approvedUntil).toISOString() }));
    return fixture.allow(gatedCallId);
  }

  function claim(gatedCallId: string, decisionId: string) {
    const claim = { gatedCallId, generation: 1, epoch: 1, decisionId, claimId: decisionId };
    return lifecycle.claim({ ...claim, executionTimeoutMs: HOUR_MS });
  }

  /** Both workers go on to the permit; one gets it, and sends. */
  async function execute(gatedCallId: string, isClaimed: boolean): Promise<{ permits: number; arrival?: Arrival }> {
    const { claimId = randomUUID() } = await lifecycle.progress(gatedCallId);
    const permits = await Promise.all(
      [1, 2].map(async () => {
        const permit = { invocationId: randomUUID(), upstreamKey: randomUUID() };
        return (await lifecycle.beginInvocation({ gatedCallId, claimId, ...permit })) ? permit : undefined;
      }),
    );
    const given = permits.filter((permit) => permit !== undefined);
    const [permit] = given;
    if (permit === undefined || !isClaimed) return { permits: given.length };
    const arrival = { upstreamKey: permit.upstreamKey, at: new Date().toISOString() };
    const result = { isError: false, text: '{"content":[]}', digest: 'sha-256:result' };
    await lifecycle.settleResult({ gatedCallId, invocationId: permit.invocationId, cause: 'result' }, result);
    return { permits: given.length, arrival };
  }

  /** All rivals are ready; from now on milliseconds matter. */
  async function compete(
    gatedCallId: string,
    decisionId: string | undefined,
    { isApprovalsDeadline, isHeldUp }: Course,
  ) {
    const moment = Date.now() + LEAD_MS + pace.approvingMs();
    const deadline = moment + offset() + pace.lateMs();
    await setDeadline(pool, gatedCallId, {
      at: deadline,
      isApprovals: isApprovalsDeadline && decisionId !== undefined,
    });
    const worker = async () => {
      const at = moment + offset();
      if (decisionId !== undefined) {
        await until(at);
        pace.late(Date.now() - at);
        return claim(gatedCallId, decisionId);
      }
      await until(at - pace.approvingMs());
      const began = Date.now();
      const decision = await approve(gatedCallId, isApprovalsDeadline ? deadline : moment + HOUR_MS);
      pace.approving(Date.now() - began);
      return claim(gatedCallId, decision);
    };
    const held = isHeldUp ? await holdRow(pool, gatedCallId, deadline + 2) : undefined;
    const rivals = [
      worker(),
      worker(),
      until(moment + offset()).then(() => fixture.calls.cancel(gatedCallId)),
      until(deadline).then(() => lifecycle.expire(gatedCallId)),
    ] as const;
    // All rivals must have finished before the answers are read.
    await Promise.allSettled([...rivals, held?.released]);
    const [first, second, cancelled, expired] = rivals;
    return Promise.all([first.catch(heard), second.catch(heard), cancelled.catch(heard), expired.catch(heard)]);
  }

  async function race(index: number): Promise<RaceResult> {
    const { gatedCallId } = await fixture.pending();
    const earlier = index % 2 === 0 ? await approve(gatedCallId, Date.now() + HOUR_MS) : undefined;
    // A grant ends the request deadline, so an approved call races against the end of its approval only.
    const course = { isApprovalsDeadline: index % 4 < 3, isHeldUp: index % 20 >= 18 };
    const [first, second, cancelled, expired] = await compete(gatedCallId, earlier, course);
    const { state } = await lifecycle.load(gatedCallId);
    const { permits, arrival } = await execute(gatedCallId, state === 'claimed');
    const { isHeldUp } = course;
    const contradictions = contradictionsOf({ state, claims: [first, second], cancelled, expired, permits, isHeldUp });
    return { winner: WINNERS[state] ?? 'expiry', contradictions, ...(arrival !== undefined && { arrival }) };
  }

  return (index) =>
    race(index).catch((error: unknown) => {
      if (!isUnanswered(error)) throw error;
      return { unanswered: `${String(error)}: ${String((error as Error).cause)}` };
    });
}

/** A machine that stands still may keep a rival waiting for longer than it waits for an answer of the database. */
const isUnanswered = (error: unknown) => errorCode(error) === 'ERR_DATABASE_UNAVAILABLE';
/** An answer, or the error in words, which is an answer too. */
const heard = (error: unknown) => {
  if (isUnanswered(error)) throw error;
  return `raised: ${errorCode(error) ?? String(error)}`;
};

const offset = () => (Math.random() * 2 - 1) * SPREAD_MS;
const until = (at: number) => pause(Math.max(0, at - Date.now()));

/** A longer time says nothing about the pace: the machine stood still. */
const STOOD_STILL_MS = 250;

/**
 * How late timers fire here, and how long recording an approval takes: a running average of each. A deadline falls by
 * the clock even on a busy machine, so without this correction the others would seldom come before it.
 */
function createPace() {
  const averaged = () => {
    let average = 0;
    const add = (ms: number) => void (average += (Math.min(ms, STOOD_STILL_MS) - average) / 10);
    return { read: () => average, add };
  };
  const [late, approving] = [averaged(), averaged()];
  return { lateMs: late.read, late: late.add, approvingMs: approving.read, approving: approving.add };
}

interface Course {
  /** The approval ends, or else the request. */
  readonly isApprovalsDeadline: boolean;
  /** A stray session holds the row when the deadline passes, and changes nothing. */
  readonly isHeldUp: boolean;
}

/** Resolves when the row is held; the promise in its result resolves when the row is free again. */
async function holdRow(pool: Pool, gatedCallId: string, to: number): Promise<{ released: Promise<unknown> }> {
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM gateway.gated_call WHERE id = $1 FOR UPDATE', [gatedCallId]);
  const released = until(to)
    .then(() => client.query('ROLLBACK'))
    .finally(() => client.release());
  return { released };
}

async function setDeadline(pool: Pool, gatedCallId: string, of: { at: number; isApprovals: boolean }): Promise<void> {
  const column = of.isApprovals ? 'approval_expires_at' : 'request_deadline';
  await pool.query(`UPDATE gateway.gated_call SET ${column} = $2 WHERE id = $1`, [gatedCallId, new Date(of.at)]);
}

interface Answers {
  readonly state: string;
  readonly claims: readonly string[];
  readonly cancelled: string;
  readonly expired: string;
  readonly permits: number;
  readonly isHeldUp: boolean;
}

/** No rival may have been told of a winner other than the one that the row names afterwards. */
function contradictionsOf({ state, claims, cancelled, expired, permits, isHeldUp }: Answers): string[] {
  const won = claims.filter((claim) => claim === 'won').length;
  const mine = claims.filter((claim) => claim === 'mine').length;
  const found: readonly [boolean, string][] = [
    [WINNERS[state] === undefined, `the call is ${state} after a cancellation`],
    [claims.some((claim) => claim.startsWith('raised')), `a claim of a call that is ${state} got ${claims.join(', ')}`],
    [won !== (state === 'claimed' ? 1 : 0), `${won} claims won a call that is ${state}`],
    [isHeldUp && state === 'claimed', 'a claim that waited for the row past the deadline won'],
    [mine > 0 && state !== 'claimed', `a claim was found again on a call that is ${state}`],
    [cancelled !== state, `the cancellation was answered with ${cancelled}, and the call is ${state}`],
    [
      !['pending', 'granted', state].includes(expired),
      `the deadline was answered with ${expired}, and the call is ${state}`,
    ],
    [permits !== (state === 'claimed' ? 1 : 0), `${permits} permits were given to a call that is ${state}`],
  ];
  return found.filter(([holds]) => holds).map(([, words]) => words);
}
