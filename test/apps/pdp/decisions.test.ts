import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestPdp } from '../../support/pdp.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp()));
afterAll(() => pdp.stop());

const aUser = (id: string, properties?: object) => ({ type: 'user', id, ...(properties && { properties }) });
const aRecord = (id: string, properties?: object) => ({ type: 'record', id, ...(properties && { properties }) });
const anAction = (name: string, properties?: object) => ({ name, ...(properties && { properties }) });

describe('the decisions of the certification scenario', () => {
  it.each([
    [1, [aUser('alice'), anAction('read'), aRecord('record-1')], true],
    [2, [aUser('alice'), anAction('write'), aRecord('record-1')], true],
    [3, [aUser('bob'), anAction('read'), aRecord('record-1')], true],
    [4, [aUser('bob'), anAction('write'), aRecord('record-1')], false],
    [5, [aUser('alice'), anAction('write'), aRecord('record-2', { status: 'archived' })], false],
    [6, [aUser('bob', { role: 'admin' }), anAction('write'), aRecord('record-2', { status: 'archived' })], true],
    [7, [aUser('alice'), anAction('delete', { soft: true }), aRecord('record-1')], true],
    [8, [aUser('alice'), anAction('delete', { soft: false }), aRecord('record-1')], false],
  ] as const)(
    'hold for rule %i [AZ-EV-01, AZ-EV-03, AZ-EV-04, AZ-EV-05, AZ-EV-06, AZ-EV-07, AZ-IM-07]',
    async (_rule, [subject, action, resource], expected) => {
      const request = { subject, action, resource };
      expect((await pdp.post(request)).body.decision).toBe(expected);
      expect((await pdp.post({ ...request, context: { time: '2026-11-21T09:00:00Z' } })).body.decision).toBe(expected);
      const again = await Promise.all([1, 2, 3].map(() => pdp.post(request)));
      expect(again.map((answer) => answer.body.decision)).toEqual([expected, expected, expected]);
    },
  );

  it('hold with unknown properties and members [AZ-IM-05, AZ-IM-06, AZ-TR-07]', async () => {
    const answer = await pdp.post({
      subject: { ...aUser('alice', { department: 'Sales', role: 'manager' }), nickname: 'al' },
      action: anAction('read', { method: 'GET' }),
      resource: aRecord('record-1', { status: 'active', owner: 'bob', tags: [1.5, null] }),
      context: { time: '2026-11-21T09:00:00Z', nested: { deep: [{}] } },
      extension: true,
    });
    expect(answer.body.decision).toBe(true);
  });
});
