import assert from 'node:assert/strict';
import { action, decided, decides, record, succeeded, user, type Check } from './checks.ts';

const resources = [record('record-1'), record('record-2')];
const archived = record('record-2', { status: 'archived' });
const allowed = { subject: user('alice'), action: action('read'), resource: record('record-1') };
const time = (hour: number) => `2025-06-27T${hour}:03-07:00`;

/** Checks that a batch has the expected answers, in order. `undefined` checks the form only. */
const answers = (name: string, body: object, expected: readonly (boolean | undefined)[]): Check => ({
  name,
  async run(pdp) {
    const { evaluations } = succeeded(await pdp.post('evaluations', body));
    assert.ok(Array.isArray(evaluations), 'evaluations is not an array');
    assert.equal(evaluations.length, expected.length);
    expected.forEach((each, index) => decided(evaluations[index], each));
  },
});

/** Batch: Core and Properties. */
export const BATCH: readonly Check[] = [
  answers(
    'c-3-2-1',
    { subject: user('alice'), action: action('read'), evaluations: resources.map((resource) => ({ resource })) },
    [true, undefined],
  ),
  answers(
    'c-3-2-2',
    {
      subject: user('bob'),
      resource: record('record-1'),
      evaluations: [{ action: action('read') }, { action: action('write') }],
    },
    [true, false],
  ),
  answers(
    'c-3-2-3',
    {
      subject: user('alice'),
      action: action('write'),
      evaluations: [{ resource: record('record-1', { status: 'active' }) }, { resource: archived }],
    },
    [true, false],
  ),
  answers(
    'c-3-2-4',
    {
      action: action('write'),
      resource: archived,
      evaluations: [{ subject: user('alice') }, { subject: user('bob', { role: 'admin' }) }],
    },
    [false, true],
  ),
  answers('c-3-2-5', { evaluations: [allowed, { ...allowed, subject: user('bob'), action: action('write') }] }, [
    true,
    false,
  ]),
  answers(
    'c-3-2-6',
    {
      subject: user('alice'),
      action: action('read'),
      context: { time: time(18) },
      evaluations: [
        { resource: resources[0] },
        { resource: resources[1], context: { time: time(19), source: 'batch-override' } },
      ],
    },
    [undefined, undefined],
  ),
  answers(
    'c-3-2-7',
    {
      subject: user('alice'),
      action: action('write'),
      resource: record('record-1', { status: 'active' }),
      evaluations: [{}, { resource: archived }],
    },
    [true, false],
  ),
  answers('c-3-3', { ...allowed, evaluations: Array.from({ length: 20 }, () => ({})) }, Array(20).fill(true)),
  answers(
    'c-3-4-1',
    {
      subject: user('alice'),
      action: action('read'),
      options: { evaluations_semantic: 'execute_all' },
      evaluations: [{ resource: record('record-1') }, {}],
    },
    [true, false],
  ),
  decides('c-3-4-2', allowed, true, 'evaluations'),
  decides('c-3-4-3', { ...allowed, evaluations: [] }, true, 'evaluations'),
];
