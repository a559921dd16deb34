import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { rewrapDataKeys } from '../../activities/stores/key-ring.ts';
import { createRecordSeals, createSeals } from '../../activities/stores/seals.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { summaryOf, viewOf } from '../../apps/audit/record-view.ts';
import { createOutcomeRecords } from '../../apps/audit/stores/outcome-record.store.ts';
import { isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { anApproval, CALLER, gatedCallFixture, SEALING_SECRETS } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { sealingKey, sealingSecrets } from '../support/sealing-secrets.ts';
import { stepsIn, type World } from '../support/steps.ts';
import { systemTime } from '../support/time.ts';

type Call = Awaited<ReturnType<ReturnType<typeof gatedCallFixture>['opened']>>;
type Key = ReturnType<typeof sealingKey>;
const { digestKey } = SEALING_SECRETS;

const own = ownCalls();

/** Sealing keys that only this file uses. */
function twoKeys(): { old: Key; next: Key } {
  const key = (name: string, byte: number) => sealingKey(`${name}-${randomUUID()}`, byte);
  return { old: key('old', 1), next: key('next', 2) };
}

/**
 * The gateway's, worker's and audit's handling of stored calls, in processes that were just started with these keys.
 */
function startedWith(keys: readonly Key[]) {
  const { pool } = own.db;
  const secrets = sealingSecrets(keys, digestKey);
  const [seals, recordSeals] = [createSeals(secrets), createRecordSeals(secrets)];
  const fixture = gatedCallFixture(pool, { seals });
  const records = createOutcomeRecords(pool, seals);
  const lines: Record<string, unknown>[] = [];
  const step = (world: World) => stepsIn({ lines, ...world }, fixture.lifecycle);
  const grant = (): World => ({
    status: { kind: 'granted', approval: anApproval() },
    decision: { kind: 'retry', retryAfterMs: 1 },
  });
  return {
    seals,
    recordSeals,
    fixture,
    lines,
    step,
    open: () => fixture.pending(),
    rewrap: () => rewrapDataKeys(pool, seals, 10_000),
    /** Takes a call one step further if this process can. Otherwise throws the error that prevents it. */
    async advance(call: Call): Promise<void> {
      const { state } = await fixture.lifecycle.progress(call.gatedCallId);
      if (state === 'pending') await step(grant()).toTheClaim(call);
      else if (state === 'granted') await step({}).toTheClaim(call);
      else if (state === 'claimed') await invoke(step({}), call);
      else await this.read(call);
    },
    /** Reads the result as its owner does, and the record as an auditor does. */
    async read({ taskId }: Call): Promise<void> {
      const view = await fixture.calls.findTask(taskId, ownerKey(CALLER));
      expect(view).toMatchObject({ state: 'executed', result: '{"content":[]}' });
      const record = await records.byTask(taskId);
      if (record === undefined) throw new Error('there is no record');
      const { sealIntact, requester, answers } = viewOf(record, recordSeals);
      expect([sealIntact, requester, answers?.contradictions]).toEqual([true, CALLER.subject, []]);
    },
  };
}
type Started = ReturnType<typeof startedWith>;

const invoke = (steps: ReturnType<typeof stepsIn>, call: Call) =>
  new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR', () => undefined) }).run(
    steps.invokeTool,
    call,
  );
const statesOf = async (calls: readonly Call[]) => {
  const states = await Promise.all(calls.map(({ gatedCallId }) => own.fixture.lifecycle.progress(gatedCallId)));
  return new Set(states.map(({ state }) => state));
};

/** Two sets of processes whose keys change while either set opens calls and moves them on. */
function twoSets(first: readonly Key[]) {
  const sets: [Started, Started] = [startedWith(first), startedWith(first)];
  const calls: Call[] = [];
  /** The message of every failure caused by a missing key. */
  const missed: string[] = [];
  let turn = 0;
  const unlessKeyMissing = (attempt: Promise<void>) =>
    attempt.catch((error: unknown) => {
      if (!isSealingKeyMissing(error)) throw error;
      missed.push(error.message);
    });
  return {
    sets,
    calls,
    missed,
    async open(): Promise<void> {
      for (const set of sets) calls.push(await set.open());
    },
    /** Moves every call one step further. Each set takes half of the calls, and the sets swap calls between turns. */
    async advance(): Promise<void> {
      turn += 1;
      for (const [index, call] of calls.entries()) {
        const isFirst = (index + Math.floor(index / 2) + turn) % 2 === 0;
        await unlessKeyMissing(sets[isFirst ? 0 : 1].advance(call));
      }
      missed.push(...sets.flatMap(({ lines }) => lines.splice(0).map(alarmOf)));
    },
    async rewrap(): Promise<number> {
      return (await sets[0].rewrap()) + (await sets[1].rewrap());
    },
    restart(which: 0 | 1, keys: readonly Key[]): void {
      sets[which] = startedWith(keys);
    },
  };
}

/** The missing key that an alarm names. Fails for a log line that is not such an alarm. */
function alarmOf(line: Record<string, unknown>): string {
  expect(line).toMatchObject({ alarm: 'sealing_key_missing', gatedCall: expect.any(String) });
  return (line['err'] as { message: string }).message;
}

describe('a change of the sealing key in three rounds', () => {
  // Which set is the first in each round. The sets are alike, so the first round can always begin with the same one.
  it.each([
    [0, 0, 0],
    [0, 0, 1],
    [0, 1, 0],
    [0, 1, 1],
  ] as const)('(%i, %i and %i first) disturbs no call, whichever process handles it', async (...firsts) => {
    const { old, next } = twoKeys();
    const rounds = [[old, next], [next, old], [next]];
    const two = twoSets([old]);
    const live = async () => {
      await two.open();
      await two.advance();
      await two.rewrap();
      await two.advance();
    };
    await live();
    for (const [round, keys] of rounds.entries()) {
      const first = firsts[round] ?? 0;
      for (const which of [first, first === 0 ? 1 : 0] as const) {
        // The old key is removed once no call moves any more.
        if (keys.length === 1) while ((await two.rewrap()) > 0);
        two.restart(which, keys);
        await live();
      }
    }
    while ((await statesOf(two.calls)).size > 1) await two.advance();
    expect(await statesOf(two.calls)).toEqual(new Set(['executed']));
    for (const set of two.sets) for (const call of two.calls) await set.read(call);
    expect(two.missed).toEqual([]);
  });
});

describe('a change of the sealing key in one round', () => {
  const { old, next } = twoKeys();
  it.each([
    ['puts the new one first', [next, old]],
    ['removes the old one at once', [next]],
  ] as const)('that %s ends no call: calls with a missing key wait until the key is there', async (_case, keys) => {
    const two = twoSets([old]);
    for (const which of [0, 1] as const) {
      await two.open();
      await two.advance();
      two.restart(which, keys);
      await two.open();
      await two.advance();
      await two.rewrap();
      for (let turn = 0; turn < 6; turn += 1) await two.advance();
    }
    expect(two.missed.length).toBeGreaterThan(0);
    for (const message of two.missed) expect(message).toMatch(/the key "(old|next)-[^"]+".*; add it after the current/);
    for (const which of [0, 1] as const) two.restart(which, [next, old]);
    two.missed.length = 0;
    while ((await statesOf(two.calls)).size > 1) await two.advance();
    expect(await statesOf(two.calls)).toEqual(new Set(['executed']));
    for (const set of two.sets) for (const call of two.calls) await set.read(call);
    expect(two.missed).toEqual([]);
  });
});

describe('a process without the key of a call', () => {
  const { old, next } = twoKeys();
  const without = () => startedWith([old]);
  const having = () => startedWith([next, old]);
  const missing = expect.objectContaining({ code: 'ERR_SEALING_KEY_UNAVAILABLE', retryable: true }) as unknown as Error;

  it('waits with the call, shows it, ends it at its deadline, and lets another process go on with it', async () => {
    const [due, other] = [await having().fixture.granted(), await having().fixture.granted()];
    const process = without();
    expect(await process.step({}).toTheClaim(due)).toMatchObject({ kind: 'retry' });
    expect(process.lines.map(alarmOf)).toEqual([expect.stringContaining(`"${next.kid}"`)]);
    const task = await process.fixture.calls.findTask(due.taskId, ownerKey(CALLER));
    expect(task).toMatchObject({ state: 'granted' });
    const over = 'UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() WHERE id = $1';
    await own.db.pool.query(over, [due.gatedCallId]);
    expect(await process.step({}).toTheClaim(due)).toEqual({ kind: 'ended' });
    expect(await statesOf([due])).toEqual(new Set(['denied']));
    expect(await having().step({}).toTheClaim(other)).toMatchObject({ kind: 'claimed' });
  });

  it('cannot submit the call, and delays no other call', async () => {
    const call = await having().fixture.opened();
    await own.fixture.lifecycle.releaseSubmission(call.gatedCallId);
    const submit = ({ fixture }: Started) =>
      createEnsureSubmitted({
        ...systemTime,
        store: fixture.lifecycle,
        accessRequests: { submit: async () => ({ accessRequestId: 'one', statusEndpoint: 'http://127.0.0.1:1/' }) },
      })({ gatedCallId: call.gatedCallId });
    await expect(submit(without())).rejects.toThrow(missing);
    expect(await submit(having())).toMatchObject({ state: 'pending' });
  });

  it('lists the record of the call, and opens it for no reader', async () => {
    const set = having();
    const call = await set.fixture.granted();
    await set.step({}).toTheClaim(call);
    await invoke(set.step({}), call);
    const { recordSeals, fixture } = without();
    const record = await createOutcomeRecords(own.db.pool, recordSeals).byTask(call.taskId);
    if (record === undefined) throw new Error('there is no record');
    expect(summaryOf(record, recordSeals)).toMatchObject({ sealIntact: true, requester: '(cannot be read)' });
    expect(() => viewOf(record, recordSeals)).toThrow(missing);
    await expect(fixture.calls.findTask(call.taskId, ownerKey(CALLER))).rejects.toThrow(missing);
  });

  it('keeps the result of a call that it began before the key changed', async () => {
    const process = without();
    const call = await process.fixture.granted();
    await process.fixture.claim(call.gatedCallId, randomUUID());
    const changed: typeof process.fixture.lifecycle.beginInvocation = async (permit) => {
      const given = await process.fixture.lifecycle.beginInvocation(permit);
      expect(await having().rewrap()).toBeGreaterThan(0);
      // So many other calls that this one has left the cache.
      for (let n = 0; n < 1_000; n += 1) process.seals.forCall(`${n}`, { call: 'x', record: 'x' });
      return given;
    };
    await invoke(process.step({ store: { beginInvocation: changed } }), call);
    await having().read(call);
  });
});
