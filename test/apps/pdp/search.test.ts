import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadEvaluator, FIXTURE_POLICIES, PDP_TOKEN, startTestPdp } from '../../support/pdp.ts';
import { policyVersion } from '../../../apps/pdp/engine/cedar/version.ts';
import { createSearch, readSearch, type SearchKind } from '../../../apps/pdp/search.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';

const OTHER = 'a-token-of-another-enforcement-point';
let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => {
  pdp = await startTestPdp({ enforcementPoints: [{ name: 'other', token: OTHER }] });
});
afterAll(() => pdp.stop());

interface Found {
  page?: { next_token: string; count: number };
  results: { type?: string; id?: string; name?: string }[];
}
const ask = (kind: SearchKind, body: unknown, token = PDP_TOKEN) =>
  pdp.post(body, { path: `/access/v1/search/${kind}`, headers: { Authorization: `Bearer ${token}` } });
async function find(kind: SearchKind, body: unknown): Promise<Found> {
  const answer = await ask(kind, body);
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
  return JSON.parse(answer.text) as Found;
}

const alice = { type: 'user', id: 'alice' };
const record = { type: 'record', id: 'record-1' };
const read = { name: 'read' };
const readers = { subject: { type: 'user' }, action: read, resource: record };
const readable = { subject: alice, action: read, resource: { type: 'record' } };
const actions = { subject: alice, resource: record };
const auditors = { subject: { type: 'identity' }, action: { name: 'audit' }, resource: record };
/** Every user may read profiles, and five users are known. */
const everybody = { subject: { type: 'user' }, action: { name: 'can_read_user' }, resource: { type: 'user', id: 'x' } };

const known = { alice: { type: 'user', id: 'alice' }, bob: { type: 'user', id: 'bob' } };

const HALF = 'the body has half a character (a surrogate without the other one)';

describe('a search', () => {
  it('finds exactly the items that an evaluation would permit [AZ-SR-07, AZ-SR-09, AZ-SR-18]', async () => {
    expect(await find('subject', readers)).toEqual({ results: [known.alice, known.bob] });
    const records = ['record-1', 'record-2'].map((id) => ({ type: 'record', id }));
    expect(await find('resource', readable)).toEqual({ results: records });
    expect(await find('action', actions)).toEqual({ results: [read, { name: 'write' }] });
    for (const [kind, body] of [
      ['subject', readers],
      ['resource', readable],
      ['action', actions],
    ] as const) {
      const { results } = await find(kind, body);
      expect(results.length).toBeGreaterThan(0);
      for (const result of results) {
        const evaluation = await pdp.post({ ...body, [kind]: result });
        expect(evaluation.body).toEqual({ decision: true });
      }
    }
  });

  it('finds members of groups in groups [AZ-SR-10]', async () => {
    expect(await find('subject', auditors)).toEqual({ results: [{ type: 'identity', id: 'carol@example.com' }] });
  });

  it.each<[SearchKind, object]>([
    ['subject', { ...readers, subject: { type: 'user', id: 'alice' } }],
    ['subject', { ...readers, subject: { type: 'user', id: 7 } }],
    ['resource', { ...readable, resource: { type: 'record', id: 'record-2' } }],
  ])('ignores an id of the searched type: %s [AZ-SR-04]', async (kind, body) => {
    expect(await find(kind, body)).toEqual(await find(kind, kind === 'subject' ? readers : readable));
  });

  it.each<[SearchKind, object]>([
    ['subject', readers],
    ['resource', readable],
    ['action', actions],
  ])('accepts a context and unknown members: %s [AZ-SR-19, AZ-TR-07]', async (kind, body) => {
    const context = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' };
    expect(await find(kind, { ...body, context, future: {} })).toEqual(await find(kind, body));
  });

  it.each<[SearchKind, object]>([
    ['subject', { ...readers, subject: { type: 'spaceship' } }],
    ['subject', { ...readers, resource: { type: 'record', id: 'nonexistent' } }],
    ['subject', { ...readers, action: { name: 'fly' } }],
    ['resource', { ...readable, resource: { type: 'spaceship' } }],
    ['resource', { ...readable, subject: { type: 'user', id: 'nonexistent' } }],
    ['action', { ...actions, subject: { type: 'user', id: 'nonexistent' } }],
    ['action', { ...actions, resource: { type: 'spaceship', id: '1' } }],
  ])('finds no results for unknown names: %s %j [AZ-SR-08]', async (kind, body) => {
    expect(await find(kind, body)).toEqual({ results: [] });
  });

  it.each<[SearchKind, object, string]>([
    ['subject', { action: read, resource: record }, 'subject is missing'],
    ['subject', { ...readers, subject: {} }, 'subject.type is missing'],
    ['subject', { subject: { type: 'user' }, resource: record }, 'action is missing'],
    ['subject', { ...readers, action: {} }, 'action.name is missing'],
    ['subject', { ...readers, resource: { type: 'record' } }, 'resource.id is missing'],
    ['resource', { action: read, resource: { type: 'record' } }, 'subject is missing'],
    ['resource', { ...readable, subject: { type: 'user' } }, 'subject.id is missing'],
    ['resource', { subject: alice, resource: { type: 'record' } }, 'action is missing'],
    ['resource', { ...readable, resource: { id: 'record-1' } }, 'resource.type is missing'],
    ['action', { subject: alice }, 'resource is missing'],
    ['action', { ...actions, subject: { type: 'user' } }, 'subject.id is missing'],
    ['action', { ...actions, resource: { id: 'record-1' } }, 'resource.type is missing'],
    ['action', { ...actions, context: [] }, 'context is not of type object'],
    ['action', { ...actions, page: { limit: -1 } }, 'page.limit: Too small: expected number to be >=0'],
    ['action', { ...actions, page: { limit: 1.5 } }, 'page.limit is not of type int'],
    ['action', { ...actions, page: 'x' }, 'page is not of type object'],
    ['action', { ...actions, context: { a: '\ud800' } }, HALF],
  ])(
    'is refused when a member is missing or wrong: %s %j [AZ-SR-01, AZ-SR-02, AZ-SR-03, AZ-SR-06]',
    async (kind, body, why) => {
      const answer = await ask(kind, body);
      expect([answer.status, answer.text]).toEqual([400, why]);
    },
  );

  it('needs a token like every request [AZ-SE-03]', async () => {
    expect((await ask('action', actions, 'an-unknown-token-of-some-length')).status).toBe(401);
  });

  it('finds no item that needs an approval, even if the caller claims one [PRJ-27]', async () => {
    const deploy = { subject: { type: 'identity' }, action: { name: 'deploy' }, resource: record };
    const approval = { verified: true, template: 'change_advisory', id: 'x', state: 'y' };
    expect(await find('subject', { ...deploy, context: { approval } })).toEqual({ results: [] });
    expect(pdp.recorded).toEqual([]);
  });
});

describe('a search page by page', () => {
  /** All pages, until the last. */
  async function walk(body: object, limit: number, again: object = { limit }) {
    const pages: Found[] = [];
    let token: string | undefined;
    do {
      const page = token === undefined ? { limit } : { ...again, token };
      const found = await find('subject', { ...body, page });
      pages.push(found);
      token = found.page?.next_token;
    } while (token !== '');
    return pages;
  }

  it.each([1, 2, 3, 100])(
    'has the same results in pages of %i as in one answer, and marks the last page [AZ-SR-12, AZ-SR-13, AZ-SR-16]',
    async (limit) => {
      const whole = await find('subject', everybody);
      expect(whole).not.toHaveProperty('page');
      const pages = await walk(everybody, limit);
      expect(pages.flatMap(({ results }) => results)).toEqual(whole.results);
      for (const { page, results } of pages) {
        expect(results.length).toBeLessThanOrEqual(limit);
        expect(page?.count).toBe(results.length);
      }
      expect(pages.slice(0, -1).every(({ page }) => page?.next_token !== '')).toBe(true);
    },
  );

  it('keeps the limit of the first request if a later one has no limit', async () => {
    expect((await walk(everybody, 2, {})).map(({ results }) => results.length)).toEqual(
      (await walk(everybody, 2)).map(({ results }) => results.length),
    );
  });

  it('has no results, but a next page, with a limit of zero', async () => {
    const { page, results } = await find('subject', { ...everybody, page: { limit: 0 } });
    expect([results, page?.count]).toEqual([[], 0]);
    expect(page?.next_token).not.toBe('');
  });

  it('writes the page before the results [AZ-SR-17]', async () => {
    const { text } = await ask('subject', { ...readers, page: { limit: 1 } });
    expect(text).toMatch(/^\{"page":\{"next_token":"[^"]+","count":1\},"results":\[/);
  });

  it('accepts other members of a page, and does not return them [AZ-SR-20]', async () => {
    const { page } = await find('subject', { ...readers, page: { sort: 'id', properties: { order: 'down' } } });
    expect(page).toEqual({ next_token: '', count: 2 });
  });

  it('reveals no content in its token', async () => {
    const { page } = await find('subject', { ...readers, page: { limit: 1 } });
    const parts = page?.next_token.split('.') ?? [];
    expect(parts).toHaveLength(5);
    for (const part of parts) expect(Buffer.from(part, 'base64url').toString()).not.toContain('alice');
  });

  it.each<[string, (body: typeof readers & { page: object }) => object]>([
    ['another subject type', (body) => ({ ...body, subject: { type: 'identity' } })],
    ['another id of the searched type', (body) => ({ ...body, subject: { type: 'user', id: 'x' } })],
    ['another action', (body) => ({ ...body, action: { name: 'write' } })],
    ['another resource', (body) => ({ ...body, resource: { type: 'record', id: 'record-2' } })],
    ['additional properties', (body) => ({ ...body, resource: { ...record, properties: { a: 1 } } })],
    ['an additional context', (body) => ({ ...body, context: { a: 1 } })],
    ['another limit', (body) => ({ ...body, page: { ...body.page, limit: 2 } })],
    ['another member of the page', (body) => ({ ...body, page: { ...body.page, properties: { a: 1 } } })],
    ['an altered token', (body) => ({ ...body, page: { token: 'e30.e30.e30.e30.e30' } })],
    ['an empty token', (body) => ({ ...body, page: { token: '' } })],
  ])('is refused on a later page with %s [AZ-SR-15]', async (_name, change) => {
    const { page } = await find('subject', { ...readers, page: { limit: 1 } });
    const next = { ...readers, page: { token: page?.next_token } };
    const answer = await ask('subject', change(next));
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/^page\.(limit is not|token does not belong)/);
    expect((await ask('subject', next)).status).toBe(200);
  });

  it('is refused on a later page with the token of another enforcement point', async () => {
    const { page } = await find('subject', { ...readers, page: { limit: 1 } });
    expect((await ask('subject', { ...readers, page: { token: page?.next_token } }, OTHER)).status).toBe(400);
  });

  it('does not depend on the order of members [AZ-TR-08]', async () => {
    const { page } = await find('subject', { ...readers, page: { limit: 1 } });
    const shuffled = { page: { token: page?.next_token, limit: 1 }, resource: { id: 'record-1', type: 'record' } };
    const { results } = await find('subject', { ...shuffled, action: read, subject: { type: 'user' } });
    expect(results).toEqual([known.bob]);
  });
});

describe('a search among thousands of subjects', () => {
  const ids = Array.from({ length: 2_500 }, (_, index) => `user-${String(index).padStart(4, '0')}`);

  it('evaluates at most 1,000 candidates per page, and counts them toward the limit [AZ-TR-15]', async () => {
    const evaluator = await loadEvaluator(FIXTURE_POLICIES);
    const version = policyVersion('sha-256:00', evaluator, { pathFor: () => undefined });
    let evaluations = 0;
    const charged: number[] = [];
    const searchable = {
      candidates: { ...evaluator.candidates, subjects: () => ids },
      permits: ({ subject }: EvaluationRequest) => (evaluations += 1) > 0 && subject.id === 'user-2400',
    };
    const search = createSearch({
      secret: 'a-key-of-the-tests',
      charge: async (_requester, count) => void charged.push(await Promise.resolve(count)),
    });
    const pages: [number, number][] = [];
    let token: string | undefined;
    do {
      const before = evaluations;
      const request = readSearch('subject', { ...readers, ...(token !== undefined && { page: { token } }) });
      const { page, results } = await search({ ...version, searchable }, request, 'mcp-gateway');
      token = page?.next_token;
      pages.push([evaluations - before, results.length]);
    } while (token !== '');
    expect(pages.map(String)).toEqual(['1000,0', '1000,0', '500,1']);
    expect(charged).toEqual([999, 999, 499]);
  });
});
