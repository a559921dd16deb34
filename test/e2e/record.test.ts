import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import { signInTo } from '../support/signing-in.ts';
import { startRecordedCalls, type RecordedCalls, type Template } from '../support/recorded-calls.ts';
import { describeShownRecords } from '../support/shown-records.ts';

let world: RecordedCalls;
beforeAll(async () => void (world = await startRecordedCalls()));
afterAll(() => world?.stop());

const REASON = 'canary-reason of an approver';
const example = (name: string) => ({ subject: name, name: `${name[0]?.toUpperCase()}${name.slice(1)} Example` });

/** The record of a request, for any resolution. */
async function recordOf(taskId: string, template: Template) {
  const record = await world.record(taskId);
  const { issuer } = world.urls;
  expect(record).toMatchObject({ sealIntact: true, answers: { contradictions: [] } });
  // The seal covers the whole text, which names no person in clear.
  const { seal } = record;
  expect(`sha-256:${createHash('sha256').update(seal.text).digest('hex')}`).toBe(seal.recorded);
  expect(seal.text).not.toMatch(/Example|canary-reason/);
  const [first, last] = [record.record.decisions[0], record.record.decisions.at(-1)];
  for (const decision of [first, last]) {
    expect(decision).toMatchObject({
      policyVersion: expect.stringMatching(/^sha-256:[0-9a-f]{64}$/),
      policies: [`ask-${template}`],
    });
    expect(seal.text).toContain(decision.policyVersion);
  }
  const [request] = record.record.accessRequests;
  for (const { approver, via } of request.statement?.votes ?? []) {
    expect(approver.issuer).toBe(via === 'automatic' ? 'urn:countersign:resolvers' : issuer);
  }
  return { record, request, statement: request.statement, decided: record.answers.whoDecided };
}

describe('the record of a call', () => {
  it('names the approver, reason, way, time and template, and the policies of both decisions', async () => {
    const { taskId, request } = await world.held('one');
    await world.vote('alice', request, 'approve', { reason: REASON });
    const { record, statement, decided } = await recordOf(taskId, 'one');
    expect(record.headline).toBe('The tool ran once.');
    expect(statement).toMatchObject({
      kind: 'stated',
      status: 'approved',
      template: 'one',
      stages: [{ name: 'any', quorum: 1 }],
    });
    expect(statement.votes).toEqual([
      {
        approver: { issuer: world.urls.issuer, ...example('alice') },
        ...{ verdict: 'approve', reason: REASON, via: 'api', stage: 1 },
        at: expect.stringMatching(/^\d{4}-.*\d{6}Z$/),
      },
    ]);
    expect(statement.votes[0].at < record.record.claim.claimedAt).toBe(true);
    expect(decided).toMatchObject({ by: 'approvers', people: [example('alice')] });
    // A permit that gets older than five seconds before the claim is there, and the next one too.
    const kinds = record.record.decisions.map(({ kind }: { kind: string }) => kind);
    expect([kinds[0], new Set(kinds.slice(1))]).toEqual(['requestable', new Set(['allow'])]);
  });

  it('has the signature of a passkey, which the record alone proves, and neither the call nor its plain digest', async () => {
    const { taskId, request } = await world.held('signed');
    const { origin } = await world.voteWithPasskey('alice', request);
    const { record, request: asked, statement } = await recordOf(taskId, 'signed');
    const [{ passkey }] = statement.votes;
    const { credentialId: id, publicKey, challenge, ...response } = passkey;
    const { verified } = await verifyAuthenticationResponse({
      response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response },
      expectedChallenge: createHash('sha256').update(challenge).digest('base64url'),
      ...{ expectedOrigin: origin, expectedRPID: 'localhost' },
      credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
    });
    expect(verified).toBe(true);
    expect(JSON.parse(challenge)).toMatchObject({
      ...{ type: 'countersign/vote', verdict: 'approve', approver: 'alice', signer: 'alice' },
      ...{ request: asked.accessRequestId, generation: asked.generation, stage: 1 },
    });
    expect(JSON.stringify(record)).not.toMatch(new RegExp(`${request.callDigest}|nonce`));
  });

  it('names the requester by every name, and all who acted for the requester', async () => {
    const [agent, planner] = [
      { client_id: 'desk', azp: 'host' },
      { sub: 'planner', act: { sub: 'bot', client_id: 'app' } },
    ];
    const { taskId, request } = await world.held('one', { sub: 'rita', ...agent, act: planner });
    await world.vote('alice', request, 'deny');
    const { record } = await recordOf(taskId, 'one');
    const { issuer } = world.urls;
    expect(record.record.requester).toEqual({
      ...{ issuer, subject: 'rita', clientId: 'desk', aliases: ['host'] },
      actors: [{ subject: 'planner' }, { subject: 'bot', clientId: 'app' }],
    });
    expect(record.seal.text).not.toMatch(/rita|planner/);
  });

  it('names the signed message, the supervising agent, and the approver in the inbox', async () => {
    const [messaged, overseen, seen] = [await world.held('one'), await world.held('overseen'), await world.held('one')];
    await world.voteInInbox('carol', seen.request, REASON);
    expect((await recordOf(seen.taskId, 'one')).statement.votes).toMatchObject([
      { approver: example('carol'), via: 'inbox', reason: REASON },
    ]);
    await world.voteByWebhook('bob', messaged.request, REASON);
    await world.vote('overseer', overseen.request, 'approve', { reason: REASON });
    const [byMessage, byAgent] = [await recordOf(messaged.taskId, 'one'), await recordOf(overseen.taskId, 'overseen')];
    expect(byMessage.statement.votes).toMatchObject([{ approver: example('bob'), via: 'webhook', reason: REASON }]);
    expect(byAgent.statement.votes).toMatchObject([
      { approver: { subject: 'overseer' }, via: 'agent', reason: REASON },
    ]);
  });

  it('says that the requester confirmed what their own agent asked for', async () => {
    const { taskId, request } = await world.held('own', { sub: 'carol', client_id: 'desk', azp: 'host' });
    await expect(world.vote('carol', request, 'approve')).rejects.toThrow('You requested this yourself');
    await world.voteInInbox('carol', request, REASON);
    const { record, statement } = await recordOf(taskId, 'own');
    expect(record.headline).toBe('The tool ran once.');
    expect(statement.votes).toMatchObject([{ approver: example('carol'), asRequester: true, via: 'inbox' }]);
    const { site } = await signInTo({ site: world.urls.audit, issuer: world.urls.issuer }, 'olivia');
    const page = await (await site.follow(await site.go(`/outcome-records/by-task/${taskId}`))).text();
    expect(page.replaceAll(/<[^>]*>/g, '')).toMatch(/Carol Example.*\(the requester\) confirmed/s);
  });

  it('shows which approvals of a quorum count and which have lapsed', async () => {
    const { taskId, request } = await world.held('three');
    for (const name of ['alice', 'bob']) await world.vote(name, request, 'approve');
    await world.keepers('bob', 'carol', 'dora');
    await world.vote('carol', request, 'approve');
    await world.vote('dora', request, 'approve');
    // A person who returns to the group did not approve this one.
    await world.keepers('alice', 'bob', 'carol', 'dora');
    const { statement, decided } = await recordOf(taskId, 'three');
    expect(
      statement.votes.map((one: { approver: object; hasLapsed?: true }) => [one.approver, one.hasLapsed]),
    ).toMatchObject([
      [example('alice'), true],
      [example('bob'), undefined],
      [example('carol'), undefined],
      [example('dora'), undefined],
    ]);
    expect(decided).toMatchObject({ by: 'approvers', people: ['bob', 'carol', 'dora'].map(example) });
  });

  it('names the stages in their order, and the stand-ins', async () => {
    await world.delegate('alice', 'dora');
    const { taskId, request } = await world.held('turns');
    await world.vote('dora', request, 'approve', { onBehalfOf: 'alice', reason: REASON });
    await world.vote('carol', request, 'approve');
    const { statement, decided } = await recordOf(taskId, 'turns');
    expect(statement.votes).toMatchObject([
      {
        approver: example('alice'),
        castBy: { issuer: world.urls.issuer, ...example('dora') },
        stage: 1,
        reason: REASON,
      },
      { approver: example('carol'), stage: 2 },
    ]);
    expect(statement.stages.map(({ name }: { name: string }) => name)).toEqual(['first', 'second']);
    expect(decided.people).toMatchObject([{ ...example('dora'), inPlaceOf: example('alice') }, example('carol')]);
  });

  it('marks a break-glass grant past a quorum, with the person and the reason', async () => {
    const { taskId, request } = await world.held('three');
    await world.vote('alice', request, 'approve');
    await world.post('sam', `/requests/${request.id}/break-glass`, { reason: REASON, callDigest: request.callDigest });
    const { record, statement, decided } = await recordOf(taskId, 'three');
    expect(record.headline).toBe('The tool ran once. One person granted it alone, by break-glass.');
    expect(statement.breakGlass).toMatchObject({ by: example('sam'), reason: REASON, via: 'api' });
    expect(statement.votes).toMatchObject([{ approver: example('alice') }]);
    expect(decided).toMatchObject({ by: 'break_glass', people: [example('sam')] });
  });

  it.each(['approve', 'deny'] as const)('names an automatic resolver that says %s', async (verdict) => {
    world.engine.replies['risk'] = { verdict, reason: REASON };
    const taskId = await world.heldForEngine();
    const { statement, decided } = await recordOf(taskId, 'risk');
    expect(statement.votes).toMatchObject([
      { approver: { subject: 'automatic:risk' }, verdict, via: 'automatic', reason: REASON },
    ]);
    expect(decided).toMatchObject({ by: 'approvers', people: [{ subject: 'automatic:risk' }] });
  });

  it('names who denied or cancelled the request', async () => {
    const [denied, withdrawn] = [await world.held('one'), await world.held('one', { sub: 'carol', client_id: 'desk' })];
    await world.vote('bob', denied.request, 'deny', { reason: REASON });
    await world.post('carol', `/requests/${withdrawn.request.id}/cancel`, { reason: REASON });
    const byVote = await recordOf(denied.taskId, 'one');
    expect(byVote.record).toMatchObject({ state: 'denied', headline: 'The tool did not run.' });
    expect(byVote.statement).toMatchObject({ status: 'denied', votes: [{ approver: example('bob'), reason: REASON }] });
    expect(byVote.decided).toMatchObject({ by: 'approvers', people: [example('bob')] });
    const byHand = await recordOf(withdrawn.taskId, 'one');
    expect(byHand.record.state).toBe('cancelled');
    expect(byHand.statement.cancelled).toEqual({
      by: { issuer: world.urls.issuer, ...example('carol') },
      ...{ reason: REASON, via: 'api', at: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect(byHand.decided).toMatchObject({ by: 'withdrawn', people: [example('carol')] });
  });

  it('has the votes of a stage that ran out of time, and no deciding person', async () => {
    const { taskId, request } = await world.held('late');
    await world.vote('alice', request, 'approve', { reason: REASON });
    await world.authority.query('UPDATE approvals.access_request SET stage_ends_at = clock_timestamp() WHERE id = $1', [
      request.id,
    ]);
    const { record, statement, decided } = await recordOf(taskId, 'late');
    expect([record.state, statement.status]).toEqual(['denied', 'denied']);
    expect(statement.votes).toMatchObject([{ approver: example('alice'), verdict: 'approve' }]);
    expect(decided).toMatchObject({ by: 'time', people: [] });
  });

  it('has the votes until its own deadline, and no deciding person', async () => {
    const { taskId, request } = await world.held('three');
    await world.vote('bob', request, 'approve', { reason: REASON });
    await world.pool.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE task_id = $1', [
      taskId,
    ]);
    // The workflow carries out the deadline here, because other parts would not wait for the votes.
    await world.pool.query(`SELECT gateway.enqueue_signal(id) FROM gateway.gated_call WHERE task_id = $1`, [taskId]);
    const { record, statement, decided } = await recordOf(taskId, 'three');
    expect(record.record.reason).toBe('request_expired');
    expect(statement).toMatchObject({ status: 'pending', votes: [{ approver: example('bob'), reason: REASON }] });
    expect(decided).toMatchObject({ by: 'time', people: [] });
  });

  it('says that votes are unknown where the caller cancelled the call', async () => {
    const { taskId, request } = await world.held('three');
    await world.vote('alice', request, 'approve');
    await world.cancel(taskId);
    const { statement, decided } = await recordOf(taskId, 'three');
    expect(statement).toBeUndefined();
    expect(decided).toMatchObject({ by: 'requester', people: [], why: expect.stringMatching(/not known here/) });
  });

  it('reveals no vote to the agent', async () => {
    expect(world.told.length).toBeGreaterThan(10);
    const told = world.told.join('\n');
    expect(told).not.toMatch(/Example|canary-reason|alice|bob|carol|dora|sam\b|overseer|ask-|policy_version/);
  });

  it('stays when the access request and its votes are deleted', async () => {
    const { taskId, request } = await world.held('one');
    await world.vote('alice', request, 'approve', { reason: REASON });
    const before = await world.record(taskId);
    expect(before.record.accessRequests).toMatchObject([
      { statement: { votes: [{ approver: example('alice'), reason: REASON }] } },
    ]);
    await world.authority.query('DELETE FROM approvals.access_request WHERE id = $1', [request.id]);
    await world.pool.query('UPDATE gateway.gated_call SET retain_until = clock_timestamp() WHERE task_id = $1', [
      taskId,
    ]);
    await world.pool.query('SELECT gateway.forget_ended(1000)');
    const { record, seal, answers } = await world.readRecord(taskId);
    expect(record.accessRequests).toEqual(before.record.accessRequests);
    expect([seal, answers.whoDecided]).toEqual([before.seal, before.answers.whoDecided]);
  });
});

describeShownRecords(() => world);
