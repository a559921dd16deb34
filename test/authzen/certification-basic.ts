import assert from 'node:assert/strict';
import { action, CONTEXT, decided, decides, record, refuses, succeeded, user, type Check } from './checks.ts';

const allowed = { subject: user('alice'), action: action('read'), resource: record('record-1') };
const archived = record('record-2', { status: 'archived' });

/** @see certification scenario, c-1-4: the only decisions that are fixed. */
export const FIXTURE: readonly Check[] = [
  decides('rule 1', allowed, true),
  decides('rule 2', { ...allowed, action: action('write') }, true),
  decides('rule 3', { ...allowed, subject: user('bob') }, true),
  decides('rule 4', { ...allowed, subject: user('bob'), action: action('write') }, false),
  decides('rule 5', { subject: user('alice'), action: action('write'), resource: archived }, false),
  decides('rule 6', { subject: user('bob', { role: 'admin' }), action: action('write'), resource: archived }, true),
  decides('rule 7', { ...allowed, action: action('delete', { soft: true }) }, true),
  decides('rule 8', { ...allowed, action: action('delete', { soft: false }) }, false),
];

const without = (member: keyof typeof allowed) =>
  Object.fromEntries(Object.entries(allowed).filter(([name]) => name !== member));

/** Basic: Core and Properties. */
export const BASIC: readonly Check[] = [
  decides('c-2-2-1', allowed, true),
  decides('c-2-2-2', { ...allowed, subject: user('bob'), action: action('write') }, false),
  decides('c-2-2-3', { ...allowed, context: CONTEXT }, true),
  decides('c-2-2-4', { subject: user('alice'), action: action('write'), resource: archived }, false),
  decides('c-2-2-5', { subject: user('bob', { role: 'admin' }), action: action('write'), resource: archived }, true),
  decides('c-2-2-6', { ...allowed, action: action('delete', { soft: true }) }, true),
  decides('c-2-2-7', { ...allowed, action: action('delete', { soft: false }) }, false),
  decides(
    'c-2-2-8',
    {
      subject: user('alice', { department: 'Sales', role: 'manager' }),
      action: action('read', { method: 'GET' }),
      resource: record('record-1', { status: 'active', owner: 'bob' }),
    },
    true,
  ),
  decides('c-2-2-9', { ...allowed, foo: 'bar', futureField: { nested: true } }, true),
  // Every decision is checked for its form (c-2-3-1, c-2-3-2). This one also gives a reason.
  decides('c-2-3', { ...allowed, action: action('no-such-action') }),
  refuses('c-2-4-1 subject', 'evaluation', without('subject')),
  refuses('c-2-4-1 action', 'evaluation', without('action')),
  refuses('c-2-4-1 resource', 'evaluation', without('resource')),
  refuses('c-2-4-2 subject.type', 'evaluation', { ...allowed, subject: { id: 'alice' } }),
  refuses('c-2-4-2 subject.id', 'evaluation', { ...allowed, subject: { type: 'user' } }),
  refuses('c-2-4-2 action.name', 'evaluation', { ...allowed, action: {} }),
  refuses('c-2-4-2 resource.type', 'evaluation', { ...allowed, resource: { id: 'record-1' } }),
  refuses('c-2-4-2 resource.id', 'evaluation', { ...allowed, resource: { type: 'record' } }),
  refuses('c-2-4-3', 'evaluation', JSON.stringify(allowed), { 'Content-Type': 'text/plain' }),
  refuses('c-2-4-4', 'evaluation', '{"subject": '),
  refuses('c-2-4-5', 'evaluation', ''),
  refuses('c-2-4-6 subject', 'evaluation', { ...allowed, subject: 'alice' }),
  refuses('c-2-4-6 action.name', 'evaluation', { ...allowed, action: { name: 123 } }),
  {
    name: 'c-2-5-1',
    async run(pdp) {
      const id = 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716';
      const { headers } = await pdp.post('evaluation', allowed, { 'X-Request-ID': id });
      assert.equal(headers.get('x-request-id'), id);
    },
  },
  decides('c-2-5-2', allowed, true),
  {
    name: 'c-2-6',
    async run(pdp) {
      for (let time = 0; time < 5; time += 1) decided(succeeded(await pdp.post('evaluation', allowed)), true);
    },
  },
];
