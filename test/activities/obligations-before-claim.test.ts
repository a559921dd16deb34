import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { anOpening } from '../support/gated-calls.ts';
import { obligingPdp } from '../support/obligation-world.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn } from '../support/steps.ts';

const NOTIFY = { id: 'n-1', type: 'notification', properties: { to: 'treasury-audit', body: 'a transfer' } };
const STEP_UP = { id: 's-1', type: 'step-up', properties: { acr_value: 'loa:3', amr_values: ['mfa'] } };

describe('a permit with obligations, after an approval', () => {
  const own = ownCalls();
  let oblige!: Awaited<ReturnType<typeof obligingPdp>>;
  beforeAll(async () => void (oblige = await obligingPdp(own.db.pool)));
  afterAll(() => oblige?.close());
  beforeEach(() => oblige.receiver.reset());

  /** One step of a granted call whose permit carries these obligations. */
  async function claimWith(
    obligations: readonly object[],
    claims: JsonObject = {},
    givenCall?: { gatedCallId: string },
  ) {
    const opening = anOpening();
    const call =
      givenCall ??
      (await own.fixture.granted({
        ...opening,
        submission: opening.submission,
        binding: { ...opening.binding, claims },
      }));
    oblige.world.says = { decision: true, context: { evaluation_id: `eval_${randomUUID()}`, obligations } };
    const steps = stepsIn({ pdp: oblige.pdp }, own.fixture.lifecycle);
    const found = await steps.toTheClaim(call);
    const { rows } = await own.db.pool.query<{ state: string; reason: string | null; obligations: unknown }>(
      `SELECT g.state, g.reason, (SELECT d.obligations FROM gateway.decision d WHERE d.gated_call_id = g.id
         ORDER BY d.evaluated_at DESC LIMIT 1) AS obligations
       FROM gateway.gated_call g WHERE id = $1`,
      [call.gatedCallId],
    );
    return { call, kind: found.kind, ...rows[0] };
  }

  it('are carried out before the claim, and recorded beside the decision [OBL-06, OBL-26, PRJ-29]', async () => {
    let stateAtArrival: string | undefined;
    oblige.receiver.answer = async () => {
      const open = await own.db.pool.query<{ state: string }>(
        'SELECT state FROM gateway.gated_call ORDER BY created_at DESC LIMIT 1',
      );
      stateAtArrival = open.rows[0]?.state;
      return 200;
    };
    const before = oblige.world.asked.length;
    expect(await claimWith([NOTIFY])).toMatchObject({
      kind: 'claimed',
      state: 'claimed',
      obligations: [{ id: 'n-1', type: 'notification', outcome: 'carried_out' }],
    });
    expect(stateAtArrival).toBe('granted');
    // Once for each permit. If the machine stood still, the permit expired before the claim and the worker asked for
    // another.
    expect(oblige.receiver.arrived).toHaveLength(oblige.world.asked.length - before);
  });

  it('wait while a receiver is away: nothing is claimed, and the call goes on once it is back [OBL-06, OBL-07, PRJ-29]', async () => {
    oblige.receiver.answer = () => 503;
    const { call, ...waiting } = await claimWith([NOTIFY]);
    expect(waiting).toMatchObject({ kind: 'retry', state: 'granted' });
    oblige.receiver.answer = () => 200;
    expect(await claimWith([NOTIFY], {}, call)).toMatchObject({ kind: 'claimed' });
  });

  it('end the call where one cannot be carried out; the others are carried out [OBL-07, OBL-10, PRJ-29]', async () => {
    expect(await claimWith([{ id: 'x', type: 'dance', properties: {} }, NOTIFY])).toMatchObject({
      kind: 'ended',
      state: 'denied',
      reason: 'obligation_unmet',
      obligations: [
        { id: 'x', type: 'dance', outcome: 'unmet' },
        { id: 'n-1', type: 'notification', outcome: 'carried_out' },
      ],
    });
  });

  it('check the sign-in as it was when the call was made: an approval does not replace it [OBL-15, PRJ-29]', async () => {
    expect(await claimWith([STEP_UP], { acr: 'loa:3', amr: ['mfa'] })).toMatchObject({ kind: 'claimed' });
    const weak = { kind: 'ended', state: 'denied', reason: 'obligation_unmet' };
    expect(await claimWith([STEP_UP], { acr: 'loa:3' })).toMatchObject(weak);
    expect(await claimWith([STEP_UP])).toMatchObject(weak);
  });
});
