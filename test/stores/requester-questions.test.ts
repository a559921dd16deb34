import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type AccessRequestStore, createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createDelegationStore } from '../../apps/approvals/stores/delegation.store.ts';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import type {
  AnswerOutcome,
  NewAnswerOfRequester,
  NewQuestion,
  QuestionOutcome,
} from '../../apps/approvals/stores/requester-questions.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const ISSUER = 'https://idp.test';
let db: TestDatabase;
let store: AccessRequestStore;
const sessions = new Map<string, string>();
beforeAll(async () => {
  db = await createTestDatabase({ max: 30 });
  store = createAccessRequestStore(db.pool);
  for (const [name, issuer, expire] of [
    ['rita', ISSUER, '1 hour'],
    ['alice', ISSUER, '1 hour'],
    ['rita of another', 'https://other.test', '1 hour'],
    ['rita of yesterday', ISSUER, '-1 day'],
    ['an-agent', ISSUER, '1 hour'],
  ] as const) {
    const person = { issuer, subject: name.split(' ')[0], name, issuedAt: 1 };
    sessions.set(name, randomUUID());
    await db.pool.query(
      `INSERT INTO approvals.session (sid, sess, expire) VALUES ($1, $2, clock_timestamp() + $3::interval)`,
      [sessions.get(name), JSON.stringify({ person }), expire],
    );
  }
});
afterAll(() => db.drop());

/** A request of the agent of `rita`. */
const open = async (changes: Partial<NewAccessRequest> = {}) => {
  const request = newAccessRequest({
    stages: [aStage({ quorum: 2 })],
    requester: { issuer: ISSUER, subject: 'rita', clientId: 'an-agent' },
    parties: ['rita', 'an-agent'],
    ...changes,
  });
  await store.create(request);
  return request;
};
const by = (subject: string, chain: readonly string[] = []) => ({ issuer: ISSUER, subject, chain });
const ask = (requestId: string, changes: Partial<NewQuestion> = {}): Promise<QuestionOutcome> =>
  store.askRequester({
    ...{ requestId, by: by('alice'), delegationId: undefined, stage: 1, judgedStage: 1, number: 1 },
    ...{ question: 'Which ticket?', via: 'inbox', ...changes },
    approver: changes.approver ?? changes.by ?? by('alice'),
  });
const askedOf = async (subject: string) =>
  (await store.askedOf({ issuer: ISSUER, names: [subject] }, { limit: 100 })).rows;
const answer = (
  requestId: string,
  { as = 'rita', ...changes }: Partial<NewAnswerOfRequester> & { as?: string } = {},
): Promise<AnswerOutcome> =>
  store.answerAsRequester({
    ...{ requestId, number: 1, answer: 'Number 7', session: sessions.get(as) ?? 'none', ...changes },
  });

describe('a question to the requester', () => {
  it('stands with its answer in the request and its statement, and moves nothing', async () => {
    const { id } = await open();
    const before = await store.find(id);
    expect(await ask(id)).toBe('asked');
    expect(await askedOf('rita')).toMatchObject([{ id, questions: 1 }]);
    expect(await answer(id)).toBe('answered');
    const question = {
      ...{ by: { issuer: ISSUER, subject: 'alice' }, stage: 1, question: 'Which ticket?' },
      ...{ at: expect.stringMatching(/Z$/), answer: { text: 'Number 7', at: expect.stringMatching(/Z$/) } },
    };
    expect(await store.find(id)).toEqual({ ...before, questions: [{ ...question, number: 1 }] });
    expect((await store.statementsOf([id]))[0]?.questions).toEqual([{ ...question, via: 'inbox' }]);
    expect(await askedOf('rita')).toEqual([]);
  });

  it('asked or answered twice by the same form is there once, and no answer changes', async () => {
    const { id } = await open();
    const asked = await Promise.all(Array.from({ length: 10 }, () => ask(id)));
    expect(asked.toSorted()).toEqual(['asked', ...Array<string>(9).fill('repeated')]);
    expect(await ask(id, { question: 'Why today?' })).toBe('asked_before');
    expect(await ask(id, { number: 3 })).toBe('asked_before');
    const answers = await Promise.all(['one', 'two', 'one', 'two'].map((text) => answer(id, { answer: text })));
    expect(answers.toSorted()).toEqual(['answered', 'answered_before', 'answered_before', 'repeated']);
    await expect(db.pool.query('UPDATE approvals.requester_answer SET answer = $$x$$')).rejects.toMatchObject({
      code: 'CS002',
    });
    await expect(db.pool.query('DELETE FROM approvals.requester_question')).rejects.toMatchObject({ code: 'CS002' });
  });

  it('waits beside at most four others, also when many people ask at once', async () => {
    const { id } = await open();
    const people = Array.from({ length: 12 }, (_, n) => by(`person-${n}`));
    const outcomes = await Promise.all(people.map((person) => ask(id, { by: person })));
    expect(outcomes.filter((one) => one === 'asked')).toHaveLength(5);
    expect(outcomes.filter((one) => one === 'too_many_questions')).toHaveLength(7);
    for (let number = 1; number <= 16; number += 1) {
      expect(await answer(id, { number })).toBe('answered');
      expect(await ask(id, { number })).toBe(number <= 15 ? 'asked' : 'too_many_questions');
    }
  });

  it.each<[string, Partial<NewQuestion>, Partial<NewAccessRequest>, QuestionOutcome]>([
    ['by the requester', { by: by('rita') }, {}, 'own_request'],
    ['by a name behind the person', { by: by('carol', ['an-agent']) }, {}, 'own_request'],
    ['in the place of the requester', { by: by('carol'), approver: by('rita') }, {}, 'own_request'],
    ['in the place of another without a delegation', { by: by('carol'), approver: by('alice') }, {}, 'delegation_over'],
    ['by a person who has voted', { by: by('bob') }, {}, 'already_voted'],
    ['in a stage that is not open', { stage: 2 }, {}, 'stage_over'],
    ['for a stage that was not judged', { judgedStage: 2 }, {}, 'stage_over'],
    [
      'to a program that asks for itself',
      {},
      { requester: { issuer: ISSUER, subject: 'an-agent', clientId: 'an-agent' } },
      'no_person',
    ],
    [
      'to a person of no known issuer',
      {},
      { requester: { issuer: undefined, subject: 'rita', clientId: 'an-agent' } },
      'no_person',
    ],
  ])('%s is refused', async (_what, changes, request, outcome) => {
    const opened = await open(request);
    await store.castVote(newVote(opened, { approver: anApprover('bob') }));
    expect(await ask(opened.id, changes)).toBe(outcome);
    expect((await store.find(opened.id))?.questions).toBeUndefined();
  });

  it('can be asked in the place of an approver, while the delegation holds', async () => {
    const delegations = createDelegationStore(db.pool);
    const { id } = await open();
    const order = { id: 'dlg_q', requestId: id, delegator: anApprover('alice'), chain: [], delegate: 'dora' };
    await delegations.handOver({ ...order, stage: 1, judgedStage: 1, number: 1 });
    const inPlace = { by: by('dora'), approver: by('alice'), delegationId: 'dlg_q' };
    expect(await ask(id, inPlace)).toBe('asked');
    expect((await store.find(id))?.questions).toMatchObject([{ by: { subject: 'dora' }, onBehalfOf: 'alice' }]);
    expect(await ask((await open()).id, inPlace)).toBe('delegation_over');
    await delegations.revoke('dlg_q', 'alice');
    expect(await ask(id, { ...inPlace, number: 2 })).toBe('delegation_over');
  });

  it.each(['alice', 'rita of another', 'rita of yesterday', 'an-agent', 'a program'])(
    'is not answered by %s',
    async (as) => {
      const { id } = await open();
      await ask(id);
      expect(await answer(id, { as })).toBe('not_requester');
    },
  );

  it('is neither asked nor answered once the request has ended', async () => {
    const { id } = await open();
    await ask(id);
    await store.cancel(id, { note: { by: { client: 'mcp-gateway' } } });
    expect([await answer(id), await ask(id, { number: 2 })]).toEqual(['final', 'final']);
    expect([await answer('arq_none'), await ask('arq_none')]).toEqual(['not_found', 'not_found']);
    expect(await askedOf('rita')).not.toContainEqual(expect.objectContaining({ id }));
  });

  it('that there is not gets no answer, and all go with their request', async () => {
    const { id } = await open();
    expect(await answer(id)).toBe('no_question');
    await ask(id);
    await answer(id);
    await db.pool.query('DELETE FROM approvals.access_request WHERE id = $1', [id]);
    const left = await db.pool.query('SELECT FROM approvals.requester_answer WHERE access_request_id = $1', [id]);
    expect(left.rowCount).toBe(0);
  });

  it('at the same moment as the end of the request comes before it or not at all', async () => {
    const requests = await Promise.all(Array.from({ length: 15 }, () => open()));
    await Promise.all(requests.map(({ id }) => ask(id)));
    await Promise.all(
      requests.map(async ({ id }) => {
        const end = store.cancel(id, { note: { by: { client: 'mcp-gateway' } } });
        const [first, second] = await Promise.all([answer(id), ask(id, { number: 2 }), end]);
        expect(['answered', 'final']).toContain(first);
        expect(['asked', 'final']).toContain(second);
      }),
    );
    const late = await db.pool.query(`SELECT FROM approvals.access_request r
      JOIN approvals.requester_question q ON q.access_request_id = r.id LEFT JOIN approvals.requester_answer a USING (access_request_id, number)
      WHERE greatest(q.at, a.at) > r.ended_at`);
    expect(late.rowCount).toBe(0);
  });
});
