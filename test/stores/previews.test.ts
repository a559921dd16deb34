import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readRecordText } from '../../apps/audit/record-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { gatedCallFixture, TEST_SEALS } from '../support/gated-calls.ts';

let db: TestDatabase;
let fixture: ReturnType<typeof gatedCallFixture>;
beforeAll(async () => {
  db = await createTestDatabase();
  fixture = gatedCallFixture(db.pool);
});
afterAll(() => db.drop());

const ask = (gatedCallId: string, webhookId: string = randomUUID()) =>
  fixture.calls.waitingCall({ webhookId, bodyDigest: 'x', accessRequestId: `arq_${gatedCallId}` });
const taken = (n: number) => ({ tool: `files__look_${n}`, takenAt: new Date(n).toISOString() });
const waiting = async (gatedCallId: string) => {
  const call = await ask(gatedCallId);
  if (call === undefined) throw new Error('the call does not wait');
  return call;
};

/** The tools of the previews in the record of an ended call. */
async function recorded(gatedCallId: string): Promise<readonly string[]> {
  const text = `SELECT r.body, k.call_key AS call, k.record_key AS record FROM gateway.outcome_record r
    JOIN gateway.data_key k USING (gated_call_id) WHERE r.gated_call_id = $1`;
  const { rows } = await db.pool.query<{ body: string; call: string | null; record: string }>(text, [gatedCallId]);
  const [row] = rows;
  const record = row && readRecordText(row.body, TEST_SEALS.forCall(gatedCallId, row));
  if (record === undefined) throw new Error('there is no readable record');
  return (record.previews ?? []).map(({ tool }) => tool);
}

describe('a question for the preview of a call', () => {
  it('finds the call that waits for this request, with its binding, once for each message', async () => {
    const { gatedCallId } = await fixture.pending();
    const message = randomUUID();
    expect(await ask(gatedCallId, message)).toMatchObject({
      ...{ gatedCallId, previews: 0, binding: { tool: 'files__write_file' } },
    });
    expect(await ask(gatedCallId, message)).toBeUndefined();
    expect(await ask(randomUUID())).toBeUndefined();
  });

  it.each([
    ['is not submitted yet', () => fixture.opened()],
    ['is approved', () => fixture.granted()],
    ['is claimed', () => fixture.claimed()],
  ])('finds no call that %s', async (_state, bring) => {
    expect(await ask((await bring()).gatedCallId)).toBeUndefined();
  });
});

describe('a further preview', () => {
  it('goes on record under the next number, and under no number twice', async () => {
    const { gatedCallId } = await fixture.pending();
    const call = await waiting(gatedCallId);
    expect(await fixture.calls.addPreview(call, taken(1))).toBe('kept');
    expect(await fixture.calls.addPreview(call, taken(2))).toBe('taken');
    expect(await fixture.calls.addPreview(await waiting(gatedCallId), taken(3))).toBe('kept');
    expect(await fixture.calls.addPreview({ ...call, previews: 50 }, taken(51))).toBe('full');
    await fixture.calls.cancel(gatedCallId);
    expect(await recorded(gatedCallId)).toEqual(['files__look_1', 'files__look_3']);
  });

  it('at the end of the call is kept and in its record, or neither', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const { gatedCallId } = await fixture.pending();
        const call = await waiting(gatedCallId);
        const [outcome] = await Promise.all([
          fixture.calls.addPreview(call, taken(n)),
          fixture.calls.cancel(gatedCallId),
        ]);
        expect(await recorded(gatedCallId)).toEqual(outcome === 'kept' ? [`files__look_${n}`] : []);
        return outcome;
      }),
    );
    expect(outcomes.filter((outcome) => outcome !== 'kept' && outcome !== 'over')).toEqual([]);
  });
});
