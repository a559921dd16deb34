import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createAccessRequestStore, type AccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createBreakGlassStore } from '../../apps/approvals/stores/break-glass.store.ts';
import { createDelegationStore } from '../../apps/approvals/stores/delegation.store.ts';
import type { NewAccessRequest, NewVote } from '../../apps/approvals/stores/new-rows.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const ISSUER = 'https://idp.test';
const RUNS_OUT = `now() + interval '1 hour'`;

interface SessionChanges {
  readonly issuer?: string;
  readonly subject?: string;
  readonly aliases?: readonly string[];
  /** Seconds since the sign-in. Undefined: the issuer did not say when. */
  readonly ago?: number | undefined;
  readonly expire?: string;
}

/** Votes past the checks of the service: what the database itself lets a requester do. */
describe('approvals.cast_vote, for the requester', () => {
  let db: TestDatabase;
  let store: AccessRequestStore;
  beforeAll(async () => {
    db = await createTestDatabase();
    store = createAccessRequestStore(db.pool);
  });
  afterAll(() => db.drop());

  const stageFor = (subjects: readonly string[], more: object = {}) =>
    aStage({ approvers: { requester: { issuer: ISSUER, subjects, freshSeconds: 300 } }, ...more });
  const byHer = stageFor(['alice']);

  async function open(changes: Partial<NewAccessRequest> = {}) {
    const requester = { issuer: ISSUER, subject: 'alice', clientId: 'host' };
    const request = newAccessRequest({ requester, parties: ['alice', 'host'], stages: [byHer], ...changes });
    await store.create(request);
    return request;
  }
  async function session(changes: SessionChanges = {}): Promise<{ readonly id: string }> {
    const { issuer = ISSUER, subject = 'alice', aliases, expire = RUNS_OUT } = changes;
    const { ago } = { ago: 10, ...changes };
    const at = Math.floor(Date.now() / 1_000);
    const signedInAt = ago === undefined ? {} : { signedInAt: at - ago };
    const person = { issuer, subject, name: subject, issuedAt: at, ...(aliases && { aliases }), ...signedInAt };
    const id = randomUUID();
    const text = `INSERT INTO approvals.session (sid, sess, expire) VALUES ($1, $2, ${expire})`;
    await db.pool.query(text, [id, JSON.stringify({ cookie: {}, person })]);
    return { id };
  }
  const votes = async (id: string) =>
    (await db.pool.query('SELECT as_requester, via FROM approvals.vote WHERE access_request_id = $1', [id])).rows;
  const status = async (id: string) => (await store.find(id))?.status;
  const byAlice = (request: NewAccessRequest, changes: Partial<NewVote>) =>
    store.castVote(newVote(request, { via: 'inbox', chain: [], actors: [], ...changes }));

  it('counts one confirmation, and remembers that it was the requester', async () => {
    const request = await open();
    expect(await byAlice(request, { session: await session() })).toBe('counted');
    expect(await votes(request.id)).toEqual([{ as_requester: true, via: 'inbox' }]);
    expect(await status(request.id)).toBe('approved');
    const [statement] = await store.statementsOf([request.id]);
    expect(statement?.votes).toMatchObject([{ approver: { subject: 'alice' }, as_requester: true, via: 'inbox' }]);
  });

  it('counts a denial of the requester', async () => {
    const request = await open();
    expect(await byAlice(request, { session: await session(), verdict: 'deny' })).toBe('counted');
    expect(await status(request.id)).toBe('denied');
  });

  it('counts the requester as one of two', async () => {
    const requester = { issuer: ISSUER, subjects: ['alice'], freshSeconds: 300 };
    const request = await open({ stages: [aStage({ approvers: { requester, people: ['bob'] }, quorum: 2 })] });
    expect(await byAlice(request, { session: await session() })).toBe('counted');
    expect(await byAlice(request, { session: await session() })).toBe('repeated');
    expect(await status(request.id)).toBe('pending');
    expect(await store.castVote(newVote(request, { approver: anApprover('bob'), via: 'inbox' }))).toBe('counted');
    expect(await votes(request.id)).toEqual([
      { as_requester: true, via: 'inbox' },
      { as_requester: false, via: 'inbox' },
    ]);
    expect(await status(request.id)).toBe('approved');
  });

  it('knows the requester by the claim by which policies identify people', async () => {
    const stages = [stageFor(['alice@example.com', 'pairwise-of-the-host'])];
    const parties = ['alice@example.com', 'pairwise-of-the-host', 'host'];
    const request = await open({ stages, parties });
    const [approver, aliases] = [anApprover('pairwise-of-the-pages'), ['alice@example.com']];
    const own = await session({ subject: 'pairwise-of-the-pages', aliases });
    expect(await byAlice(request, { approver, chain: aliases, session: own })).toBe('counted');
  });

  it.each<[string, Partial<NewVote>, SessionChanges | 'none' | 'made up', string]>([
    ['without a session', {}, 'none', 'own_request'],
    ['with the id of no session', {}, 'made up', 'own_request'],
    ['with a session that is over', {}, { expire: `now() - interval '1 second'` }, 'own_request'],
    ['with the session of another person', {}, { subject: 'bob' }, 'own_request'],
    ['with a session at another issuer', {}, { issuer: 'https://other.test' }, 'own_request'],
    ['as another issuer names her', { approver: anApprover('alice', [], 'https://other.test') }, {}, 'own_request'],
    ['with a program of hers', { via: 'api' }, {}, 'own_request'],
    ['with a supervising agent', { via: 'agent' }, {}, 'own_request'],
    ['with a signed message', { via: 'webhook' }, {}, 'own_request'],
    ['with a button in a chat', { via: 'slack' }, {}, 'own_request'],
    ['with the client that asked', { chain: ['host'] }, {}, 'own_request'],
    ['with an actor behind her', { actors: ['robot'] }, {}, 'own_request'],
    ['in the place of another', { standIn: { subject: 'bob', delegationId: 'dlg_x' } }, {}, 'own_request'],
    ['after a sign-in that is too old', {}, { ago: 301 }, 'sign_in_too_old'],
    ['after a sign-in of unknown age', {}, { ago: undefined }, 'sign_in_too_old'],
    ['about another call', { callDigest: 'sha-256:other' }, {}, 'mismatch'],
    ['about another stage', { stage: 2, judgedStage: 2 }, {}, 'stage_over'],
  ])('refuses her vote %s', async (_how, changes, of, outcome) => {
    const request = await open();
    const own = { none: undefined, 'made up': { id: 'a-made-up-session' } };
    const by = typeof of === 'string' ? own[of] : await session(of);
    expect(await byAlice(request, { session: by, ...changes })).toBe(outcome);
    expect([await status(request.id), await votes(request.id)]).toEqual(['pending', []]);
  });

  it.each<[string, Partial<NewAccessRequest>]>([
    ['does not name her', { stages: [aStage({ approvers: { people: ['alice'], roles: ['approver'] } })] }],
    ['names another requester', { stages: [stageFor(['bob'])] }],
    ['names her only later', { stages: [aStage(), { ...byHer, name: 'later' }] }],
  ])('refuses her vote where the open stage %s', async (_what, changes) => {
    const request = await open(changes);
    expect(await byAlice(request, { session: await session() })).toBe('own_request');
    expect([await status(request.id), await votes(request.id)]).toEqual(['pending', []]);
  });

  it('refuses a person whose other name is that of a party, such as the agent', async () => {
    const request = await open({ parties: ['alice', 'host', 'robot'] });
    const aliases = ['robot'];
    const own = await session({ aliases });
    expect(await byAlice(request, { chain: aliases, session: own })).toBe('own_request');
    expect(await votes(request.id)).toEqual([]);
  });

  it.each<[string, object, string]>([
    ['allows it', { chatDecisions: true }, 'counted'],
    ['does not', {}, 'not_in_chat'],
    ['allows it, and is for the requester', { ...byHer, chatDecisions: true }, 'not_in_chat'],
    ['allows it, and demands a passkey', { passkey: true, chatDecisions: true }, 'not_in_chat'],
  ])('counts a vote in a chat only if the stage allows it: the stage %s', async (_which, stage, outcome) => {
    for (const verdict of ['approve', 'deny'] as const) {
      const request = await open({ stages: [{ ...aStage(), ...stage }] });
      expect(await byAlice(request, { approver: anApprover('bob'), via: 'slack', verdict })).toBe(outcome);
      expect(await votes(request.id)).toHaveLength(outcome === 'counted' ? 1 : 0);
    }
  });

  it('refuses another person with their own session, and a stand-in of the requester', async () => {
    const request = await open();
    const bobs = await session({ subject: 'bob' });
    const delegations = createDelegationStore(db.pool);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const delegation = { id: 'dlg_1', delegator: anApprover('alice'), delegate: 'bob', until, chain: [] };
    expect(await delegations.add(delegation)).toBe('delegated');
    const standIn = { subject: 'bob', delegationId: 'dlg_1' };
    expect(await byAlice(request, { standIn, session: bobs })).toBe('own_request');
    expect(await byAlice(request, { approver: anApprover('bob'), session: bobs })).toBe('delegate_of_requester');
    expect(await votes(request.id)).toEqual([]);
  });

  it('leaves signed messages, resolvers and emergency grants without an exception', async () => {
    const request = await open({ stages: [{ ...byHer, automatic: 'alice' }] });
    const vote = newVote(request, { via: 'inbox', session: await session() });
    const message = { source: 'decisions', webhookId: randomUUID(), bodyDigest: 'sha-256:x' };
    expect(await store.acceptDecision(message, vote)).toBe('own_request');
    expect(await store.answerResolver({ ...vote, resolver: 'alice', stage: 1, verdict: 'approve' })).toBe(
      'not_eligible',
    );
    expect(await createBreakGlassStore(db.pool).breakGlass({ ...vote, reason: 'now' }, 60_000)).toBe('own_request');
    expect([await status(request.id), await votes(request.id)]).toEqual(['pending', []]);
  });

  it('refuses a row that says so of another channel, another voice or an actor', async () => {
    const request = await open();
    const row = (changes: string) =>
      db.pool.query(
        `INSERT INTO approvals.vote SELECT (jsonb_populate_record(NULL::approvals.vote, jsonb_build_object(
          'access_request_id', $1::text, 'stage', 1, 'counts_in', 0, 'approver_issuer', 'i', 'approver_subject', 'alice',
          'approver_roles', '[]'::jsonb, 'cast_by', 'alice', 'actors', '[]'::jsonb, 'as_requester', true, 'verdict', 'approve',
          'call_digest', 'd', 'via', 'inbox', 'at', now()) || $2::jsonb)).*`,
        [request.id, changes],
      );
    for (const changes of ['{"via":"api"}', '{"via":"webhook"}', '{"actors":["robot"]}']) {
      await expect(row(changes)).rejects.toMatchObject({ constraint: 'vote_as_requester' });
    }
  });
});
