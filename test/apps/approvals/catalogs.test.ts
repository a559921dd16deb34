import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest, type Answer } from '../../support/approvals.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';
import { waitFor } from '../../support/wait-for.ts';

const FINANCE = { value: 'cc-7', label: 'Finance', description: 'Money', risk_level: 'high', owner: 'fay' };
const ITEMS = [
  FINANCE,
  { value: 'cc-8', label: 'facilities' },
  { value: 'cc-1', label: 'Research', scope: { app: 'a1' } },
  { value: 'cc-2', label: 'Payroll', visible: { groups: ['payers'] } },
  { value: 'cc-3', label: 'Bobs', visible: { subjects: ['bob*'] } },
  { value: 'cc-4', label: 'Reading', visible: { resources: ['files__read*'] } },
  { value: 'cc-5', label: 'Listing', visible: { actions: ['tools/list'] } },
  { value: 'cc-6', label: 'Closed', requestable: false },
];
const FOR_ALL = ['cc-7', 'cc-8'];
const TEMPLATE = 'operator_approval';

const folder = mkdtempSync(join(tmpdir(), 'catalogs-'));
const [centers, tickets, people] = ['centers.json', 'tickets.json', 'people.json'].map((name) => join(folder, name));
const write = (items: readonly object[]) => writeFileSync(String(centers), JSON.stringify(items));
const service = new ApprovalsUnderTest();
beforeAll(async () => {
  write(ITEMS);
  writeFileSync(String(tickets), JSON.stringify([{ value: 'secret-ticket', label: 'Ticket' }]));
  writeFileSync(
    String(people),
    directoryText(aUser('pat'), aUser('gone', { active: false }), aGroup('payers', ['pat', 'gone'])),
  );
  await service.start({
    directory: { file: people },
    approvals: {
      clients: {
        reader: { token: 'r'.repeat(43), actsFor: 'mcp-gateway', rights: ['status'] },
        limited: { token: 'l'.repeat(43), actsFor: 'mcp-gateway', rights: ['submit'], subjects: ['pat'] },
        other: { token: 'o'.repeat(43), rights: ['submit'] },
      },
      catalogs: {
        centers: {
          file: centers,
          fields: [{ template: TEMPLATE, field: '/context/cost_center', scope: { app: '/context/app' } }],
        },
        tickets: { file: tickets, fields: [{ template: 'another', field: '/context/ticket' }] },
      },
    },
  });
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

/** A denial that the PDP has recorded. Returns the id of its evaluation. */
async function denial(changes: SubmissionChanges = {}): Promise<string> {
  const { denial: given } = await service.submission(changes);
  service.recorded.set(given.evaluation_id, { status: 200, body: { binding_token: given.binding_token } });
  return given.evaluation_id;
}
const look = (parameters: Record<string, string>, name = 'centers', init: RequestInit = {}): Promise<Answer> =>
  service.asGateway(`/access/v1/catalogs/${name}?${new URLSearchParams(parameters).toString()}`, init);
const valuesIn = ({ body }: Answer) => (body.items as { value: string }[]).map(({ value }) => value).sort();
const ask = async (changes: SubmissionChanges, more: Record<string, string> = {}) =>
  valuesIn(await look({ evaluation_id: await denial(changes), ...more }));

describe('a catalog', () => {
  it('shows the known members of each item to the client that holds the denial, and no total [ARAP-CAT-10] [ARAP-CAT-11] [ARAP-CAT-06]', async () => {
    const { status, headers, body } = await look({ evaluation_id: await denial(), q: 'fin' });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ items: [FINANCE] });
  });

  it('shows each of two callers what that caller can ask for, and no other values [ARAP-CAT-08] [ARAP-CAT-09]', async () => {
    expect(await ask({})).toEqual(FOR_ALL);
    expect(await ask({ subject: 'pat' })).toEqual(['cc-2', ...FOR_ALL]);
    expect(await ask({ subject: 'gone' })).toEqual(FOR_ALL);
    expect(await ask({ subject: 'bobby' })).toEqual(['cc-3', ...FOR_ALL]);
    expect(await ask({ tool: 'files__read_file' })).toEqual(['cc-4', ...FOR_ALL]);
    const mapped = { action: { name: 'tools/list' }, resource: { type: 'tool', id: 'files' } };
    expect(await ask({ mapped })).toEqual(['cc-5', ...FOR_ALL]);
  });

  it('filters by scope and search, and ignores unknown parameters [ARAP-CAT-05]', async () => {
    expect(await ask({}, { app: 'a1' })).toEqual(['cc-1', ...FOR_ALL]);
    expect(await ask({}, { app: 'a2', colour: 'red' })).toEqual(FOR_ALL);
    expect(await ask({}, { q: 'FACILITIES' })).toEqual(['cc-8']);
    expect(await ask({}, { q: 'CC-7' })).toEqual(['cc-7']);
    // A search only narrows down the list without it.
    expect(await ask({}, { q: 'Payroll' })).toEqual([]);
  });

  it('has pages whose cursor works for no other query [ARAP-CAT-05] [ARAP-CAT-10]', async () => {
    const evaluation = { evaluation_id: await denial(), app: 'a1' };
    const first = await look({ ...evaluation, limit: '1' });
    const cursor = first.body.next_cursor as string;
    const second = await look({ ...evaluation, limit: '1', cursor });
    const third = await look({ ...evaluation, limit: '100000', cursor: second.body.next_cursor as string });
    expect([...valuesIn(first), ...valuesIn(second), ...valuesIn(third)]).toEqual(['cc-7', 'cc-1', 'cc-8']);
    expect(third.body).not.toHaveProperty('next_cursor');
    const { app: _app, ...elsewhere } = evaluation;
    for (const wrong of [
      { ...evaluation, cursor: `${cursor}x` },
      { ...elsewhere, cursor },
      { ...evaluation, cursor, q: 'c' },
      { evaluation_id: await denial({ subject: 'pat' }), app: 'a1', cursor },
    ]) {
      expect(await look(wrong)).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/^cursor: /) } });
    }
  });

  it('shows no values without a proof of the denial [ARAP-CAT-08] [ARAP-CAT-09]', async () => {
    const id = await denial();
    const as = (token: string, more: Record<string, string> = { evaluation_id: id }) =>
      look(more, 'centers', { headers: { authorization: `Bearer ${token}` } });
    const expired = await denial({ expiresAt: new Date((Math.floor(Date.now() / 1_000) - 31) * 1_000) });
    const silent = await denial({ claims: { subject: undefined } });
    const swapped = `${id}x`;
    service.recorded.set(swapped, service.recorded.get(id) ?? { status: 404, body: {} });
    const answers = [
      [await look({}), 400],
      [await look({ evaluation_id: 'eval_invented' }), 400],
      [await look({ evaluation_id: expired }), 410],
      [await look({ evaluation_id: silent }), 400],
      [await look({ evaluation_id: swapped }), 400],
      [await look({ evaluation_id: id }, 'tickets'), 404],
      [await look({ evaluation_id: id }, 'constructor'), 404],
      [await as('unknown'), 401],
      [await as('r'.repeat(43)), 403],
      [await as('l'.repeat(43)), 403],
      [await as('o'.repeat(43)), 403],
    ] as const;
    for (const [{ status, body }, expected] of answers) {
      expect([status, 'items' in body]).toEqual([expected, false]);
      expect(JSON.stringify(body)).not.toMatch(/Finance|cc-|ticket/);
    }
    expect((await look({ evaluation_id: id }, 'centers', { method: 'POST' })).status).toBe(405);
  });

  it.each([{ limit: 'many' }, { q: 'x'.repeat(1_025) }])('refuses an invalid parameter: %j', async (parameter) => {
    expect((await look({ evaluation_id: await denial(), ...parameter })).status).toBe(400);
  });
});

describe('a submission of a form with catalogs', () => {
  beforeEach(() => write(ITEMS));

  /** Members that the denial did not bind: the requester's words. */
  const submit = async (said: object, changes: SubmissionChanges = {}) => {
    const { context, ...rest } = await service.submission(changes);
    return service.submit({ ...rest, context: { ...context, ...said } });
  };

  it.each<[string, object, SubmissionChanges]>([
    ['that no caller may ask for', { cost_center: 'cc-6' }, {}],
    ['that others may ask for', { cost_center: 'cc-2' }, {}],
    ['of another scope', { cost_center: 'cc-1', app: 'a2' }, {}],
    ['without its scope', { cost_center: 'cc-1' }, {}],
    ['that does not exist', { cost_center: 'constructor' }, {}],
    ['that is not a text', { cost_center: { value: 'cc-7' } }, {}],
    ['that is one of two', { cost_center: ['cc-7', 'cc-6'] }, {}],
  ])('is refused with a value %s, and the refusal names the field [ARAP-CAT-17]', async (_case, said, changes) => {
    const { status, body } = await submit(said, changes);
    expect([status, body.detail]).toEqual([
      400,
      expect.stringMatching(/^context\.cost_center: .*choose another value$/),
    ]);
  });

  it.each<[string, object, SubmissionChanges]>([
    ['a value of the catalog', { cost_center: 'cc-7' }, {}],
    ['one of its scope', { cost_center: 'cc-1', app: 'a1' }, {}],
    ['one that its subject may ask for', { cost_center: 'cc-2' }, { subject: 'pat' }],
    ['several of them', { cost_center: ['cc-7', 'cc-8'] }, {}],
    ['none', {}, {}],
    ['a value for another template', { cost_center: 'anything' }, { claims: { template: 'plain' } }],
  ])('is accepted with %s', async (_case, said, changes) => {
    expect((await submit(said, changes)).status).toBe(202);
  });

  it('is refused with a value that was retired after it was shown, and a repetition gets the earlier answer [ARAP-CAT-17]', async () => {
    const before = await service.submission();
    const body = { ...before, context: { ...before.context, cost_center: 'cc-8' } };
    const key = { 'idempotency-key': crypto.randomUUID() };
    expect(await ask({})).toContain('cc-8');
    const { body: opened } = await service.submit(body, key);
    write(ITEMS.map((one) => (one.value === 'cc-8' ? { ...one, requestable: false } : one)));
    await waitFor(async () => !(await ask({})).includes('cc-8'));
    expect((await submit({ cost_center: 'cc-8' })).status).toBe(400);
    expect((await service.submit(body, key)).body.task.id).toBe(opened.task.id);
  });

  it('is checked against the last good catalog while an edit is broken', async () => {
    await waitFor(async () => (await ask({})).includes('cc-8'));
    writeFileSync(String(centers), '[{"value": "cc-9"}]');
    await waitFor(async () => (await ask({})).length > 0 && service.log.includes('catalog_invalid'));
    expect(await ask({})).toEqual(FOR_ALL);
  });
});

describe('catalogs that are not configured', () => {
  const without = new ApprovalsUnderTest();
  beforeAll(() => without.start());
  afterAll(() => without.stop());

  it('are not found, and submissions are accepted without a check of their values [PRJ-01]', async () => {
    expect((await without.asGateway('/access/v1/catalogs/centers?evaluation_id=e')).status).toBe(404);
    const body = await without.submission({ context: { cost_center: 'anything' } });
    expect((await without.submit(body)).status).toBe(202);
  });
});
