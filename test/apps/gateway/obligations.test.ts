import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { PROMPT, RESOURCE } from '../../support/changing-upstream.ts';
import { ownObligedBank } from '../../support/obliged-bank.ts';
import { REQUESTABLE } from '../../support/real-gateway.ts';

const NOTIFY = { id: 'n-1', type: 'notification', properties: { to: 'treasury-audit', body: 'a transfer' } };
const STEP_UP = { id: 's-1', type: 'step-up', properties: { acr_value: 'loa:3', amr_values: ['mfa'] } };
const STRONG = { acr: 'loa:3', amr: ['pwd', 'mfa'] };
const NEXT_STEP = 'dev.countersign/next-step';

const own = ownObligedBank();
const { pay, tokenWith } = own;

const permitWith = (...obligations: object[]) => {
  own.real.authority.decide = () => ({ decision: true, context: { evaluation_id: randomUUID(), obligations } });
};

describe('an allowed call with obligations', () => {
  it('reaches its tool after the obligations were carried out [OBL-06]', async () => {
    permitWith(NOTIFY);
    let callsAtArrival: number | undefined;
    own.receiver.answer = () => {
      callsAtArrival = own.bank.calls;
      return 200;
    };
    const before = own.bank.calls;
    expect((await pay()).result).toMatchObject({ content: [{ text: 'paid' }] });
    expect([callsAtArrival, own.bank.calls]).toEqual([before, before + 1]);
  });

  it('does not reach its tool when an obligation fails, and may be repeated [OBL-06, OBL-07]', async () => {
    permitWith(NOTIFY);
    own.receiver.answer = () => 500;
    const before = own.bank.calls;
    expect((await pay()).error).toMatchObject({
      code: -32_603,
      message: expect.stringMatching(/did not run.*may be repeated/),
    });
    expect(own.bank.calls).toBe(before);
  });

  it('is refused when an obligation cannot be fulfilled [OBL-07, OBL-29]', async () => {
    permitWith(NOTIFY, { id: 'x', type: 'dance', properties: {} });
    const before = own.bank.calls;
    expect((await pay()).result).toMatchObject({ isError: true });
    expect([own.bank.calls, own.receiver.arrived.length]).toEqual([before, 1]);
  });

  it('needs the sign-in that policy demands, and says which [OBL-15, OBL-30]', async () => {
    permitWith(STEP_UP);
    const before = own.bank.calls;
    const weak = (await pay({ acr: 'loa:3' })).result;
    expect(weak).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^The tool did not run\. .*Next step: sign in again/) }],
      _meta: { [NEXT_STEP]: { kind: 'step_up', signIns: [{ acr_value: 'loa:3', amr_values: ['mfa'] }] } },
    });
    expect(own.bank.calls).toBe(before);
    expect((await pay(STRONG)).result).toMatchObject({ content: [{ text: 'paid' }] });
  });
});

describe.each([
  ['prompts/get', { name: `bank__${PROMPT}` }],
  ['resources/read', { uri: RESOURCE }],
])('an allowed %s with obligations', (method, params) => {
  const read = async (claims: object = {}) => (await own.real.send(method, params, await tokenWith(claims))).body;

  it('passes only after they were carried out [OBL-06, OBL-07]', async () => {
    permitWith(NOTIFY, STEP_UP);
    const before = own.bank.reads;
    expect((await read()).error).toMatchObject({ message: expect.stringContaining('sign in again') });
    own.receiver.answer = () => 503;
    expect((await read(STRONG)).error).toMatchObject({ message: expect.stringContaining('may be repeated later') });
    expect(own.bank.reads).toBe(before);
    own.receiver.answer = () => 200;
    expect((await read(STRONG)).result).toBeDefined();
    expect(own.bank.reads).toBe(before + 1);
  });
});

describe('a call that needs an approval, with obligations', () => {
  const heldWith = (...obligations: object[]) => {
    const { context } = REQUESTABLE;
    const evaluation_id = randomUUID();
    own.real.authority.decide = () => ({ decision: false, context: { ...context, evaluation_id, obligations } });
  };

  it('carries them out once, becomes a task, and records their outcome [OBL-08, OBL-26, PRJ-29]', async () => {
    heldWith(NOTIFY, { id: 'x', type: 'dance', properties: {} });
    const { result } = await pay({}, 1_000);
    expect(result).toMatchObject({ resultType: 'task' });
    expect((await pay({}, 1_000)).result?.['taskId']).toBe(result?.['taskId']);
    expect(own.receiver.arrived).toHaveLength(1);
    const { rows } = await own.real.database.pool.query(
      `SELECT d.obligations FROM gateway.decision d JOIN gateway.gated_call g ON g.id = d.gated_call_id WHERE g.task_id = $1`,
      [result?.['taskId']],
    );
    expect(rows).toEqual([
      {
        obligations: [
          { id: 'n-1', type: 'notification', outcome: 'carried_out' },
          { id: 'x', type: 'dance', outcome: 'unmet' },
        ],
      },
    ]);
  });

  it('is not requested before the caller signed in as policy demands [PRJ-29]', async () => {
    heldWith(STEP_UP);
    expect((await pay()).result).toMatchObject({ isError: true, _meta: { [NEXT_STEP]: { kind: 'step_up' } } });
    expect(own.real.authority.submissions()).toEqual([]);
    expect((await pay(STRONG)).result).toMatchObject({ resultType: 'task' });
  });
});
