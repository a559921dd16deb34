import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { localTime } from '../../../apps/shared/rules/local-time.ts';
import { compiledRules, SMALL_SCHEMA, writing } from '../../support/compiled-rules.ts';

/** Which of these instants a rule with these hours allows. */
async function allowedAt(when: object, instants: readonly string[]): Promise<string[]> {
  const rules = await compiledRules([{ allow: { tool: '*', when } }]);
  try {
    return instants.filter((at) => rules.outcome({}, Date.parse(at)) === 'permit');
  } finally {
    rules.release();
  }
}

const OFFICE = { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '09:00', until: '17:30', timeZone: 'Europe/Zurich' };

describe('a rule with hours', () => {
  it.each<[string, object, readonly string[], readonly string[]]>([
    [
      'from its first minute to before its last, on its days',
      OFFICE,
      ['2026-11-27T08:00:00Z', '2026-11-27T16:29:59Z'],
      ['2026-11-27T07:59:59Z', '2026-11-27T16:30:00Z', '2026-11-28T10:00:00Z', '2026-11-29T10:00:00Z'],
    ],
    [
      'by the clock of its zone in summer and in winter',
      { from: '09:00', until: '10:00', timeZone: 'Europe/Zurich' },
      ['2026-07-01T07:00Z', '2026-12-01T08:00Z'],
      ['2026-07-01T08:00Z', '2026-12-01T07:59Z'],
    ],
    [
      'across midnight, on the days on which it begins',
      { days: ['fri'], from: '22:00', until: '06:00', timeZone: 'UTC' },
      ['2026-11-27T22:00Z', '2026-11-27T23:59Z', '2026-11-28T00:00Z', '2026-11-28T05:59Z'],
      ['2026-11-27T21:59Z', '2026-11-27T05:59Z', '2026-11-28T06:00Z', '2026-11-28T22:00Z'],
    ],
    [
      'from Saturday into Sunday, where the week of the calendar ends',
      { days: ['sat'], from: '23:00', until: '01:00', timeZone: 'Pacific/Auckland' },
      ['2026-11-28T10:00Z', '2026-11-28T11:59Z'],
      ['2026-11-28T09:59Z', '2026-11-28T12:00Z', '2026-11-28T23:30Z'],
    ],
    [
      'whole days where no time of day is given',
      { days: 'sun', timeZone: 'America/New_York' },
      ['2026-11-29T05:00Z', '2026-11-30T04:59Z'],
      ['2026-11-29T04:59Z', '2026-11-30T05:00Z'],
    ],
    [
      'to the end of the day without an end',
      { from: '23:30', timeZone: 'UTC' },
      ['2026-11-29T23:30Z', '2026-11-29T23:59:59Z'],
      ['2026-11-29T23:29Z', '2026-11-30T00:00Z'],
    ],
    [
      // At 02:00 the clock goes to 03:00.
      'never in an hour that the clock leaves out',
      { from: '02:00', until: '03:00', timeZone: 'Europe/Zurich' },
      ['2026-03-28T01:00Z', '2026-03-30T00:30Z'],
      ['2026-03-29T00:59Z', '2026-03-29T01:00Z', '2026-03-29T01:30Z'],
    ],
    [
      // At 03:00 the clock goes back to 02:00.
      'twice in an hour that the clock repeats',
      { from: '02:00', until: '03:00', timeZone: 'Europe/Zurich' },
      ['2026-10-25T00:00Z', '2026-10-25T00:59Z', '2026-10-25T01:00Z', '2026-10-25T01:59Z'],
      ['2026-10-24T23:59Z', '2026-10-25T02:00Z'],
    ],
  ])('matches %s', async (_what, when, inside, outside) => {
    expect(await allowedAt(when, [...inside, ...outside])).toEqual(inside);
  });

  it('follows the time although the request stays the same', async () => {
    const rules = await compiledRules([{ allow: { tool: '*', when: OFFICE } }]);
    const at = (time: string) => rules.outcome({ path: '/a' }, Date.parse(`2026-11-27T${time}Z`));
    const times = ['07:59:59', '08:00:00', '16:29:30', '16:30:00', '08:00:00', '07:59:00'];
    expect(times.map(at)).toEqual(['deny', 'permit', 'permit', 'deny', 'permit', 'deny']);
    rules.release();
  });

  it('holds, refuses and makes way at its hours only', async () => {
    const night = { from: '20:00', until: '08:00', timeZone: 'UTC' };
    const rules = await compiledRules([
      { allow: '*', insteadOf: 'asks', name: 'all' },
      { approve: { tool: '*', not: { when: night } }, name: 'asks at day' },
      { approve: '*', name: 'asks' },
      { deny: { tool: '*', when: { days: 'sun', timeZone: 'UTC' } } },
    ]);
    const at = (time: string) => rules.outcome({}, Date.parse(time));
    const times = ['2026-11-28T10:00Z', '2026-11-28T20:00Z', '2026-11-28T03:00Z', '2026-11-29T03:00Z'];
    expect(times.map(at)).toEqual(['requestable', 'permit', 'permit', 'deny']);
    rules.release();
  });

  it('goes by the clock of the decision point, and not by what the caller says', async () => {
    const rules = await compiledRules([{ allow: { tool: '*', when: OFFICE } }]);
    const evaluator = await createEvaluator({
      policies: [
        {
          file: 'a.cedar',
          text: '@id("p") permit (principal, action, resource) when { context.time.UTC.minute == 61 };',
        },
      ],
      schema: SMALL_SCHEMA.replace('agent?: String', 'agent?: String, time: { UTC: { minute: Long } }'),
      entities: '[]',
    });
    const request = writing({});
    const lying = { ...request, context: { ...request.context, time: { UTC: { day: 'mon', minute: 61 } } } };
    const kinds = ['01:01', '01:02'].map(
      (time) => answerByPolicy(evaluator, lying, undefined, Date.parse(`2026-11-27T${time}Z`)).kind,
    );
    expect(kinds).toEqual(['permit', 'deny']);
    evaluator.release();
    rules.release();
  });

  it('reads a schema only if its time zones exist', async () => {
    const files = {
      policies: [{ file: 'a.cedar', text: '@id("p") permit (principal, action, resource);' }],
      entities: '[]',
    };
    const schema = SMALL_SCHEMA.replace('agent?: String', 'time: { "Europe/Nowhere": { minute: Long } }');
    await expect(createEvaluator({ ...files, schema })).rejects.toMatchObject({
      problems: [{ message: expect.stringContaining('"Europe/Nowhere", which is no time zone') }],
    });
    const said = SMALL_SCHEMA.replace('agent?: String', 'agent?: String, time?: String');
    const own = await createEvaluator({ ...files, schema: said });
    expect(answerByPolicy(own, { ...writing({}), context: { time: 'noon' } }).kind).toBe('permit');
    own.release();
  });
});

it('the local time is that of the calendar, to the minute', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('1970-01-02'), max: new Date('2100-01-01'), noInvalidDate: true }), (date) => {
      const [day = '', time = ''] = date.toISOString().split('T');
      const [hour, minute] = time.split(':').map(Number);
      const name = date.toUTCString().slice(0, 3).toLowerCase();
      expect(localTime(date.getTime(), 'UTC')).toEqual({
        day: name,
        minute: (hour ?? 0) * 60 + (minute ?? 0),
        date: day,
      });
    }),
  );
});
