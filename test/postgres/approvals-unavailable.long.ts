import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { ApprovalsUnderTest } from '../support/approvals.ts';
import type { Browser } from '../support/browser.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { withOperator } from '../support/postgres-faults.ts';
import { patiently, untilAnswered } from '../support/wait-for.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const postgres = new OwnPostgres();
const service = new ApprovalsUnderTest();
let databaseUrl: string;
let page: Browser;
let request: Awaited<ReturnType<typeof service.open>>;

beforeAll(async () => {
  // These are tests of the limits on waiting for a connection.
  await service.start({}, 1);
  databaseUrl = await postgres.start();
  service.database = { ...service.database, url: databaseUrl };
  await service.restart();
  page = await service.signIn('alice');
  request = await service.open();
});
afterAll(async () => {
  await service.stop();
  await postgres.stop();
});

/** Every entry point of the service, and its answer. */
async function everyDoor(): Promise<Record<string, { status: number; type: string; retryAfter: string | null }>> {
  const body = await service.submission();
  const doors = {
    submission: () => service.submit(body, { 'idempotency-key': randomUUID() }),
    look: () => service.status(request.id),
    cancellation: () => service.asGateway(`/access/v1/requests/${request.id}/cancel`, { method: 'POST' }),
    list: () => service.asPerson('alice', '/requests'),
    vote: () => service.vote('alice', request, 'deny'),
    'signed decision': () => service.voteByWebhook('alice', request, 'deny'),
    delegations: () => service.asPerson('alice', '/delegations'),
    page: () => page.go('/requests'),
  };
  const asked = Object.entries(doors).map(async ([name, ask]) => {
    const { status, headers } = await ask();
    const type = headers.get('content-type')?.split(';')[0] ?? '';
    return [name, { status, type, retryAfter: headers.get('retry-after') }] as const;
  });
  return Object.fromEntries(await Promise.all(asked));
}

const PROGRAMS = { status: 503, type: 'application/problem+json', retryAfter: '5' };
const ALL_AWAY = {
  ...{ submission: PROGRAMS, look: PROGRAMS, cancellation: PROGRAMS, list: PROGRAMS, vote: PROGRAMS },
  ...{ 'signed decision': PROGRAMS, delegations: PROGRAMS, page: { ...PROGRAMS, type: 'text/html' } },
};

describe('the access request service without its database', () => {
  it('tells every caller to try again, and goes on where it was when the server is back [ARAP-ERR-01]', async () => {
    await postgres.crash();
    expect(await everyDoor()).toEqual(ALL_AWAY);
    expect((await service.status(request.id)).body).toEqual({
      ...{ type: 'about:blank', status: 503, title: 'Temporarily unavailable; try again' },
      detail: 'the database cannot be reached',
    });
    await postgres.startAsItIs();
    const back = await patiently(async () => {
      const { status, body } = await service.status(request.id);
      return status === 200 ? body.task : undefined;
    });
    expect(back).toMatchObject({ id: request.id, status: 'pending' });
    const unknown = await untilAnswered(() => service.status('unknown'));
    expect(unknown.body.type).toBe(`${URN}unknown_task`);
  });

  it('gives the same answer to callers without a connection, and serves them as soon as there is one', async () => {
    await withOperator(databaseUrl, async (operator) => {
      await operator.query('BEGIN; LOCK TABLE approvals.access_request IN ACCESS EXCLUSIVE MODE');
      const answers = await Promise.all(Array.from({ length: 60 }, () => service.status(request.id)));
      expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`))).toEqual(
        new Set(['503 5']),
      );
      await operator.query('ROLLBACK');
    });
    expect((await untilAnswered(() => service.status(request.id))).status).toBe(200);
  });
});
