import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startOutbox } from '../../apps/shared/outbox.ts';
import { obligingPdp } from '../support/obligation-world.ts';
import { notify, ownObligations, permit, QUESTION, REFUSED, stepUp } from '../support/own-obligations.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

const OFFER = { expires_at: '2126-11-21T09:10:00Z', binding_token: 'eyJ.token' };

const own = ownObligations();
const { evaluate, arrived } = own;
const denial = (obligations: unknown, members: object = {}) => ({
  decision: false,
  context: { evaluation_id: randomUUID(), obligations, ...members },
});

describe('a step-up', () => {
  const mfa = stepUp('s', { acr_value: 'loa:3', amr_values: ['mfa', 'hwk'] });
  it.each([
    ['the level itself', stepUp('s'), { acr: 'loa:3' }],
    ['the level, with every method', mfa, { acr: 'loa:3', amr: ['pwd', 'hwk', 'mfa'] }],
  ])('is met by a token with %s [OBL-14, OBL-15, OBL-30]', async (_what, one, claims) => {
    expect(await evaluate(permit([one]), claims)).toMatchObject({ kind: 'allow' });
  });

  it.each([
    ['no level', stepUp('s'), {}],
    ['another level', stepUp('s'), { acr: 'loa:2' }],
    ['the level in another case', stepUp('s'), { acr: 'LOA:3' }],
    ['levels in a list', stepUp('s'), { acr: ['loa:3'] }],
    ['the level without one of the methods', mfa, { acr: 'loa:3', amr: ['mfa'] }],
    ['the level with the methods as a text', mfa, { acr: 'loa:3', amr: 'mfa hwk' }],
    ['the methods without the level', mfa, { amr: ['mfa', 'hwk'] }],
  ])(
    'is not met by a token with %s, and the denial names the missing part [OBL-07, OBL-15, OBL-30]',
    async (_what, one, claims) => {
      const { acr_value: acrValue, amr_values: amrValues = [] } = one.properties as {
        acr_value: string;
        amr_values?: string[];
      };
      expect(await evaluate(permit([one]), claims)).toMatchObject({
        kind: 'deny',
        unmet: { stepUps: [{ acrValue, amrValues }] },
      });
    },
  );

  it('is met by levels that the operator ranks above, and by no others', async () => {
    const ranked = await obligingPdp(own.db.pool, { acrLevels: ['loa:1', 'loa:3', 'loa:4'] });
    try {
      ranked.world.says = permit([stepUp('s')]);
      const kinds = await Promise.all(
        ['loa:4', 'loa:3', 'loa:1', 'loa:9'].map(
          async (acr) => (await ranked.pdp.evaluate(QUESTION, undefined, { acr })).kind,
        ),
      );
      expect(kinds).toEqual(['allow', 'allow', 'deny', 'deny']);
    } finally {
      await ranked.close();
    }
  });

  it('does not turn a denial into a step-up where another requirement is missing too', async () => {
    expect(await evaluate(permit([stepUp('s'), { id: 'x', type: 'dance', properties: {} }]))).toMatchObject(REFUSED);
  });

  it('of a requestable denial is asked for before the approval, and never replaces it [PRJ-29]', async () => {
    const says = denial([stepUp('s')], { access_request: OFFER });
    expect(await evaluate(says)).toMatchObject({ kind: 'deny', unmet: { stepUps: [{ acrValue: 'loa:3' }] } });
    expect(await evaluate(says, { acr: 'loa:3' })).toMatchObject({ kind: 'requestable' });
  });

  it('of a denial is reported, and the call stays denied when the step-up is met [OBL-08, OBL-31]', async () => {
    expect(await evaluate(denial([stepUp('s')]))).toMatchObject({
      kind: 'deny',
      unmet: { stepUps: [{ acrValue: 'loa:3' }] },
    });
    const met = await evaluate(denial([stepUp('s')]), { acr: 'loa:3' });
    expect(met).toMatchObject({ kind: 'deny' });
    expect(met).not.toHaveProperty('unmet');
  });
});

describe('a denial with obligations', () => {
  const queued = async () =>
    (
      await own.db.pool.query<{ id: string; kept: boolean }>(
        'SELECT id, sealed_message IS NOT NULL AS kept FROM gateway.obligation',
      )
    ).rows;
  beforeEach(() => own.db.pool.query('TRUNCATE gateway.obligation, gateway.outbox'));

  it('stays a denial, requestable or not, and its obligations are carried out [OBL-01, OBL-08, OBL-09, OBL-10]', async () => {
    const odd = { id: 'x', type: 'dance', properties: {} };
    expect(await evaluate(denial([notify('n-1'), odd]))).toMatchObject({ kind: 'deny' });
    expect(await evaluate(denial([notify('n-2'), odd], { access_request: OFFER }))).toMatchObject({
      kind: 'requestable',
      obligations: [
        { id: 'n-2', outcome: 'carried_out' },
        { id: 'x', outcome: 'unmet' },
      ],
    });
    expect(arrived()).toEqual(['n-1', 'n-2']);
    expect(own.oblige.receiver.arrived[0]?.body.decision).toBe(false);
  });

  it('carries out each obligation once, however often and by however many processes it is read [PRJ-29]', async () => {
    const says = denial([notify('n-1')], { access_request: OFFER });
    const answers = await Promise.all(Array.from({ length: 8 }, () => evaluate(says)));
    expect(arrived()).toEqual(['n-1']);
    const outcomes = answers.map((one) => one.obligations?.[0]?.outcome).sort();
    expect(outcomes).toEqual(['carried_out', ...Array.from({ length: 7 }, () => 'repeated')]);
    // The same obligation in another evaluation counts separately.
    await evaluate(denial([notify('n-1')]));
    expect(arrived()).toEqual(['n-1', 'n-1']);
  });

  it('queues an obligation while its receiver is away, sealed, and delivers it under the same id [OBL-08, OBL-28]', async () => {
    own.oblige.receiver.answer = () => 503;
    expect(await evaluate(denial([notify('n-1')]))).toMatchObject({ obligations: [{ outcome: 'queued' }] });
    const [row] = await queued();
    const shown = await own.db.pool.query<{ shown: string }>('SELECT o::text AS shown FROM gateway.obligation o');
    expect(shown.rows[0]?.shown).not.toMatch(/a transfer|treasury/);
    const outbox = await own.db.pool.query('SELECT kind, subject_id FROM gateway.outbox');
    expect(outbox.rows).toEqual([{ kind: 'deliver_obligation', subject_id: row?.id }]);
    await expect(own.oblige.deliverObligation(String(row?.id))).rejects.toThrow('503');
    own.oblige.receiver.answer = () => 200;
    await own.oblige.deliverObligation(String(row?.id));
    expect(own.oblige.receiver.arrived.map(({ webhookId }) => webhookId)).toEqual([row?.id, row?.id, row?.id]);
    expect(await queued()).toEqual([{ id: row?.id, kept: false }]);
    await own.oblige.deliverObligation(String(row?.id));
    expect(own.oblige.receiver.arrived).toHaveLength(3);
  });

  it('delivers it through the outbox of a worker, which picks up the rows of a process that died [OBL-08]', async () => {
    own.oblige.receiver.answer = () => 503;
    await evaluate(denial([notify('n-1')]));
    own.oblige.receiver.answer = () => 200;
    await own.db.pool.query('UPDATE gateway.outbox SET available_at = clock_timestamp()');
    const outbox = await startOutbox({
      ...systemTime,
      ...{ pool: own.db.pool, listenUrl: own.db.url, schema: 'gateway', channel: 'gateway_outbox', concurrency: 4 },
      handlers: { deliver_obligation: own.oblige.deliverObligation },
      log: pino({ level: 'silent' }),
    });
    try {
      await waitFor(async () => (await queued()).every(({ kept }) => !kept));
      expect(own.oblige.receiver.arrived).toHaveLength(2);
    } finally {
      await outbox.stop();
    }
  });

  it('gives up with an alarm after a day, or at once when the receiver refuses [OBL-09]', async () => {
    own.oblige.receiver.answer = () => 503;
    await evaluate(denial([notify('n-1')]));
    const [row] = await queued();
    await own.db.pool.query("UPDATE gateway.obligation SET added_at = clock_timestamp() - interval '25 hours'");
    await own.oblige.deliverObligation(String(row?.id));
    expect(own.oblige.lines.findLast(({ alarm }) => alarm === 'obligation_unmet')).toMatchObject({
      webhookId: row?.id,
    });
    own.oblige.receiver.answer = () => 404;
    expect(await evaluate(denial([notify('n-2')]))).toMatchObject({ obligations: [{ outcome: 'unmet' }] });
    expect((await queued()).every(({ kept }) => !kept)).toBe(true);
  });

  it('forgets delivered obligations after a week, and keeps those still to be delivered', async () => {
    own.oblige.receiver.answer = ({ body }) => (body.obligation.id === 'n-2' ? 503 : 200);
    await evaluate(denial([notify('n-1'), notify('n-2')]));
    await own.db.pool.query("UPDATE gateway.obligation SET added_at = clock_timestamp() - interval '8 days'");
    await evaluate(denial([notify('n-3')]));
    expect((await queued()).map(({ kept }) => kept).sort()).toEqual([false, true]);
  });
});
