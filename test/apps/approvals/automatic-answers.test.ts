import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createConsult } from '../../../apps/approvals/resolvers/resolvers.ts';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { EMPTY_DIRECTORY } from '../../../apps/shared/directory/directory.ts';
import { aStage, anApprover, newAccessRequest, newVote } from '../../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database!: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe('an answer of an automatic resolver', () => {
  const store = () => createAccessRequestStore(database.pool);
  const given = async (changes: object = {}) => {
    const request = newAccessRequest({ stages: [aStage({ automatic: 'risk' })], ...changes });
    await store().create(request);
    return request;
  };
  const risk = { issuer: 'urn:countersign:resolvers', subject: 'automatic:risk', roles: [] };
  const answer = (request: { id: string; callDigest: string }, changes: object = {}) =>
    store().answerResolver({
      ...newVote(request),
      ...{ approver: risk, via: 'automatic', verdict: 'approve', resolver: 'risk', stage: 1 },
      ...changes,
    });
  const consult = (kept: ReturnType<typeof store>, ask: () => Promise<{ verdict: 'approve'; reason: undefined }>) =>
    createConsult({
      ...{ store: kept, people: () => EMPTY_DIRECTORY, log: pino({ enabled: false }) },
      resolvers: new Map([['risk', ask]]),
    });

  it('is asked for again in the same words after a loss, and counts once', async () => {
    const { id } = await given();
    const asked = { requestId: id, stage: 1 };
    const { signal } = new AbortController();
    const questions: unknown[] = [];
    const ask = async (...question: unknown[]) => {
      questions.push(question);
      return { verdict: 'approve', reason: undefined } as const;
    };
    const failing = { ...store(), answerResolver: () => Promise.reject(new Error('the database is away')) };
    await expect(consult(failing, ask)(asked, signal)).rejects.toThrow('away');
    const twice = [consult(store(), ask)(asked, signal), consult(store(), ask)(asked, signal)];
    await Promise.all(twice);
    await consult(store(), ask)(asked, signal);
    expect(questions.length).toBeGreaterThanOrEqual(2);
    expect(new Set(questions.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await store().find(id)).toMatchObject({
      status: 'approved',
      votes: [{ via: 'automatic' }],
      answers: [{}],
    });
  });

  it.each([
    ['about another call', { callDigest: 'sha-256:other' }, 'mismatch'],
    ['about another generation', { generation: 2 }, 'mismatch'],
    ['by another resolver', { resolver: 'other', approver: { ...risk, subject: 'automatic:other' } }, 'not_eligible'],
    ['in the name of a person', { approver: anApprover('alice') }, 'not_eligible'],
  ])('is refused when it is %s', async (_name, changes, outcome) => {
    const request = await given();
    expect(await answer(request, changes)).toBe(outcome);
    expect(await store().find(request.id)).toMatchObject({ status: 'pending', votes: [] });
  });

  it('is refused after the end of the request or of the stage', async () => {
    for (const verdict of ['approve', 'abstain']) {
      const over = await given();
      await store().castVote(newVote(over, { verdict: 'deny' }));
      expect(await answer(over, { verdict })).toBe('final');
      expect(await answer(over, { verdict })).toBe('repeated');
    }
    const late = await given({ stages: [aStage({ automatic: 'risk' }), aStage({ name: 'b' })] });
    await store().castVote(newVote(late));
    expect(await answer(late)).toBe('stage_over');
    expect((await store().find(late.id))?.votes).toHaveLength(1);
  });
  it('is refused when the resolver is a party to the call', async () => {
    const request = await given({ parties: ['agent', 'automatic:risk'] });
    expect(await answer(request)).toBe('own_request');
    expect((await store().find(request.id))?.status).toBe('pending');
  });
});
