import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { SealedColumn } from '../../workflows/domain/gated-call/sealing.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { anApproval, CALLER, gatedCallFixture, TEST_SEALS } from '../support/gated-calls.ts';
import { stepsIn, type World } from '../support/steps.ts';

type Call = Awaited<ReturnType<ReturnType<typeof gatedCallFixture>['opened']>>;

let db: TestDatabase;
let fixture: ReturnType<typeof gatedCallFixture>;
beforeAll(async () => {
  db = await createTestDatabase();
  fixture = gatedCallFixture(db.pool);
});
afterAll(async () => {
  try {
    await expectInvariants(db.pool);
  } finally {
    await db.drop();
  }
});

/** Writes changes that no statement of the product makes. `$1` is the call. */
async function poison(call: Call, table: string, change: string): Promise<void> {
  const client = await db.pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL session_replication_role = replica');
    await client.query(`UPDATE gateway.${table} SET ${change} WHERE gated_call_id = $1`, [call.gatedCallId]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

/** Text that was cut short before sealing, so its seal is valid. */
async function resealed(call: Call, column: SealedColumn, text: string): Promise<string> {
  const { rows } = await db.pool.query<{ call: string; record: string }>(
    'SELECT call_key AS call, record_key AS record FROM gateway.data_key WHERE gated_call_id = $1',
    [call.gatedCallId],
  );
  const [keys] = rows;
  if (keys === undefined) throw new Error('the call has no keys');
  return TEST_SEALS.forCall(call.gatedCallId, keys).seal(column, text);
}

const rowOf = async ({ gatedCallId }: Call) =>
  (await db.pool.query('SELECT state, reason FROM gateway.gated_call WHERE id = $1', [gatedCallId])).rows[0];
const invoke = (steps: ReturnType<typeof stepsIn>, call: Call) =>
  new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR', () => undefined) }).run(
    steps.invokeTool,
    call,
  );

/** Takes one step with all of these calls at once, as one worker does, and then executes those that can go on. */
async function stepWithNeighbours(poisoned: Call, world: World = {}) {
  const neighbours = await Promise.all([fixture.granted(), fixture.granted()]);
  const steps = stepsIn(world, fixture.lifecycle);
  const [first, second] = neighbours;
  const all = [first, poisoned, second].filter((call) => call !== undefined);
  const found = await Promise.all(all.map((call) => steps.toTheClaim(call)));
  for (const neighbour of neighbours) {
    await invoke(steps, neighbour);
    expect(await rowOf(neighbour)).toEqual({ state: 'executed', reason: null });
  }
  expect(steps.sent).toHaveLength(neighbours.length);
  return found[1];
}

const altered = (column: string) => `${column} = overlay(${column} placing
  CASE substr(${column}, 40, 1) WHEN 'A' THEN 'B' ELSE 'A' END from 40)`;
const halved = (column: string) => `${column} = left(${column}, length(${column}) / 2)`;
const ofAnother = (table: string, column: string) =>
  `${column} = (SELECT ${column} FROM gateway.${table} WHERE gated_call_id <> $1 LIMIT 1)`;

describe('a granted call is denied at its next step, and others go on, when', () => {
  it.each([
    ['a byte of its binding is changed', 'call_binding', altered('sealed_content')],
    ['half of its binding is missing', 'call_binding', halved('sealed_content')],
    ['all of its binding is missing', 'call_binding', "sealed_content = ''"],
    ['its binding is that of another call', 'call_binding', ofAnother('call_binding', 'sealed_content')],
    ['the tool beside its binding is another', 'call_binding', "upstream_tool = 'delete_file'"],
    ['the server beside its binding is another', 'call_binding', "upstream = 'elsewhere'"],
    ['the digest beside its binding is another', 'call_binding', "call_digest = 'hmac-sha-256:0'"],
    ['a byte of its approval is changed', 'approval', altered('sealed_body')],
    ['half of its approval is missing', 'approval', halved('sealed_body')],
    ['a byte of its handle is changed', 'submission', altered('sealed_handle')],
    ['half of its data key is missing', 'data_key', "call_key = left(call_key, 20) || '.test'"],
    ['its data key is under an empty key id', 'data_key', "call_key = split_part(call_key, '.', 1) || '.'"],
    ['its data key is that of another call', 'data_key', ofAnother('data_key', 'call_key')],
    ['the data key of its record is nonsense', 'data_key', "record_key = 'nonsense'"],
  ])('%s', async (_case, table, change) => {
    const call = await fixture.granted();
    await poison(call, table, change);
    expect(await stepWithNeighbours(call)).toEqual({ kind: 'ended' });
    expect(await rowOf(call)).toEqual({ state: 'denied', reason: 'binding_integrity' });
    const task = await fixture.calls.findTask(call.taskId, ownerKey(CALLER));
    expect(task).toMatchObject({ state: 'denied', reason: 'binding_integrity' });
  });

  it.each([
    ['its binding', 'call_binding.sealed_content', '{"arguments":"{'],
    ['its binding, to nothing', 'call_binding.sealed_content', ''],
    ['its approval', 'approval.sealed_body', '{"id":'],
  ] as const)('%s was cut short before it was sealed', async (_case, column, text) => {
    const call = await fixture.granted();
    const [table = '', name = ''] = column.split('.');
    await poison(call, table, `${name} = '${await resealed(call, column, text)}'`);
    expect(await stepWithNeighbours(call)).toEqual({ kind: 'ended' });
    expect(await rowOf(call)).toEqual({ state: 'denied', reason: 'binding_integrity' });
  });
});

it('a call whose data key is under an unknown key waits, others go on, and its deadline denies it', async () => {
  const call = await fixture.granted();
  await poison(call, 'data_key', "call_key = split_part(call_key, '.', 1) || '.unknown'");
  const world: World = { lines: [] };
  expect(await stepWithNeighbours(call, world)).toMatchObject({ kind: 'retry' });
  expect(world.lines).toEqual([
    expect.objectContaining({
      ...{ alarm: 'sealing_key_missing', gatedCall: call.gatedCallId },
      err: expect.objectContaining({
        message: expect.stringMatching(/the key "unknown".*; add it after the current one/),
      }),
    }),
  ]);
  const look = () => fixture.calls.findTask(call.taskId, ownerKey(CALLER));
  expect(await look()).toMatchObject({ state: 'granted' });
  await db.pool.query('UPDATE gateway.gated_call SET approval_expires_at = clock_timestamp() WHERE id = $1', [
    call.gatedCallId,
  ]);
  expect(await stepWithNeighbours(call)).toEqual({ kind: 'ended' });
  expect(await look()).toMatchObject({ state: 'denied', reason: 'approval_expired' });
});

it('a call with a broken next submission is denied, since it cannot be submitted again', async () => {
  const call = await fixture.granted();
  const wantsMore: World['decision'] = {
    kind: 'requestable',
    offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z' },
  };
  await stepsIn({ decision: wantsMore }, fixture.lifecycle).toTheClaim(call);
  await poison(call, 'submission', altered('sealed_body'));
  expect(await stepWithNeighbours(call)).toEqual({ kind: 'ended' });
  expect(await rowOf(call)).toEqual({ state: 'denied', reason: 'binding_integrity' });
});

it('a call whose binding breaks after the claim is not sent, and is denied once its claim was given up', async () => {
  const call = await fixture.claimed();
  await poison(call, 'call_binding', altered('sealed_content'));
  const steps = stepsIn({}, fixture.lifecycle);
  await expect(invoke(steps, call)).rejects.toMatchObject({ code: 'ERR_SEAL_BROKEN' });
  expect(await steps.toTheClaim(call)).toMatchObject({ kind: 'retry' });
  expect(await steps.settle(call)).toMatchObject({ kind: 'released' });
  expect(await stepWithNeighbours(call)).toEqual({ kind: 'ended' });
  expect(await rowOf(call)).toEqual({ state: 'denied', reason: 'binding_integrity' });
  expect(steps.sent).toEqual([]);
});

it('a task does not show a result that cannot be opened, and other tasks are shown', async () => {
  const calls = [await fixture.pending(), await fixture.pending()] as const;
  const steps = stepsIn({ status: { kind: 'granted', approval: anApproval() } }, fixture.lifecycle);
  await steps.toTheClaim(calls[0]);
  await invoke(steps, calls[0]);
  await stepsIn({ status: { kind: 'granted', approval: anApproval() } }, fixture.lifecycle).toTheClaim(calls[1]);
  await invoke(steps, calls[1]);
  await poison(calls[0], 'call_result', altered('sealed_result'));
  const look = (call: Call) => fixture.calls.findTask(call.taskId, ownerKey(CALLER));
  await expect(look(calls[0])).rejects.toMatchObject({ code: 'ERR_SEAL_BROKEN' });
  expect(await look(calls[1])).toMatchObject({ state: 'executed', result: expect.any(String) });
  expect(await rowOf(calls[0])).toEqual({ state: 'executed', reason: null });
});
