import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aStage, newVote } from '../support/access-requests.ts';
import { startPacedRequests } from '../support/paced-requests.ts';
import { waitFor } from '../support/wait-for.ts';

const HOUR = 3_600;

describe('the workflow of an access request', () => {
  let world: Awaited<ReturnType<typeof startPacedRequests>>;
  beforeAll(async () => {
    world = await startPacedRequests();
  });
  afterAll(() => world?.stop());

  const statusOf = async (id: string) => (await world.store.find(id))?.status;
  const begin = async (changes: Parameters<typeof world.open>[0]) => {
    const request = await world.open(changes);
    await world.workflows.wake(request.id);
    return request;
  };
  const waiting = async (changes: Parameters<typeof world.open>[0]) => {
    const request = await begin(changes);
    await waitFor(() => world.waits(request.id));
    return request;
  };
  /** The row as it stands, with no deadline carried out by the look. */
  const row = async (id: string) =>
    (await world.db.pool.query('SELECT status, stage FROM approvals.access_request WHERE id = $1', [id])).rows[0];

  /** Lets an hour pass for the stage that is open. */
  const passHour = async (id: string) => {
    await world.db.pool.query(
      `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '1 hour',
         stage_ends_at = stage_ends_at - interval '1 hour' WHERE id = $1`,
      [id],
    );
    await world.workflows.wake(id);
  };

  it('is begun with the request where a stage has a pace of its own, and only there', async () => {
    const wakes = async (stages: Parameters<typeof aStage>[0][]) =>
      world.outbox((await world.open({ stages: stages.map((stage) => aStage(stage)) })).id);
    expect(await wakes([{}])).toEqual([]);
    expect(await wakes([{ remindAfterSeconds: [HOUR] }])).toEqual(['wake']);
    expect(await wakes([{}, { name: 'later', withinSeconds: HOUR }])).toEqual(['wake']);
  });

  it('reminds of the stage that is open, once each time, and denies at its end [ARAP-STS-05]', async () => {
    const { id } = await begin({ stages: [aStage({ remindAfterSeconds: [1, HOUR], withinSeconds: 2 * HOUR })] });
    const reminded = (count: number) => waitFor(async () => (await world.notices(id)).length === count);
    await reminded(1);
    await passHour(id);
    await reminded(2);
    await passHour(id);
    await world.handle(id).result();
    expect(await row(id)).toEqual({ status: 'denied', stage: 1 });
    expect(await world.notices(id)).toEqual([
      { event: 'reminder', stage: 1, number: 1 },
      { event: 'reminder', stage: 1, number: 2 },
    ]);
  });

  it('opens the next stage where one that escalates runs out of time, and reminds of that', async () => {
    const { id } = await begin({
      isNotified: true,
      stages: [
        aStage({ name: 'owner', withinSeconds: 1, then: 'escalate' }),
        aStage({ name: 'director', remindAfterSeconds: [1], withinSeconds: HOUR, onlyOnEscalation: true }),
      ],
    });
    await waitFor(async () => (await world.notices(id)).some(({ event }) => event === 'reminder'));
    await passHour(id);
    await world.handle(id).result();
    expect(await row(id)).toEqual({ status: 'denied', stage: 2 });
    expect(await world.notices(id)).toEqual([
      { event: 'opened', stage: 1, number: 1 },
      { event: 'escalated', stage: 2, number: 1 },
      { event: 'reminder', stage: 2, number: 1 },
      { event: 'ended', stage: 2, number: 1 },
    ]);
  });

  it('ends the request at its own deadline', async () => {
    const { id } = await begin({ requestTtlMs: 1_000, stages: [aStage({ remindAfterSeconds: [HOUR] })] });
    await world.handle(id).result();
    expect(await row(id)).toEqual({ status: 'expired', stage: 1 });
  });

  it('is woken by a vote that moves the request, and ends with it', async () => {
    const request = await waiting({ stages: [aStage({ withinSeconds: HOUR, quorum: 2 })] });
    const approver = (subject: string) => ({ issuer: 'https://idp.test', subject, roles: ['approver'] });
    await world.store.castVote(newVote(request));
    expect(await world.outbox(request.id)).toEqual(['wake']);
    await world.store.castVote(newVote(request, { approver: approver('bob') }));
    expect(await world.outbox(request.id)).toEqual(['wake', 'wake']);
    await world.workflows.wake(request.id);
    await world.handle(request.id).result();
    expect(await statusOf(request.id)).toBe('approved');
    // Whatever wakes it later finds nothing to do.
    await world.workflows.wake(request.id);
    expect((await world.handle(request.id).describe()).status.name).toBe('COMPLETED');
  });

  it('counts the time of a stage from its opening', async () => {
    const request = await waiting({
      stages: [aStage({ name: 'first', withinSeconds: HOUR }), aStage({ name: 'second', withinSeconds: 1 })],
    });
    await world.store.castVote(newVote(request));
    expect(await row(request.id)).toEqual({ status: 'pending', stage: 2 });
    await world.workflows.wake(request.id);
    await world.handle(request.id).result();
    expect(await row(request.id)).toEqual({ status: 'denied', stage: 2 });
  });

  it('notes a reminder once, however often and by how many at once its step is repeated', async () => {
    const { id } = await world.open({ stages: [aStage({ remindAfterSeconds: [HOUR, 1] })] });
    await waitFor(async () => {
      await Promise.all(Array.from({ length: 8 }, () => world.store.advance(id)));
      return (await world.notices(id)).length > 0;
    });
    await Promise.all(Array.from({ length: 20 }, () => world.store.advance(id)));
    expect(await world.notices(id)).toEqual([{ event: 'reminder', stage: 1, number: 1 }]);
    // The next one is an hour after the opening.
    expect((await world.store.advance(id)) ?? 0).toBeGreaterThan(0);
  });

  it('sends of the reminders that were missed the last one alone', async () => {
    const { id } = await world.open({ stages: [aStage({ remindAfterSeconds: [10, 20, 30, HOUR] })] });
    await world.db.pool.query(
      `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '1 minute' WHERE id = $1`,
      [id],
    );
    await world.store.advance(id);
    expect(await world.notices(id)).toEqual([{ event: 'reminder', stage: 1, number: 3 }]);
    expect((await world.store.find(id))?.remindedAt).toBeDefined();
  });

  it('goes on when its worker died, when it is cancelled, and from anew when it is terminated', async () => {
    const { id } = await waiting({ stages: [aStage({ withinSeconds: HOUR })] });
    await world.handle(id).cancel();
    await waitFor(async () => {
      const { events } = await world.handle(id).fetchHistory();
      return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
    });
    expect((await world.handle(id).describe()).status.name).toBe('RUNNING');
    await world.withoutWorker(() => world.handle(id).terminate());
    await passHour(id);
    await world.handle(id).result();
    expect(await row(id)).toEqual({ status: 'denied', stage: 1 });
  });

  it('ends at once for a request that is over, or gone', async () => {
    const request = await world.open({ stages: [aStage({ withinSeconds: HOUR })] });
    await world.store.cancel(request.id, { note: { by: { client: 'mcp-gateway' } } });
    for (const id of [request.id, 'arq_that_never_was']) {
      await world.workflows.wake(id);
      await world.handle(id).result();
    }
  });

  it('leaves nothing of the request in the history but its id', async () => {
    const { id } = await begin({
      subject: '{"id":"the-subject","type":"identity"}',
      context: '{"arguments":{"secret":"the-argument"}}',
      tool: 'the-tool',
      parties: ['the-party'],
      stages: [aStage({ name: 'the-stage', withinSeconds: 1 })],
    });
    await world.handle(id).result();
    const { events } = await world.handle(id).fetchHistory();
    const texts: string[] = [];
    JSON.stringify(events, (key, value: unknown) => {
      if (typeof value === 'string')
        texts.push(value, ...(key === 'data' ? [Buffer.from(value, 'base64').toString()] : []));
      return value;
    });
    const history = texts.join('\n');
    expect(history).toContain(`{"accessRequestId":"${id}"}`);
    expect(history).not.toMatch(/the-(subject|argument|tool|party|stage)/);
  });
});
