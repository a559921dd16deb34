import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anOpening, CALLER, TEST_SEALS } from '../../support/gated-calls.ts';
import { startAuditApp, type AuditUnderTest } from './audit-app.ts';
import type { EndedCall } from './ended-calls.ts';

let audit: AuditUnderTest;
let executed: EndedCall;
let denied: EndedCall;
let other: EndedCall;
beforeAll(async () => {
  audit = await startAuditApp();
  executed = await audit.calls.end('executed');
  denied = await audit.calls.end('denied', anOpening({ caller: { ...CALLER, subject: 'bob' } }));
  other = await audit.calls.end('cancelled', anOpening({ tool: 'mail__send' }));
});
afterAll(() => audit.stop());

interface Item {
  readonly taskId: string;
  readonly recordedAt: string;
}
const tasksOf = async (query: string) => {
  const { body } = await audit.json(`/outcome-records?${query}`);
  return body.items.map((item: Item) => item.taskId);
};

describe('the list of outcome records', () => {
  it('shows the newest records first, each with its digest and a checked seal', async () => {
    const { body } = await audit.json('/outcome-records');
    expect(body.items.map((item: Item) => item.taskId)).toEqual([other.taskId, denied.taskId, executed.taskId]);
    expect(body.items[2]).toEqual({
      outcomeRef: expect.stringMatching(/^out_[0-9a-f]{32}$/),
      taskId: executed.taskId,
      tool: 'files__write_file',
      requester: 'agent',
      state: 'executed',
      disposition: 'approved-executed',
      callDigest: TEST_SEALS.digest(executed.opening.binding.callDigest),
      recordedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      sealIntact: true,
    });
    expect(body.nextCursor).toBeUndefined();
  });

  it('can be filtered by state, disposition, tool, requester, call digest and time', async () => {
    const { body } = await audit.json(`/outcome-records/by-task/${denied.taskId}`);
    const at = body.recordedAt as string;
    expect(await tasksOf('state=denied')).toEqual([denied.taskId]);
    expect(await tasksOf('disposition=approved-executed')).toEqual([executed.taskId]);
    expect(await tasksOf('tool=mail__send')).toEqual([other.taskId]);
    expect(await tasksOf('requester=bob')).toEqual([denied.taskId]);
    expect(await tasksOf(`callDigest=${TEST_SEALS.digest(executed.opening.binding.callDigest)}`)).toEqual([
      executed.taskId,
    ]);
    expect(await tasksOf(`from=${at}`)).toEqual([other.taskId, denied.taskId]);
    expect(await tasksOf(`until=${at}`)).toEqual([executed.taskId]);
    expect(await tasksOf('state=denied&tool=mail__send')).toEqual([]);
    expect(await tasksOf('state=&tool=&requester=&callDigest=&from=&until=')).toHaveLength(3);
  });

  it('includes the whole day when `until` is a date', async () => {
    const { body } = await audit.json(`/outcome-records/by-task/${executed.taskId}`);
    const day = body.recordedAt.slice(0, 10);
    expect(await tasksOf(`from=${day}&until=${day}`)).toContain(executed.taskId);
    expect(await tasksOf('until=2020-01-01')).toEqual([]);
  });

  it.each([
    ['state=pending', 'state'],
    ['disposition=maybe', 'disposition'],
    ['state=denied&disposition=outcome-unknown', 'disposition'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['from=yesterday', 'from'],
    ['from=2026-02-30', 'from'],
    ['until=0000-01-01', 'until'],
    ['from=2026-11-21T10:00:00', 'from'],
    ['tool=a&tool=b', 'tool'],
    ['tool=a%00b', 'tool'],
    ['colour=red', 'colour'],
    ['cursor=abc', 'cursor'],
    ['before=abc', 'before'],
    ['cursor=a&before=b', 'before'],
    [`callDigest=sha-256:${'0'.repeat(64)}`, 'hmac-sha-256'],
    [`cursor=${Buffer.from('["0000-01-01T00:00:00.000000Z","x"]').toString('base64url')}`, 'cursor'],
  ])('refuses %s and names the parameter', async (query, named) => {
    const { status, headers, body } = await audit.json(`/outcome-records?${query}`);
    expect(status).toBe(400);
    expect(headers.get('content-type')).toContain('application/problem+json');
    expect(body.detail).toContain(named);
  });
});

describe('paging', () => {
  it('shows every record once, also for records of the same instant and while new ones arrive', async () => {
    const tool = 'paging__tool';
    for (let i = 0; i < 7; i += 1) await audit.calls.end('denied', anOpening({ tool }));
    const client = await audit.pool.connect();
    try {
      await client.query('ALTER TABLE gateway.outcome_record DISABLE TRIGGER outcome_record_immutable');
      await client.query(
        "UPDATE gateway.outcome_record SET recorded_at = '2026-01-01T00:00:00.123456Z' WHERE tool = $1",
        [tool],
      );
    } finally {
      await client.query('ALTER TABLE gateway.outcome_record ENABLE TRIGGER outcome_record_immutable');
      client.release();
    }
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 4; page += 1) {
      const { body } = await audit.json(`/outcome-records?tool=${tool}&limit=2&cursor=${cursor}`);
      seen.push(...body.items.map((item: Item) => item.taskId));
      if (page === 0) await audit.calls.end('denied', anOpening({ tool }));
      cursor = body.nextCursor ?? '';
      expect(cursor === '').toBe(page === 3);
    }
    expect(seen).toHaveLength(7);
    expect(new Set(seen).size).toBe(7);
  });

  it('leads back page by page to the start, and to a full first page', async () => {
    const tool = 'both__ways';
    for (let i = 0; i < 7; i += 1) await audit.calls.end('denied', anOpening({ tool }));
    const page = async (way: string) => (await audit.json(`/outcome-records?tool=${tool}&limit=3${way}`)).body;
    const tasks = ({ items }: { items: Item[] }) => items.map(({ taskId }) => taskId);
    const pages = [await page('')];
    while (pages.at(-1).nextCursor) pages.push(await page(`&cursor=${pages.at(-1).nextCursor}`));
    expect(pages.map((one) => one.items.length)).toEqual([3, 3, 1]);
    expect(pages.map((one) => one.previousCursor !== undefined)).toEqual([false, true, true]);
    const second = await page(`&before=${pages[2].previousCursor}`);
    expect(tasks(second)).toEqual(tasks(pages[1]));
    expect(second.nextCursor).toBe(pages[1].nextCursor);
    const first = await page(`&before=${second.previousCursor}`);
    expect(tasks(first)).toEqual(tasks(pages[0]));
    expect(first.previousCursor).toBeUndefined();
    // A newer record belongs on the page before, which is then the first again.
    await audit.calls.end('denied', anOpening({ tool }));
    expect((await page(`&before=${pages[1].previousCursor}`)).items).toHaveLength(3);
    expect(await page(`&before=${first.nextCursor}`)).toMatchObject({ items: [{}, {}, {}] });
  });

  it('keeps the filters on the page in a browser', async () => {
    const { text } = await audit.get('/outcome-records?tool=paging__tool&limit=2', { accept: 'text/html' });
    const next = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).toContain('tool=paging__tool');
    expect((await audit.get(next, { accept: 'text/html' })).status).toBe(200);
    expect(text).toContain('value="paging__tool"');
  });
});

describe('pages', () => {
  it('are sent to a client that prefers text/html, and JSON to all others', async () => {
    const type = async (accept: string) =>
      (await audit.get('/outcome-records', { accept })).headers.get('content-type');
    expect(await type('text/html,application/xhtml+xml,*/*;q=0.8')).toContain('text/html');
    expect(await type('application/json')).toContain('application/json');
    expect(await type('*/*')).toContain('application/json');
  });

  it('are refused for other media types', async () => {
    for (const path of ['', `/by-task/${executed.taskId}`]) {
      for (const accept of ['text/csv', 'application/xml, text/plain;q=0.5']) {
        const { status, headers, text } = await audit.get(`/outcome-records${path}`, { accept });
        expect([status, headers.get('content-type')]).toEqual([
          406,
          expect.stringContaining('application/problem+json'),
        ]);
        expect(JSON.parse(text).detail).toContain('application/json');
      }
    }
    expect((await audit.get('/outcome-records', { accept: 'text/csv, application/json;q=0.1' })).status).toBe(200);
  });

  it('distinguish calls of one tool by the first digits of their digests', async () => {
    const { text } = await audit.get('/outcome-records', { accept: 'text/html' });
    const digits = TEST_SEALS.digest(executed.opening.binding.callDigest).replace('hmac-sha-256:', '').slice(0, 12);
    expect(text).toContain(`>${digits}<`);
  });

  it('escape text from callers, and run no script', async () => {
    const tool = '<script>alert(1)</script>';
    const call = await audit.calls.end('denied', anOpening({ tool }));
    for (const path of ['', `/by-task/${call.taskId}`]) {
      const { text, headers } = await audit.get(`/outcome-records${path}`, { accept: 'text/html' });
      expect(text).toContain('&lt;script>alert(1)');
      expect(text).not.toContain('<script>alert');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });
});
