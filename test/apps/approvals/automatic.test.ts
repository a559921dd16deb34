import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { RuleEngine, type Reply } from '../../support/rule-engine.ts';
import { waitFor } from '../../support/wait-for.ts';

const people = { roles: ['approver'] };
const templates = {
  beside: { stages: [{ name: 'risk', approvers: people, automatic: 'risk' }] },
  both: { stages: [{ name: 'risk', approvers: people, automatic: 'risk', quorum: 2 }] },
  alone: { stages: [{ name: 'risk', automatic: 'risk', withoutPeople: true }] },
  inTurn: {
    stages: [
      { name: 'risk', automatic: 'risk', withoutPeople: true, withinSeconds: 600, then: 'escalate' },
      { name: 'people', approvers: people, onlyOnEscalation: true },
    ],
  },
  second: {
    stages: [
      { name: 'people', approvers: people },
      { name: 'risk', automatic: 'risk', withoutPeople: true },
    ],
  },
  impatient: { stages: [{ name: 'risk', approvers: people, automatic: 'brisk' }] },
  guarded: { stages: [{ name: 'risk', approvers: people, automatic: 'guarded' }] },
  either: { stages: [{ name: 'risk', approvers: { people: ['alice'] }, automatic: 'risk', veto: false }] },
};

describe('an automatic resolver', () => {
  const service = new ApprovalsUnderTest();
  const engine = new RuleEngine();
  beforeAll(async () => {
    await engine.start();
    const resolvers = {
      risk: engine.setting('risk', { timeoutSeconds: 60 }),
      brisk: engine.setting('risk', { timeoutSeconds: 1 }),
      guarded: engine.setting('risk', { networks: [] }),
    };
    await service.start({
      approvals: { templates, resolvers },
      identity: { people: [{ name: 'alice', roles: ['approver', 'approver-overseer'] }] },
    });
  });
  afterAll(async () => {
    await service.stop();
    await engine.stop();
  });

  const open = (template: keyof typeof templates, reply?: Reply) => {
    if (reply !== undefined) engine.replies['risk'] = reply;
    return service.open({ claims: { template } });
  };
  const recordOf = async (id: string) => (await service.asPerson('alice', `/requests/${id}`)).body.request;
  const ended = (id: string, status: string) => waitFor(async () => (await recordOf(id)).status === status);
  const answered = (id: string) => waitFor(async () => (await recordOf(id)).answers[0]);

  it('gets a signed question with everything that an approver sees, and its answer counts as its vote', async () => {
    const { id, callDigest } = await open('alone', { verdict: 'approve', reason: 'below the limit' });
    await ended(id, 'approved');
    const record = await recordOf(id);
    expect(record.votes).toEqual([
      expect.objectContaining({
        approver: { issuer: 'urn:countersign:resolvers', subject: 'automatic:risk' },
        ...{ verdict: 'approve', reason: 'below the limit', via: 'automatic', stage: 1 },
      }),
    ]);
    const [question, ...more] = engine.asked(id);
    expect(more).toEqual([]);
    engine.verify(question!);
    const { tool, title, argumentsText, context, generation, action, resource, requester } = record;
    expect(question?.data).toMatchObject({
      ...{ id, callDigest, tool, title, argumentsText, context, generation, action, resource, requester },
      ...{ arguments: record.arguments, stage: { name: 'risk', position: 1, of: 1 } },
    });
    const { rows } = await service.database.pool.query('SELECT stages FROM approvals.access_request WHERE id = $1', [
      id,
    ]);
    expect(rows[0].stages[0].automatic).toBe('risk');
    expect(JSON.stringify(rows)).not.toMatch(/whsec_|http:/);
  });

  it('decides many requests at once without any person [ARAP-IMP-01]', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => open('alone', { verdict: 'approve' })));
    for (const { id } of opened) {
      await ended(id, 'approved');
      expect((await recordOf(id)).votes.map(({ via }: { via: string }) => via)).toEqual(['automatic']);
    }
  });

  it('can deny, and its vote is labelled in the inbox', async () => {
    const { id } = await open('beside', { verdict: 'deny', reason: 'unknown target' });
    await ended(id, 'denied');
    const page = await (await (await service.signIn('alice')).go(`/requests/${id}`)).text();
    expect(page).toMatch(
      /automatic:risk<\/span><\/bdi><\/strong>\s*<span class="badge info">automatic<\/span>\s*denied/,
    );
    expect(page).toContain('unknown target');
    expect(page).toContain('the automatic resolver risk');
  });

  it('counts as one voice among several', async () => {
    const request = await open('both', { verdict: 'approve' });
    await waitFor(async () => (await recordOf(request.id)).approvals === 1);
    expect((await recordOf(request.id)).status).toBe('pending');
    await service.vote('alice', request, 'approve');
    expect((await recordOf(request.id)).status).toBe('approved');
  });

  it('is asked when its stage opens, not earlier', async () => {
    const request = await open('second', { verdict: 'approve' });
    expect(engine.asked(request.id)).toEqual([]);
    await service.vote('alice', request, 'approve');
    await ended(request.id, 'approved');
    expect(engine.asked(request.id).map(({ data }) => data.stage.position)).toEqual([2]);
  });

  const text =
    (body: string, status = 200, type = 'application/json') =>
    (response: Parameters<Extract<Reply, (...all: never[]) => unknown>>[0]) =>
      response.writeHead(status, { location: '/elsewhere', 'content-type': type }).end(body);
  const YES = '{"verdict":"approve"}';
  const OTHER_TYPES = ['text/plain', 'application/octet-stream', ''];
  it.each<[string, Reply, string]>([
    ['abstains', { verdict: 'abstain', reason: 'not my business' }, 'abstain'],
    ['fails', text(YES, 500), 'failed'],
    ['redirects', text(YES, 307), 'failed'],
    ['has only accepted the question', text(YES, 202), 'failed'],
    ['is silent', () => undefined, 'failed'],
    ['starts an answer and does not end it', (response) => response.write(YES), 'failed'],
    ['breaks off its answer', (response) => response.destroy(), 'failed'],
    ['answers something other than JSON', text('approve'), 'failed'],
    ['answers an unknown verdict', { verdict: 'APPROVE' }, 'failed'],
    ['answers with more members than allowed', { verdict: 'approve', approved: true }, 'failed'],
    ['answers with a member twice', text('{"verdict":"deny","verdict":"approve"}'), 'failed'],
    ...OTHER_TYPES.map((type): [string, Reply, string] => [`says yes as "${type}"`, text(YES, 200, type), 'failed']),
    ['answers with a list', [{ verdict: 'approve' }], 'failed'],
    ['answers with too many bytes', text(`${YES}${' '.repeat(64 * 1024)}`), 'failed'],
    ['answers with an endless reason', { verdict: 'approve', reason: 'a'.repeat(2_001) }, 'failed'],
  ])('leaves it to people when it %s', async (name, reply, verdict) => {
    const isSlow = ['is silent', 'starts an answer and does not end it'].includes(name);
    const request = await open(isSlow ? 'impatient' : 'beside', reply);
    expect(await answered(request.id)).toMatchObject({ verdict, resolver: isSlow ? 'brisk' : 'risk', stage: 1 });
    expect(await recordOf(request.id)).toMatchObject({ status: 'pending', votes: [] });
    await service.vote('alice', request, 'approve');
    expect(await recordOf(request.id)).toMatchObject({ status: 'approved', votes: [{ via: 'api' }] });
    // On a machine that stops, the time of a slow one may be over before it has the question. It is not asked again.
    expect(isSlow ? [0, 1] : [1]).toContain(engine.asked(request.id).length);
  });

  it('leaves the request to the next stage at the deadline when its own stage has no other approver', async () => {
    const request = await open('inTurn', { verdict: 'abstain', reason: 'too close to call' });
    expect(await answered(request.id)).toMatchObject({ verdict: 'abstain' });
    await service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
       SET stage_ends_at = clock_timestamp() - interval '1 ms' WHERE id = '${request.id}'; ALTER TABLE approvals.access_request
       ENABLE TRIGGER USER`,
    );
    await waitFor(async () => (await recordOf(request.id)).stage.name === 'people');
    const page = await (await (await service.signIn('alice')).go(`/requests/${request.id}`)).text();
    expect(page).toMatch(/badge info">automatic<\/span>\s*left it to people.*too close to call/);
    expect((await service.vote('alice', request, 'deny')).status).toBe(200);
  });

  it('ends a request that has no possible approval left when it abstains', async () => {
    let release: (() => void) | undefined;
    const request = await open('either', (response: ServerResponse) => {
      release = () => response.end('{"verdict":"abstain"}');
    });
    const abstain = await waitFor(() => release);
    expect((await service.vote('alice', request, 'deny')).body.request.status).toBe('pending');
    abstain();
    await ended(request.id, 'denied');
  });

  it('is not reached at a private address when only public addresses are allowed, and that is not an answer', async () => {
    const { id } = await open('guarded', { verdict: 'approve' });
    expect(await answered(id)).toMatchObject({ verdict: 'failed', resolver: 'guarded' });
    expect(engine.asked(id)).toEqual([]);
    expect(service.log).toContain('to networks of the notifications or the resolver');
  });

  it('is asked again in the same words when the service stops before the answer', async () => {
    const { id } = await open('alone', () => undefined);
    await waitFor(() => engine.asked(id).length === 1);
    engine.replies['risk'] = { verdict: 'approve' };
    await service.restart();
    await ended(id, 'approved');
    const [first, ...more] = engine.asked(id).map(({ headers, body }) => [headers['webhook-id'], body]);
    expect(more).toEqual([first]);
    expect((await recordOf(id)).answers).toEqual([expect.objectContaining({ verdict: 'approve' })]);
  });

  it('does not delay callbacks while it is silent, however many questions are open', async () => {
    const asked: ServerResponse[] = [];
    const silent = await Promise.all(
      Array.from({ length: 20 }, () => open('alone', (response: ServerResponse) => asked.push(response))),
    );
    await waitFor(() => asked.length === silent.length);
    const decided = await service.open();
    await service.vote('alice', decided, 'approve');
    await waitFor(() => service.callbacks.some(({ body }) => body.includes(decided.id)));
    for (const { id } of silent) expect((await recordOf(id)).answers).toEqual([]);
    for (const response of asked) response.end('{"verdict":"deny"}');
    for (const { id } of silent) await ended(id, 'denied');
  });

  it('has a name that no person can sign in with', async () => {
    const request = await open('beside', { verdict: 'abstain' });
    const token = await service.tokenWith({ sub: 'automatic:risk', roles: ['approver'] });
    const answer = await service.fetch(`/requests/${request.id}/votes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ verdict: 'approve', callDigest: request.callDigest }),
    });
    expect(answer.status).toBe(404);
  });
});
