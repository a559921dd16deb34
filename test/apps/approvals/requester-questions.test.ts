import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { AROUND_OWNERS, ofOwners } from '../../support/owners.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { ofPerson } from '../../support/submissions.ts';
import { waitFor } from '../../support/wait-for.ts';

const templates = {
  one: ofOwners(['alice']),
  two: ofOwners(['alice', 'bob'], 2),
  own: { stages: [{ name: 'own', approvers: { requester: true, people: ['alice'] } }] },
};
const QUESTION = 'Is <b>ticket 7</b> the reason?';
const ANSWER = 'It is, and \u202enothing else';

describe('a question to the requester', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { templates, channels: {} }, identity: AROUND_OWNERS }));
  afterAll(() => service.stop());

  const open = (template: keyof typeof templates = 'one', person = 'rita') =>
    service.open({ ...ofPerson(service.config.urls.issuer, { person, agent: 'a-host' }), claims: { template } });
  const post = (name: string, id: string, what: 'questions' | 'answers', body: object = {}) =>
    service.asPerson(name, `/requests/${id}/${what}`, { method: 'POST', body: JSON.stringify(body) });
  const ask = (name: string, id: string, more: object = {}) =>
    post(name, id, 'questions', { question: QUESTION, stage: 1, number: 1, ...more });
  /** What a person was told about a request, the latest first. */
  const told = async (person: string, { id }: { id: string }) => {
    const answer = await service.asPerson('alice', `/mailbox?person=${person}`, {
      headers: { accept: 'application/json' },
    });
    const messages = answer.body.messages as { link: string; outcome?: string }[];
    return messages.filter(({ link }) => link.endsWith(id));
  };

  it('is asked, told, answered and shown in browsers, and messages hold neither text', async () => {
    const request = await open();
    await waitFor(async () => (await told('alice', request)).length === 1);
    const [alice, rita] = [await service.signIn('alice'), await service.signIn('rita')];
    const path = `/requests/${request.id}`;
    const page = await (await alice.go(path)).text();
    expect(page).toContain('Ask the requester');
    expect(await (await rita.go(path)).text()).not.toContain('Ask the requester');
    const form = { csrfToken: csrfTokenIn(page), stage: '1', number: '1', question: QUESTION };
    expect((await alice.go(`${path}/questions`, { ...form, csrfToken: 'of another' })).status).toBe(403);
    const sent = [await alice.go(`${path}/questions`, form), await alice.go(`${path}/questions`, form)];
    expect(sent.map(({ status }) => status)).toEqual([303, 303]);
    await waitFor(async () => (await told('rita', request)).length === 1);

    const list = await (await rita.go('/requests?status=yours')).text();
    expect(list).toContain('Approvers ask you about your own requests: 1');
    expect(list).toContain(`href="${path}#questions"`);
    expect(await (await alice.go('/requests?status=yours')).text()).not.toContain('Approvers ask you');
    const asked = await (await rita.go(path)).text();
    expect(asked).toContain('Questions to you');
    expect(asked).not.toContain('<b>ticket 7</b>');
    const csrfToken = csrfTokenIn(asked);
    expect((await alice.go(`${path}/answers`, { ...form, answer: 'mine' })).status).toBe(403);
    expect((await rita.go(`${path}/answers`, { csrfToken, number: '1', answer: ' ' })).status).toBe(400);
    expect((await rita.go(`${path}/answers`, { csrfToken, number: '1', answer: ANSWER })).status).toBe(303);
    const shown = await (await alice.go(path)).text();
    expect(shown).toContain('The requester');
    expect(shown).not.toContain('\u202e');
    expect(await (await rita.go(path)).text()).not.toContain('Your answer');
    await waitFor(
      async () => (await told('alice', request)).length === 2 && (await told('rita', request)).length === 2,
    );
    const [latest] = await told('rita', request);
    expect(latest?.outcome).toBe('You answered. The request still waits for its approvers.');
    const all = JSON.stringify([...(await told('alice', request)), ...(await told('rita', request))]);
    expect(all).toContain('the requester answered 1 of 1');
    expect(all).toContain('An approver asks you about your request');
    expect(all).not.toMatch(/ticket|nothing else/);
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
    expect((await ask('alice', request.id, { number: 2 })).body.title).toBe('This request has ended');
  });

  it('is answered by no token, not even by one of the requester', async () => {
    const { id } = await open();
    expect((await ask('alice', id)).body.request).toMatchObject({ questions: [{ question: QUESTION }], question: 2 });
    expect((await service.asPerson('rita', '/requests')).body.questions).toMatchObject([{ id, questions: 1 }]);
    expect((await service.asPerson('rita', `/requests/${id}`)).body.request.mayAnswer).toBe(false);
    const answer = await post('rita', id, 'answers', { number: 1, answer: 'yes' });
    expect([answer.status, answer.body.title]).toEqual([403, 'Only the requester answers']);
  });

  it('is not asked by a requester who may confirm', async () => {
    const request = await open('own');
    const rita = await service.signIn('rita');
    const page = await (await rita.go(`/requests/${request.id}`)).text();
    expect(page).not.toContain('Ask the requester');
    const form = { csrfToken: csrfTokenIn(page), stage: '1', number: '1', question: QUESTION };
    expect((await rita.go(`/requests/${request.id}/questions`, form)).status).toBe(403);
  });

  it('keeps the typed text when it is refused', async () => {
    const request = await open('two');
    const alice = await service.signIn('alice');
    const csrfToken = csrfTokenIn(await (await alice.go(`/requests/${request.id}`)).text());
    const form = { csrfToken, stage: '1', number: '2', question: 'typed for long' };
    const refused = await alice.go(`/requests/${request.id}/questions`, form);
    expect([refused.status, (await refused.text()).includes('typed for long</textarea>')]).toEqual([409, true]);
  });

  it.each<[string, { readonly by?: string; readonly more?: object }, number, string]>([
    ['a person of no stage', { by: 'dora' }, 404, 'There is no such request'],
    ['an overseer', { by: 'olga' }, 403, 'You cannot decide this request'],
    ['a supervising agent', { by: 'sage' }, 403, 'Only people can do this'],
    ['the requester', { by: 'rita' }, 403, 'You requested this yourself'],
    ['no words', { more: { question: ' \n' } }, 400, 'The question is empty'],
    ['too many words', { more: { question: 'x'.repeat(2_001) } }, 400, 'The question is not complete'],
    ['a stage that is not open', { more: { stage: 2 } }, 409, 'The stage that you looked at has ended'],
  ])('is refused to or with %s', async (_what, { by = 'alice', more }, status, title) => {
    const answer = await ask(by, (await open()).id, more);
    expect([answer.status, answer.body.title]).toEqual([status, title]);
  });

  it('is refused to a person who has voted, and where no person asked', async () => {
    const [voted, ofProgram] = [await open('two'), await service.open({ claims: { template: 'one' } })];
    await service.vote('bob', voted, 'approve');
    expect((await ask('bob', voted.id)).body.title).toBe('You have already decided this');
    expect((await ask('alice', ofProgram.id)).body.title).toBe('There is no person to ask');
  });
});
