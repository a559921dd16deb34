import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AccessRequestStatus } from '../../../workflows/domain/access-request/access-request.ts';
import { bundleStatus } from '../../../workflows/domain/access-request/statement.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { openBundle } from '../../support/bundles.ts';
import { inParallel } from '../../support/regime.ts';
import { untilAnswered, waitFor } from '../../support/wait-for.ts';

const BUNDLES = 12;
const AT_ONCE = 3;

interface Shown {
  readonly status: string;
  readonly items: readonly { readonly status: AccessRequestStatus; readonly result?: unknown }[];
}

const service = new ApprovalsUnderTest();
beforeAll(() => service.start({ approvals: { bulk: {} } }));
afterAll(() => service.stop());

const shown = async (id: string) => (await untilAnswered(() => service.status(id))).body.task as Shown;

/**
 * One approver approves all items, another denies them in reverse order, and the client cancels the bundle, at once or after the
 * first counted vote. Meanwhile a client polls it.
 */
async function race(isAtOnce: boolean) {
  const callback = { endpoint: `${service.config.urls.gateway}/callbacks/access-requests` };
  const { id, items } = await openBundle(service, 3, { callback });
  const voting = [
    ...items.map((item) => untilAnswered(() => service.vote('alice', item, 'approve'))),
    ...[...items].reverse().map((item) => untilAnswered(() => service.vote('bob', item, 'deny'))),
  ];
  const cancel = () => untilAnswered(() => service.asGateway(`/access/v1/requests/${id}/cancel`, { method: 'POST' }));
  const [looks, votes, cancelled] = await Promise.all([
    Promise.all([shown(id), shown(id), shown(id)]),
    Promise.all(voting),
    isAtOnce ? cancel() : Promise.race(voting).then(cancel),
  ]);
  return {
    id,
    looks: [...looks, await shown(id)],
    answers: votes.map(({ status }) => status),
    cancelled: cancelled.status,
  };
}

it('two approvers and a cancellation at the same time leave no contradiction [ARAP-BLK-06] [ARAP-CAN-09] [ARAP-STS-04]', async () => {
  const races: Awaited<ReturnType<typeof race>>[] = [];
  const another = async () => void races.push(await race(races.length % 3 === 0));
  await inParallel(BUNDLES, AT_ONCE, another);
  // Cancellations must succeed, fail and succeed partly: otherwise there was no race.
  const ends = () => new Set(races.map(({ looks }) => looks.at(-1)?.status));
  const wasRace = () => ends().size > 1 && races.some(({ cancelled }) => cancelled === 200);
  await waitFor(async () => wasRace() || (await another()));
  await waitFor(async () => (await service.database.pool.query('SELECT FROM approvals.outbox')).rowCount === 0);
  for (const { id, looks, answers, cancelled } of races) {
    for (const { status, items } of looks) {
      expect(status).toBe(bundleStatus(items.map((item) => item.status)));
      for (const item of items) expect('result' in item).toBe(item.status === 'approved');
    }
    const end = looks.at(-1);
    expect(end?.status).not.toBe('pending');
    // A successful cancellation cancelled at least one item, and a late one cancelled none.
    expect(cancelled === 200).toBe(end?.items.some(({ status }) => status === 'cancelled'));
    expect([200, 409]).toContain(cancelled);
    expect(answers.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    const counted = end?.items.filter(({ status }) => status !== 'cancelled').length;
    expect(answers.filter((status) => status === 200)).toHaveLength(counted ?? -1);
    const told = service.callbacks
      .filter(({ body }) => body.includes(id))
      .map(({ body }) => JSON.parse(body) as unknown);
    expect(told).toMatchObject([{ task: { id, status: end?.status } }]);
  }
});

it('two last items that end at the same moment cause one notification [ARAP-CB-05]', async () => {
  const callback = { endpoint: `${service.config.urls.gateway}/callbacks/access-requests` };
  const { id, items } = await openBundle(service, 2, { callback });
  const [one, other] = await Promise.all([service.database.pool.connect(), service.database.pool.connect()]);
  const end = (client: typeof one, at: number) =>
    client.query('SELECT approvals.cancel_access_request($1, NULL, $2)', [items[at]?.id, '{}']);
  try {
    await Promise.all([one.query('BEGIN'), other.query('BEGIN')]);
    await end(one, 0);
    let isOver = false;
    const second = end(other, 1).finally(() => (isOver = true));
    // It waits for the first, or it never waits.
    await waitFor(
      async () => isOver || (await service.database.pool.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount,
    );
    await one.query('COMMIT');
    await second;
    await other.query('COMMIT');
  } finally {
    one.release();
    other.release();
  }
  await waitFor(async () => (await service.database.pool.query('SELECT FROM approvals.outbox')).rowCount === 0);
  expect(service.callbacks.filter(({ body }) => body.includes(id))).toHaveLength(1);
});
