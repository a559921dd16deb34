import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startAskingResolvers } from '../../../apps/approvals/jobs/ask-resolvers.ts';
import { type AskResolver, createConsult } from '../../../apps/approvals/resolvers/resolvers.ts';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { EMPTY_DIRECTORY } from '../../../apps/shared/directory/directory.ts';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import { aStage, newAccessRequest, newVote } from '../../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { systemTime } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

const APPROVES = { verdict: 'approve', reason: undefined } as const;

describe('the job that asks automatic resolvers', () => {
  let db: TestDatabase;
  let store: ReturnType<typeof createAccessRequestStore>;
  let running: Running[];
  beforeEach(async () => {
    db = await createTestDatabase();
    store = createAccessRequestStore(db.pool);
    running = [];
  });
  afterEach(async () => {
    await Promise.all(running.map((one) => one.stop()));
    await db.drop();
  });

  /** One process of the service, with its resolver. */
  const start = async (risk: AskResolver, kept: Pick<typeof store, 'find' | 'answerResolver'> = store) => {
    const log = pino({ enabled: false });
    const resolvers = new Map([['risk', risk]]);
    const consult = createConsult({ store: kept, resolvers, people: () => EMPTY_DIRECTORY, log });
    const one = await startAskingResolvers({ ...systemTime, pool: db.pool, databaseUrl: db.url, consult, log });
    running.push(one);
    return one;
  };
  const open = async (...stages: Parameters<typeof aStage>[0][]) => {
    const request = newAccessRequest({ stages: stages.map((stage) => aStage(stage)) });
    await store.create(request);
    return request;
  };
  /** Records its questions, and returns this answer. */
  const noting = (asked: string[], answer: AskResolver): AskResolver => {
    return (question, stopping) => {
      asked.push(question.id);
      return answer(question, stopping);
    };
  };
  /** Answers once it is released, unless its process stops before. */
  const held = () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const ask: AskResolver = (_question, stopping) => {
      return new Promise((resolve, reject) => {
        void gate.then(() => resolve(APPROVES));
        stopping.addEventListener('abort', () => reject(stopping.reason as Error));
      });
    };
    return { ask, release };
  };
  const left = async () => (await db.pool.query('SELECT FROM approvals.question_outbox')).rowCount;
  const isDone = () => waitFor(async () => (await left()) === 0);
  const endLeases = () => db.pool.query('UPDATE approvals.question_outbox SET available_at = clock_timestamp()');
  const approvedOnce = { status: 'approved', votes: [{ via: 'automatic' }], answers: [{ verdict: 'approve' }] };

  it('asks each question once across several processes', async () => {
    const asked: string[] = [];
    const ask = noting(asked, async () => APPROVES);
    await Promise.all([start(ask), start(ask), start(ask)]);
    const requests = await Promise.all(Array.from({ length: 30 }, () => open({ automatic: 'risk' })));
    await isDone();
    expect(asked.toSorted()).toEqual(requests.map(({ id }) => `msg_${id}_1_question`).toSorted());
    for (const { id } of requests) expect(await store.find(id)).toMatchObject(approvedOnce);
  });

  it('asks again in the same words when another process does not finish, and counts one answer', async () => {
    const { ask, release } = held();
    const first: string[] = [];
    const second: string[] = [];
    await start(noting(first, ask));
    const { id } = await open({ automatic: 'risk' });
    await waitFor(() => first.length === 1);
    await start(noting(second, async () => APPROVES));
    // While the lease lasts, the question belongs to the process that holds it.
    await open({ automatic: 'risk' });
    await waitFor(() => first.length + second.length === 2);
    expect([...first, ...second].filter((question) => question.includes(id))).toHaveLength(1);
    await endLeases();
    await db.pool.query("SELECT pg_notify('approvals_outbox', '')");
    // Either process may take the question now.
    const words = () => [...first, ...second].filter((question) => question.includes(id));
    await waitFor(() => words().length > 1);
    release();
    await isDone();
    expect(new Set(words())).toEqual(new Set([`msg_${id}_1_question`]));
    expect(await store.find(id)).toMatchObject(approvedOnce);
  });

  it('gives up a question when it stops, and leaves it to another process', async () => {
    const asked: string[] = [];
    const first = await start(noting(asked, held().ask));
    const { id } = await open({ automatic: 'risk' });
    await waitFor(() => asked.length === 1);
    await first.stop();
    running = [];
    expect([(await store.find(id))?.answers, await left()]).toEqual([[], 1]);
    await start(noting(asked, async () => APPROVES));
    await isDone();
    expect(asked).toHaveLength(2);
    expect(await store.find(id)).toMatchObject(approvedOnce);
  });

  it('asks again when the answer could not be kept', async () => {
    const asked: string[] = [];
    let failures = 1;
    const answerResolver: typeof store.answerResolver = async (answer) => {
      if ((failures -= 1) >= 0) throw new Error('the database is away');
      return store.answerResolver(answer);
    };
    await start(
      noting(asked, async () => APPROVES),
      { ...store, answerResolver },
    );
    const { id } = await open({ automatic: 'risk' });
    await isDone();
    expect(asked).toEqual([`msg_${id}_1_question`, `msg_${id}_1_question`]);
    expect(await store.find(id)).toMatchObject(approvedOnce);
  });

  it('asks no question for an ended or deleted request, or for an ended stage', async () => {
    const asked: string[] = [];
    const cancelled = await open({ automatic: 'risk' });
    await store.cancel(cancelled.id, { note: { by: { client: 'mcp-gateway' } } });
    const expired = newAccessRequest({ stages: [aStage({ automatic: 'risk' })], requestTtlMs: 1 });
    await store.create(expired);
    const goesOn = await open({ name: 'first', automatic: 'risk' }, { name: 'second', automatic: 'risk', quorum: 2 });
    await store.castVote(newVote(goesOn));
    await db.pool.query(
      "INSERT INTO approvals.question_outbox (kind, subject_id) VALUES ('question', 'arq_that_never_was/1')",
    );
    expect(await left()).toBe(5);
    const { ask, release } = held();
    await start(noting(asked, ask));
    await waitFor(async () => (await left()) === 1 || asked.length > 1);
    release();
    await isDone();
    expect(asked).toEqual([`msg_${goesOn.id}_2_question`]);
    expect((await store.find(expired.id))?.status).toBe('expired');
  });

  it('counts no answer that comes after the end', async () => {
    const { ask, release } = held();
    const asked: string[] = [];
    await start(noting(asked, ask));
    const { id } = await open({ automatic: 'risk' });
    await waitFor(() => asked.length === 1);
    await store.cancel(id, { note: { by: { client: 'mcp-gateway' } } });
    release();
    await isDone();
    expect(await store.find(id)).toMatchObject({ status: 'cancelled', votes: [] });
    const kept = await db.pool.query('SELECT verdict, outcome FROM approvals.resolver_answer');
    expect(kept.rows).toEqual([{ verdict: 'approve', outcome: 'final' }]);
  });
});
