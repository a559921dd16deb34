import { describe, expect, it } from '@jest/globals';
import { obligingPdp } from '../support/obligation-world.ts';
import { systemTime } from '../support/time.ts';
import { notify, ownObligations, permit, QUESTION, REFUSED, stepUp } from '../support/own-obligations.ts';

const FAILED = { name: 'CountersignError', code: 'ERR_OBLIGATION_UNAVAILABLE', retryable: true };

const custom = (id: string) => ({ id, type: 'custom', properties: { vendor: 'example.test', action: 'watermark' } });

const own = ownObligations();
const { evaluate, arrived } = own;

describe('a permit with obligations', () => {
  it('permits once all of them are carried out, in any listed order [OBL-01, OBL-02, OBL-05, OBL-06, OBL-16, OBL-18]', async () => {
    const all = [notify('n-1'), custom('c-1'), stepUp('s-1'), notify('n-2', { to: 'security', topic: undefined })];
    for (const listed of [all, all.toReversed()]) {
      own.oblige.receiver.reset();
      const answer = permit(listed);
      expect(await evaluate(answer, { acr: 'loa:3' })).toMatchObject({
        kind: 'allow',
        obligations: expect.arrayContaining([{ id: 'c-1', type: 'custom', outcome: 'carried_out' }]),
      });
      expect(arrived()).toEqual(['c-1', 'n-1', 'n-2']);
      // The message contains the obligation and its reference, and nothing of the question.
      expect(own.oblige.receiver.arrived.find(({ path }) => path === '/security')?.body).toEqual({
        evaluation_id: answer.context.evaluation_id,
        decision: true,
        obligation: { id: 'n-2', type: 'notification', properties: { to: 'security', body: 'a transfer' } },
      });
    }
  });

  it('permits without a list or with an empty list [OBL-01]', async () => {
    expect(await evaluate({ decision: true })).toEqual({ kind: 'allow' });
    expect(await evaluate(permit([]))).toMatchObject({ kind: 'allow' });
  });

  it.each([
    ['of an unknown type', { id: 'x', type: 'dance', properties: {} }],
    [
      'of a registered type that this deployment does not support',
      { id: 'x', type: 'session_termination', properties: { subject: 'mallory' } },
    ],
    ['to an address that the operator does not name', notify('x', { to: 'mallory@evil.test' })],
    ['to a name that every object has', notify('x', { to: 'constructor' })],
    ['without an id', { type: 'notification', properties: { to: 'security', body: '' } }],
    ['without a type', { id: 'x', properties: {} }],
    ['without properties', { id: 'x', type: 'custom' }],
    ['with properties that are a list', { id: 'x', type: 'custom', properties: [] }],
    ['that is a text', 'notification'],
    ['that is null', null],
    ['with a body that is a number', notify('x', { body: 5 })],
    ['with a body that is too long', notify('x', { body: 'x'.repeat(5_000) })],
    ['with a topic that would be a line of its own', notify('x', { topic: 'a\r\nBcc: mallory' })],
    ['with a body of control characters', notify('x', { body: '\u001b[2J' })],
    ['without a level', stepUp('x', {})],
    ['with methods that are not a list', stepUp('x', { acr_value: 'loa:3', amr_values: 'mfa' })],
    ['with too many members', { id: 'x', type: 'custom', properties: { more: 'x'.repeat(20_000) } }],
  ])(
    'is a denial with one %s; the others are still carried out [OBL-02, OBL-07, OBL-09, OBL-10, OBL-14, OBL-17, OBL-25, OBL-27]',
    async (_what, odd) => {
      expect(await evaluate(permit([odd, notify('n-1')]), { acr: 'loa:3' })).toMatchObject(REFUSED);
      expect(arrived()).toEqual(['n-1']);
    },
  );

  it.each([[{}], ['x'], [5], [null], [{ id: 'n', type: 'notification', properties: { to: 'security', body: '' } }]])(
    'is a denial when they are %j instead of a list [OBL-07, OBL-09]',
    async (odd) => {
      expect(await evaluate(permit(odd))).toMatchObject({ kind: 'deny' });
    },
  );

  it('is a denial when two have one id, and neither is carried out [OBL-03]', async () => {
    expect(await evaluate(permit([notify('n-1'), custom('n-1'), notify('n-2')]))).toMatchObject(REFUSED);
    expect(arrived()).toEqual(['n-2']);
  });

  it('carries out at most fifty, and is a denial with more', async () => {
    const many = Array.from({ length: 60 }, (_, n) => notify(`n-${n}`));
    expect(await evaluate(permit(many))).toMatchObject(REFUSED);
    expect(own.oblige.receiver.arrived).toHaveLength(50);
  });

  it.each([500, 503, 429, 302])(
    'does not permit yet, and may be asked for again, when a receiver fails (%i) [OBL-06, OBL-07, OBL-10]',
    async (status) => {
      own.oblige.receiver.answer = ({ path }) => (path === '/audit' ? status : 200);
      await expect(evaluate(permit([notify('n-1'), custom('c-1')]))).rejects.toMatchObject(FAILED);
      expect(arrived()).toEqual(['c-1', 'n-1']);
    },
  );

  it('does not permit yet, and may be asked for again, when a receiver does not answer in time [OBL-06]', async () => {
    const hasty = await obligingPdp(own.db.pool, {}, { ...systemTime.limits, obligationMs: 50 });
    hasty.receiver.answer = () => new Promise<number>(() => undefined);
    hasty.world.says = permit([notify('n-1')]);
    await expect(hasty.pdp.evaluate(QUESTION, undefined, {})).rejects.toMatchObject(FAILED);
    await hasty.close();
  });

  it.each([400, 404, 410, 422])('is a denial when a receiver refuses (%i) [OBL-07, OBL-18]', async (status) => {
    own.oblige.receiver.answer = ({ path }) => (path === '/custom' ? status : 200);
    expect(await evaluate(permit([custom('c-1'), notify('n-1')]))).toMatchObject(REFUSED);
    expect(arrived()).toEqual(['c-1', 'n-1']);
  });

  it('sends its obligations each time: another permit of the same name is another access', async () => {
    const again = permit([notify('n-1')], 'eval-that-never-changes');
    await evaluate(again);
    await evaluate(again);
    expect(new Set(own.oblige.receiver.arrived.map(({ webhookId }) => webhookId)).size).toBe(2);
  });

  it('tells auditors what was carried out [OBL-26]', async () => {
    const answer = permit([notify('n-1'), { id: 'x', type: 'dance', properties: {} }]);
    await evaluate(answer);
    expect(own.oblige.lines.findLast(({ audit }) => audit === 'obligations')).toMatchObject({
      evaluationId: answer.context.evaluation_id,
      obligations: [
        { id: 'n-1', type: 'notification', outcome: 'carried_out' },
        { id: 'x', type: 'dance', outcome: 'unmet' },
      ],
    });
    // Neither the content nor the recipient.
    expect(JSON.stringify(own.oblige.lines)).not.toMatch(/a transfer|treasury-audit/);
  });
});

describe('a receiver', () => {
  it("gets at most the operator's limit in a minute; a permit beyond it does not permit yet [OBL-27]", async () => {
    const limited = await obligingPdp(own.db.pool, { maxPerMinute: 2 });
    try {
      limited.world.says = permit([notify('n-1')]);
      const ask = () =>
        limited.pdp.evaluate(QUESTION).then(
          ({ kind }) => kind,
          (error: { code: string }) => error.code,
        );
      expect([await ask(), await ask(), await ask()]).toEqual(['allow', 'allow', 'ERR_OBLIGATION_UNAVAILABLE']);
      expect(limited.receiver.arrived).toHaveLength(2);
      // Each receiver has its own limit.
      limited.world.says = permit([notify('n-2', { to: 'security' })]);
      expect(await ask()).toBe('allow');
    } finally {
      await limited.close();
    }
  });

  it('can end sessions, where the operator names it [OBL-17]', async () => {
    const ending = await obligingPdp(own.db.pool);
    const other = await obligingPdp(own.db.pool, { sessionTermination: ending.receiver.at('sessions') });
    try {
      other.world.says = permit([
        { id: 't', type: 'session_termination', properties: { subject: 'mallory', more: 1 } },
      ]);
      expect(await other.pdp.evaluate(QUESTION)).toMatchObject({ kind: 'allow' });
      expect(ending.receiver.arrived).toMatchObject([
        { path: '/sessions', body: { obligation: { properties: { subject: 'mallory' } } } },
      ]);
    } finally {
      await Promise.all([ending.close(), other.close()]);
    }
  });
});

it('receives no declaration of supported types: without one, any type may come [OBL-23]', async () => {
  await evaluate({ decision: true });
  expect(own.oblige.world.asked.at(-1)).toEqual(QUESTION);
});
