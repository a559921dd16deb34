import assert from 'node:assert/strict';
import type { SearchKind } from '../../apps/pdp/search.ts';
import { action, CONTEXT, record, refuses, succeeded, user, type Check } from './checks.ts';
import type { Target } from './target.ts';

const readers = { subject: { type: 'user' }, action: action('read'), resource: record('record-1') };
const readable = { subject: user('alice'), action: action('read'), resource: { type: 'record' } };
const actions = { subject: user('alice'), resource: record('record-1') };
const admin = user('bob', { role: 'admin' });
const archived = record('record-2', { status: 'archived' });

interface Page {
  readonly next_token?: unknown;
}
const MEMBERS: Readonly<Record<SearchKind, readonly string[]>> = {
  subject: ['type', 'id'],
  resource: ['type', 'id'],
  action: ['name'],
};

/** The names of all results, once each result has the form of its kind. */
async function find(pdp: Target, kind: SearchKind, body: object): Promise<{ found: string[]; page: unknown }> {
  const { results, page } = succeeded(await pdp.post(kind, body));
  assert.ok(Array.isArray(results), 'results is not an array');
  const type = (body as Record<string, { type?: string }>)[kind]?.type;
  const found = results.map((result: Record<string, unknown>) => {
    for (const member of MEMBERS[kind]) assert.equal(typeof result[member], 'string', `a result has no ${member}`);
    assert.equal(result['type'], type, 'a result is of another type');
    return String(result['id'] ?? result['name']);
  });
  return { found, page };
}

const finds = (name: string, kind: SearchKind, body: object, expected: readonly string[]): Check => ({
  name,
  async run(pdp) {
    const { found } = await find(pdp, kind, body);
    for (const one of expected) assert.ok(found.includes(one), `${one} is not found`);
  },
});

/** Two requests that have to find the same results. */
const same = (name: string, kind: SearchKind, [body, other]: readonly [object, object]): Check => ({
  name,
  async run(pdp) {
    const [one, two] = [await find(pdp, kind, body), await find(pdp, kind, other)];
    assert.deepEqual(two.found.toSorted(), one.found.toSorted());
    assert.ok(one.found.length > 0, 'nothing is found');
  },
});

const nothing = (name: string, kind: SearchKind, body: object): Check => ({
  name,
  run: async (pdp) => assert.deepEqual((await find(pdp, kind, body)).found, []),
});

const paging: Check = {
  name: 'c-4-5-1, c-4-5-2, c-4-5-3',
  async run(pdp) {
    const all: string[] = [];
    let token: string | undefined;
    for (let count = 0; count < 100 && token !== ''; count += 1) {
      const page = token === undefined ? { limit: 1 } : { token };
      const answer = await find(pdp, 'subject', { ...readers, page });
      all.push(...answer.found);
      // A decision point without pages sends no `page`, or one without a next token.
      if (answer.page === undefined && token === undefined) break;
      assert.ok(typeof answer.page === 'object' && answer.page !== null, 'page is not an object');
      const { next_token } = answer.page as Page;
      assert.ok(typeof next_token === 'string', 'page.next_token is not text');
      token = next_token;
    }
    assert.deepEqual(all.toSorted(), (await find(pdp, 'subject', readers)).found.toSorted());
  },
};

/** Search: Core and Properties. */
export const SEARCH: readonly Check[] = [
  finds('S1, c-4-2-1', 'subject', readers, ['alice', 'bob']),
  same('c-4-2-2', 'subject', [readers, { ...readers, context: CONTEXT }]),
  same('c-4-2-3', 'subject', [readers, { ...readers, subject: user('alice') }]),
  finds('S4, c-4-2-4', 'subject', { ...readers, action: action('write'), resource: archived }, ['bob']),
  finds('S2, c-4-3-1', 'resource', readable, ['record-1']),
  same('c-4-3-2', 'resource', [readable, { ...readable, context: CONTEXT }]),
  same('c-4-3-3', 'resource', [readable, { ...readable, resource: record('record-1') }]),
  finds('S5, c-4-3-4', 'resource', { ...readable, subject: admin, action: action('write') }, ['record-2']),
  finds('S3, c-4-4-1', 'action', actions, ['read', 'write']),
  same('c-4-4-2', 'action', [actions, { ...actions, context: CONTEXT }]),
  finds('S6, c-4-4-3', 'action', { subject: admin, resource: archived }, ['write']),
  paging,
  finds('c-4-5-4', 'subject', { ...readers, page: {} }, ['alice', 'bob']),
  nothing('c-4-6-1 subject', 'subject', { ...readers, resource: record('nonexistent') }),
  nothing('c-4-6-1 resource', 'resource', { ...readable, subject: user('nonexistent-user') }),
  nothing('c-4-6-1 action', 'action', { ...actions, subject: user('nonexistent-user') }),
  nothing('c-4-6-2 subject', 'subject', { ...readers, subject: { type: 'spaceship' } }),
  nothing('c-4-6-2 resource', 'resource', { ...readable, resource: { type: 'spaceship' } }),
  nothing('c-4-6-2 action', 'action', { ...actions, resource: { type: 'spaceship', id: 'x' } }),
  refuses('c-4-7-1 subject', 'subject', { subject: readers.subject, resource: readers.resource }),
  refuses('c-4-7-1 resource', 'resource', { action: readable.action, resource: readable.resource }),
  refuses('c-4-7-1 action', 'action', { subject: actions.subject }),
  refuses('c-4-7-2 subject', 'subject', { ...readers, resource: { type: 'record' } }),
  refuses('c-4-7-2 resource', 'resource', { ...readable, subject: { type: 'user' } }),
  refuses('c-4-7-2 action', 'action', { ...actions, subject: { type: 'user' } }),
];
