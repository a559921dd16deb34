import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import { launchBrowser } from '../support/chromium.ts';
import { Person } from './person.ts';
import { type Day, openDay } from './requests.ts';
import { type DayFigures, expectedVotes, workThrough } from './tasks.ts';
import { signPageIn } from '../support/page-sign-in.ts';

const MANNERS = [
  ['keyboard', { viewport: { width: 1_280, height: 900 } }],
  ['touch', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
] as const;
type Manner = (typeof MANNERS)[number][0];

export interface Figures {
  readonly requests: number;
  readonly tasks: Readonly<Record<Manner, DayFigures>>;
  /** Milliseconds from a decision in one browser until another shows it. */
  readonly seenAfter: { readonly list: number; readonly page: number };
  /** The share of one processor core that open pages cost while nothing happens, the database included. */
  readonly idle: {
    readonly requests: number;
    readonly pages: number;
    readonly seconds: number;
    readonly share: number;
  };
  /** Votes that should not be there, or that are missing. */
  readonly wrong: readonly string[];
}

interface Sizes {
  readonly requests: number;
  readonly idleRequests: number;
  readonly idlePages: number;
  readonly idleSeconds: number;
}

/** A day of an approver in Chromium, on the real service, database and issuer. `say` reports progress. */
export async function runDay(sizes: Sizes, say: (line: string) => void): Promise<Figures> {
  const browser = await launchBrowser({ canUndo: true });
  try {
    const tasks = {} as Record<Manner, DayFigures>;
    const wrong: string[] = [];
    for (const [manner, options] of MANNERS) {
      say(`${manner}: ${sizes.requests} requests …`);
      await withService(async (service) => {
        const day = await openDay(service, sizes.requests);
        const page = await signIn(service, browser, 'alice', options);
        tasks[manner] = await workThrough(new Person(page, manner === 'keyboard'), service.url);
        wrong.push(...(await wrongVotes(service, day)).map((line) => `${manner}: ${line}`));
      });
    }
    say('two browsers …');
    const seenAfter = await withService((service) => measureSeen(service, browser));
    say(`${sizes.idlePages} open pages for ${sizes.idleSeconds} s …`);
    const idle = await withService((service) => measureIdle(service, browser, sizes));
    return { requests: sizes.requests, tasks, seenAfter, idle, wrong };
  } finally {
    await browser.close();
  }
}

async function withService<Result>(act: (service: ApprovalsUnderTest) => Promise<Result>): Promise<Result> {
  const service = new ApprovalsUnderTest();
  await service.start({ approvals: { maxRequestsPerSecond: 1_000 } });
  try {
    return await act(service);
  } finally {
    await service.stop();
  }
}

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

async function signIn(service: ApprovalsUnderTest, browser: Browser, name: string, options: ContextOptions = {}) {
  const page = await (await browser.newContext(options)).newPage();
  await signPageIn(page, service.url, name);
  return page;
}

async function wrongVotes(service: ApprovalsUnderTest, day: Day): Promise<string[]> {
  const { rows } = await service.database.pool.query<{ id: string; verdict: string }>(
    'SELECT access_request_id AS id, verdict FROM approvals.vote',
  );
  const expected = Object.entries(expectedVotes(day)).map(([id, verdict]) => `${id} ${verdict}`);
  const found = rows.map(({ id, verdict }) => `${id} ${verdict}`);
  return [
    ...expected.filter((one) => !found.includes(one)).map((one) => `missing: ${one}`),
    ...found.filter((one) => !expected.includes(one)).map((one) => `not wanted: ${one}`),
  ];
}

async function measureSeen(service: ApprovalsUnderTest, browser: Browser): Promise<Figures['seenAfter']> {
  const page = await signIn(service, browser, 'alice');
  const after = async (path: (id: string) => string, seen: (on: Page, id: string) => Promise<void>) => {
    const request = await service.open();
    await page.goto(new URL(path(request.id), service.url).href);
    const start = performance.now();
    await service.vote('bob', request, 'deny');
    await seen(page, request.id);
    return performance.now() - start;
  };
  return {
    list: await after(
      () => '/requests',
      (on, id) => on.locator(`[data-gone][data-request="${id}"]`).waitFor(),
    ),
    page: await after(
      (id) => `/requests/${id}`,
      (on) => on.getByText('This request has ended').waitFor(),
    ),
  };
}

async function measureIdle(
  service: ApprovalsUnderTest,
  browser: Browser,
  { idleRequests, idlePages, idleSeconds }: Sizes,
): Promise<Figures['idle']> {
  for (let opened = 0; opened < idleRequests; opened += 1) await service.open();
  const first = await signIn(service, browser, 'alice');
  const pages = [first];
  while (pages.length < idlePages) pages.push(await first.context().newPage());
  for (const page of pages) await page.goto(`${service.url}/requests?status=yours`);
  const { rows } = await service.database.pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`,
  );
  const pids = [process.pid, ...rows.map(({ pid }) => pid)];
  const before = pids.map(cpuSecondsOf);
  const start = performance.now();
  await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1_000));
  const seconds = (performance.now() - start) / 1_000;
  // A connection of the database that has ended since was idle.
  const used = pids.reduce((sum, pid, at) => sum + Math.max(0, cpuSecondsOf(pid) - (before[at] ?? 0)), 0);
  return { requests: idleRequests, pages: idlePages, seconds, share: used / seconds };
}

/** Processor time that a process has used, in seconds; none for one that has ended. */
function cpuSecondsOf(pid: number): number {
  const TICKS_PER_SECOND = 100;
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}
