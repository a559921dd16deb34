import type { Page } from 'playwright-core';
import { TERMINAL_STATES } from '../../workflows/domain/gated-call/outcome-record.ts';
import type { Opening } from '../../workflows/domain/ports.ts';
import { anOpening, TEST_SEALS } from '../support/gated-calls.ts';
import type { ApprovalsUnderTest } from '../support/approvals.ts';
import type { Situation } from '../support/situations.ts';
import { endedCalls } from '../apps/audit/ended-calls.ts';

/** The number of records of one call on one page. */
const LOOKUP_LIMIT = 50;

/** Every page of the auditors in every state. The records are made once, because no control there changes any. */
export function auditSituations(service: ApprovalsUnderTest): Situation[] {
  let made: Promise<{ tasks: Map<string, string>; twice: string; often: string }> | undefined;
  const records = () =>
    (made ??= (async () => {
      const calls = endedCalls(service.database.pool);
      const opening = anOpening({ tool: 'mail__send' });
      const { taskId } = await calls.end('executed', opening);
      const again = async (of: Opening) =>
        calls.end('cancelled', { ...anOpening({ tool: 'mail__send' }), binding: of.binding });
      await again(opening);
      const tasks = new Map([['executed', taskId]]);
      for (const state of TERMINAL_STATES) if (!tasks.has(state)) tasks.set(state, (await calls.end(state)).taskId);
      const often = anOpening();
      for (let times = 0; times <= LOOKUP_LIMIT; times += 1) await again(often);
      const digest = (of: Opening) => TEST_SEALS.digest(of.binding.callDigest);
      return { tasks, twice: digest(opening), often: digest(often) };
    })());
  const olivia = (
    name: string,
    path: string | ((of: Awaited<ReturnType<typeof records>>) => string),
    status = 200,
  ) => ({
    name,
    as: 'olivia',
    status,
    prepare: async () => {
      const of = await records();
      return typeof path === 'string' ? path : path(of);
    },
  });
  return [
    { name: 'without a sign-in', prepare: async () => '/outcome-records', refusals: [403] },
    { name: 'no auditor', as: 'alice', prepare: async () => '/outcome-records', status: 403 },
    { name: 'a sign-in that was not begun here', prepare: async () => '/oidc/callback?code=x', status: 400 },
    olivia('the list', '/'),
    olivia('a list with older ones', '/outcome-records?limit=1'),
    { ...olivia('a list with older and newer ones', '/outcome-records?limit=1'), arrive: toOlder },
    olivia('a list that is narrowed', '/outcome-records?tool=mail__send&state=executed&from=2020-01-01'),
    olivia('an instant in the address', '/outcome-records?from=2020-01-01T00:00:00Z'),
    olivia('a list without records', '/outcome-records?tool=none'),
    ...TERMINAL_STATES.map((state) =>
      olivia(`the record of a call: ${state}`, ({ tasks }) => `/outcome-records/by-task/${tasks.get(state)}`),
    ),
    olivia('records of one call', ({ twice }) => `/outcome-records/by-call/${twice}`),
    olivia('the newest records of one call', ({ often }) => `/outcome-records/by-call/${often}`),
    olivia('no such record', '/outcome-records/out_none', 404),
    olivia('no such page', '/nowhere', 404),
    olivia('what cannot be searched for', '/outcome-records?limit=0', 400),
  ];
}

async function toOlder(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Older records' }).click();
  await page.getByRole('link', { name: 'Newer records' }).waitFor();
}
