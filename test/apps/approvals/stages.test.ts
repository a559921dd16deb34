import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const folder = mkdtempSync(join(tmpdir(), 'directory-'));
const file = join(folder, 'people.json');
const MANAGER = { 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { manager: { value: 'mia' } } };
const NAMES = ['alice', 'bob', 'carol', 'dave', 'mia', 'rita'] as const;
const write = (security: readonly string[], gone: readonly string[] = []) =>
  writeFileSync(
    file,
    directoryText(
      ...NAMES.map((name) => aUser(name, { active: !gone.includes(name), ...(name === 'rita' && MANAGER) })),
      aGroup('security', security),
    ),
  );

const security = { name: 'security', approvers: { groups: ['security'] }, quorum: 2 };
const templates = {
  two_of_three: { stages: [security], approvalTtlSeconds: 120 },
  line_then_security: {
    stages: [{ name: 'manager', approvers: { requesterManager: true } }, security],
    requestTtlSeconds: 900,
  },
  escalating: {
    stages: [
      { name: 'owner', approvers: { resourceOwner: true }, withinSeconds: 600, then: 'escalate' },
      { name: 'director', approvers: { people: ['mia'] }, withinSeconds: 600, onlyOnEscalation: true },
    ],
  },
  same_again: {
    stages: [
      { ...security, quorum: 1 },
      { ...security, name: 'again', quorum: 1 },
    ],
    separateStages: false,
  },
  majority: { stages: [{ ...security, veto: false }] },
};

describe('approval templates', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(async () => {
    write(['alice', 'bob', 'carol']);
    await service.start({
      approvals: {
        templates,
        owners: [{ resource: 'files__*', people: ['dave'] }],
        webhookApprovers: ['carol', 'dave'],
      },
      directory: { file },
      identity: {
        people: [
          ...NAMES.map((name) => ({ name, roles: ['approver'] })),
          { name: 'olga', roles: ['approver', 'approver-overseer'] },
        ],
      },
    });
  });
  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  const open = (template: keyof typeof templates) =>
    service.open({ subject: 'rita', agent: 'bot', claims: { template } });
  const idsOf = async (name: string, query: string) =>
    ((await service.asPerson(name, `/requests${query}`)).body.requests as { id: string }[]).map(({ id }) => id);
  const task = async (id: string) => (await service.status(id)).body.task;
  const passStage = (id: string) =>
    service.database.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
       SET stage_ends_at = clock_timestamp() - interval '1 ms' WHERE id = '${id}'; ALTER TABLE approvals.access_request
       ENABLE TRIGGER USER`,
    );
  const votes = async (of: Awaited<ReturnType<typeof open>>, names: readonly string[]) => {
    const statuses: number[] = [];
    for (const name of names) statuses.push((await service.vote(name, of, 'approve')).status);
    return statuses;
  };

  it('are pending until the quorum has approved, by any way [ARAP-STS-06] [ARAP-APV-05]', async () => {
    const request = await open('two_of_three');
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
    expect((await task(request.id)).status).toBe('pending');
    expect((await service.voteByWebhook('carol', request, 'approve')).status).toBe(200);
    const { body } = await service.status(request.id);
    expect(body.task.status).toBe('approved');
    const lasts = Date.parse(body.result.approval.approved_until) - Date.parse(body.result.approval.approved_at);
    expect(lasts).toBeLessThanOrEqual(120_000);
  });

  it('count no vote of a person outside the stage, by any way, and log the attempt [ARAP-APV-01] [ARAP-APV-02]', async () => {
    const request = await open('two_of_three');
    const refused = await service.vote('dave', request, 'approve');
    expect([refused.status, refused.body.title]).toEqual([404, 'There is no such request']);
    expect(service.log).toContain('a visitor asked for a request that they may not read');
    const overseen = await service.vote('olga', request, 'approve');
    expect([overseen.status, overseen.body.title]).toEqual([403, 'You cannot decide this request']);
    expect((await service.voteByWebhook('dave', request, 'approve')).status).toBe(403);
    expect((await service.vote('rita', request, 'approve')).body.title).toBe('You requested this yourself');
    expect(service.log).toContain('"outcome":"not_eligible"');
    expect((await service.asPerson('alice', `/requests/${request.id}`)).body.request.votes).toEqual([]);
  });

  it('run their stages in order, and show the current stage without its approvers [ARAP-TSK-07] [ARAP-TSK-08]', async () => {
    const request = await open('line_then_security');
    expect((await task(request.id)).progress).toEqual({ current_step: 1, total_steps: 2, step_name: 'manager' });
    expect(await votes(request, ['alice', 'mia', 'mia'])).toEqual([403, 200, 200]);
    expect((await task(request.id)).progress).toEqual({ current_step: 2, total_steps: 2, step_name: 'security' });
    expect(await votes(request, ['alice'])).toEqual([200]);
    expect((await task(request.id)).status).toBe('pending');
    expect(await votes(request, ['bob'])).toEqual([200]);
    expect((await task(request.id)).status).toBe('approved');
    const left = Date.parse((await task(request.id)).expires_at) - Date.now();
    expect(left).toBeLessThanOrEqual(900_000);
  });

  it('pass a late stage on to the next where it escalates, and deny at the last [ARAP-STS-05]', async () => {
    for (const end of ['approved', 'denied'] as const) {
      const request = await open('escalating');
      await passStage(request.id);
      // The owner is late.
      expect((await service.vote('dave', request, 'approve')).status).toBe(403);
      expect((await task(request.id)).progress).toMatchObject({ current_step: 2, step_name: 'director' });
      if (end === 'approved') await service.vote('mia', request, 'approve');
      else await passStage(request.id);
      expect((await task(request.id)).status).toBe(end);
    }
  });

  it('skip the escalation stage when the stage before it agreed', async () => {
    const request = await open('escalating');
    expect(await votes(request, ['mia', 'dave'])).toEqual([403, 200]);
    expect((await task(request.id)).status).toBe('approved');
  });

  it('carry out the deadline of a stage without any read, and tell the gateway', async () => {
    const request = await open('escalating');
    await passStage(request.id);
    await service.vote('alice', request, 'approve');
    await passStage(request.id);
    await waitFor(() => service.callbacks.some(({ body }) => body.includes(request.id) && body.includes('"denied"')));
  });

  it('do not count a retried vote in the next stage, where a person may vote in both', async () => {
    const request = await open('same_again');
    expect(await votes(request, ['alice', 'alice', 'alice'])).toEqual([200, 200, 200]);
    expect((await task(request.id)).progress.step_name).toBe('again');
    expect((await service.vote('alice', request, 'approve', { stage: 1 })).status).toBe(200);
    expect((await task(request.id)).status).toBe('pending');
    expect((await service.vote('bob', request, 'approve', { stage: 1 })).status).toBe(409);
    expect((await service.vote('alice', request, 'approve', { stage: 2 })).status).toBe(200);
    expect((await task(request.id)).status).toBe('approved');
  });

  it('deny without a veto when too few approvers are left', async () => {
    const request = await open('majority');
    await service.vote('alice', request, 'deny');
    expect((await task(request.id)).status).toBe('pending');
    await service.vote('bob', request, 'deny');
    expect((await task(request.id)).status).toBe('denied');
  });

  it('keep the terms of an open request when the configuration changes', async () => {
    const request = await open('two_of_three');
    const stage = service.config.approvals.templates['two_of_three']?.stages[0] ?? { quorum: 0 };
    stage.quorum = 1;
    await service.restart();
    const later = await open('two_of_three');
    stage.quorum = 2;
    await service.restart();
    for (const [{ id }, quorum] of [
      [request, 2],
      [later, 1],
    ] as const) {
      expect((await service.asPerson('alice', `/requests/${id}`)).body.request.quorum).toBe(quorum);
    }
  });

  it('are chosen by the template that the PDP signed, never by an echo [ARAP-SUB-16] [ARAP-SUB-18]', async () => {
    const body = await service.submission({ subject: 'rita', claims: { template: 'line_then_security' } });
    const forged = { ...body, denial: { ...body.denial, template: 'same_again' } };
    const unsigned = await service.submission({ subject: 'rita', claims: { template: undefined } });
    const emergency = await service.submission({
      subject: 'rita',
      agent: 'alice',
      claims: { template: 'line_then_security' },
      body: { requested_access: { emergency: true } },
    });
    const stepsOf = async (one: unknown) => (await service.submit(one)).body.task.progress;
    expect(await stepsOf(forged)).toMatchObject({ step_name: 'manager', total_steps: 2 });
    expect(await stepsOf({ ...unsigned, denial: { ...unsigned.denial, template: 'same_again' } })).toMatchObject({
      step_name: 'approval',
      total_steps: 1,
    });
    // It skips no stage, and an actor of the requester cannot vote.
    const { task: opened } = (await service.submit(emergency)).body;
    expect(opened.progress).toMatchObject({ step_name: 'manager', total_steps: 2 });
    const vote = { id: opened.id, callDigest: emergency.context.call_digest };
    expect((await service.vote('alice', vote, 'approve')).body.title).toBe('You requested this yourself');
  });

  it('list a request as yours when you may decide it, and list others that you may read', async () => {
    const request = await open('line_then_security');
    expect(await idsOf('mia', '?status=yours')).toContain(request.id);
    // A voter of a later stage, the requester, an overseer, and a person without a role in it.
    for (const [name, isListed] of Object.entries({ alice: true, rita: true, olga: true, dave: false })) {
      expect(await idsOf(name, '?status=yours')).not.toContain(request.id);
      expect((await idsOf(name, '')).includes(request.id)).toBe(isListed);
    }
    await service.vote('mia', request, 'approve');
    expect(await idsOf('mia', '?status=yours')).not.toContain(request.id);
    expect(await idsOf('alice', '?status=yours')).toContain(request.id);
  });

  it('name the groups that may decide, never their members', async () => {
    const request = await open('line_then_security');
    await service.vote('mia', request, 'approve');
    const { stage } = (await service.asPerson('alice', `/requests/${request.id}`)).body.request;
    expect(stage).toEqual({
      ...{ name: 'security', position: 2, of: 2, quorum: 2, approvals: 0, veto: true },
      approvers: {
        people: 0,
        groups: ['security'],
        roles: [],
        resourceOwner: false,
        requesterManager: false,
        requester: false,
      },
    });
    const page = await (await (await service.signIn('alice')).go(`/requests/${request.id}`)).text();
    expect(page).toContain('Stage 2 of 2');
    expect(page).toContain('group security');
    // What they decided before is beside it, with their names. A request can be handed to every known approver, of the group or not.
    const elsewhere = /<section class="card" aria-labelledby="same-agent">.*?<\/section>|<datalist.*?<\/datalist>/gs;
    expect(page.match(/<datalist.*?<\/datalist>/s)?.[0]).toContain('dave');
    expect(page.replace(elsewhere, '')).not.toMatch(/\b(bob|carol)\b/);
  });

  it('check group membership when a vote is cast and again when the request is granted [ARAP-APV-01]', async () => {
    const request = await open('two_of_three');
    expect(await votes(request, ['alice'])).toEqual([200]);
    write(['bob', 'carol', 'dave'], ['carol']);
    await waitFor(async () => (await service.asPerson('carol', '/requests')).status === 403);
    expect(await votes(request, ['carol'])).toEqual([403]);
    expect(await votes(request, ['bob'])).toEqual([200]);
    // Alice has left the group, so her approval no longer counts.
    expect((await task(request.id)).status).toBe('pending');
    expect(await votes(request, ['dave'])).toEqual([200]);
    expect((await task(request.id)).status).toBe('approved');
    write(['alice', 'bob', 'carol']);
  });
});
