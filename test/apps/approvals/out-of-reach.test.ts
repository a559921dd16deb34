import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ENTERPRISE_USER } from '../../../apps/shared/directory/directory.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aUser, directoryText } from '../../support/directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const folder = mkdtempSync(join(tmpdir(), 'out-of-reach-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const stage = (name: string, approvers: object, more: object = {}) => ({ name, approvers, ...more });
const LATE = { withinSeconds: 3_600, then: 'escalate' };

describe('a request that no known people can approve, at the embedded issuer', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        templates: {
          typo: { stages: [stage('one', { people: ['charley'] })] },
          role: { stages: [stage('one', { roles: ['admins'] }, { quorum: 2 })] },
          'second stage': { stages: [stage('one', { people: ['alice'] }), stage('two', { people: ['charley'] })] },
          'one person for two stages': {
            stages: [stage('one', { roles: ['admins'] }), stage('two', { roles: ['admins'] })],
          },
          'the requester alone': { stages: [stage('one', { people: ['rita'] })] },
          fine: { stages: [stage('one', { people: ['alice', 'charley'] })] },
          'late typo': {
            stages: [
              stage('one', { people: ['alice'] }, LATE),
              stage('two', { people: ['charley'] }, { onlyOnEscalation: true }),
            ],
          },
          'early typo': {
            stages: [
              stage('one', { people: ['charley'] }, LATE),
              stage('two', { people: ['alice'] }, { onlyOnEscalation: true }),
            ],
          },
        },
      },
      identity: {
        people: [
          { name: 'alice', roles: ['approver', 'admins'] },
          { name: 'rita', roles: ['approver'] },
        ],
      },
    }),
  );
  afterAll(() => service.stop());

  const submit = async (template: string) => {
    const { status, body } = await service.submit(
      await service.submission({ subject: 'rita', agent: 'bot', claims: { template } }),
    );
    return { status, type: body.type as string | undefined, detail: body.detail as string | undefined };
  };

  it.each(['typo', 'role', 'second stage', 'one person for two stages', 'the requester alone'])(
    'is not opened: %s',
    async (template) => {
      const before = service.log.length;
      expect(await submit(template)).toEqual({
        status: 400,
        type: 'urn:openid:authzen:access-request:error:not_requestable',
        detail: expect.stringContaining('no one who is known here could approve this'),
      });
      expect(service.log.slice(before)).toContain('"alarm":"approvers_missing"');
      expect(service.log.slice(before)).toContain(`"template":"${template}"`);
    },
  );

  it('opens where one of its people is known', async () => {
    expect((await submit('fine')).status).toBe(202);
  });

  it('is named in the log at the start, at once', () => {
    expect(service.log).toContain('approvals.templates.typo.stages[0].approvers.people: \\"charley\\" is not known');
    expect(service.log).toContain('2 have to approve, and 1 is known who can');
    expect(service.log).not.toContain('templates.fine.stages[0].quorum');
  });

  it('goes on to the next stage at once, where the first has no people and escalates', async () => {
    const request = await service.open({ subject: 'rita', agent: 'bot', claims: { template: 'early typo' } });
    const stageNow = async () =>
      (await service.asPerson('alice', `/requests/${request.id}`)).body.request.stage.name as string;
    await waitFor(async () => (await stageNow()) === 'two');
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
  });

  it('ends with the reason when it escalates to no one', async () => {
    const request = await service.open({ subject: 'rita', agent: 'bot', claims: { template: 'late typo' } });
    await service.database.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
      UPDATE approvals.access_request SET stage_ends_at = clock_timestamp() WHERE id = '${request.id}';
      ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    await waitFor(async () => (await service.status(request.id)).body.task.status === 'denied');
    const page = await (await (await service.signIn('rita')).go(`/requests/${request.id}`)).text();
    expect(page).toContain('The stage “two” needs 1 more approval, and 0 known people can give one.');
  });
});

describe('the manager of a requester', () => {
  const service = new ApprovalsUnderTest();
  const file = join(folder, 'people.json');
  const people = (...more: object[]) =>
    directoryText(
      aUser('mia'),
      aUser('nina', { [ENTERPRISE_USER]: { manager: { value: 'mia' } } }),
      aUser('rita'),
      ...more,
    );
  beforeAll(() => {
    writeFileSync(file, people(aUser('alice')));
    return service.start({
      directory: { file },
      approvals: { templates: { manager: { stages: [stage('manager', { requesterManager: true })] } } },
    });
  });
  afterAll(() => service.stop());
  const submit = async (subject: string) =>
    (await service.submit(await service.submission({ subject, agent: 'bot', claims: { template: 'manager' } }))).status;

  it('is asked where there is one, and no request opens where there is none', async () => {
    expect(await submit('nina')).toBe(202);
    expect(await submit('rita')).toBe(400);
  });

  it('is looked at again when the directory changes: with an alarm, and no denial', async () => {
    const request = await service.open({ subject: 'nina', agent: 'bot', claims: { template: 'manager' } });
    await service.database.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
      UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '1 hour' WHERE id = '${request.id}';
      ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    const before = service.log.length;
    writeFileSync(file, directoryText(aUser('nina'), aUser('rita'), aUser('alice'), aUser('mia', { active: false })));
    await waitFor(
      () => service.log.slice(before).includes(request.id) && service.log.slice(before).includes('approvers_missing'),
    );
    expect((await service.status(request.id)).body.task.status).toBe('pending');
  });
});

describe('a request that a person may grant alone, in an emergency', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        breakGlass: { enabled: true, approvers: { people: ['alice'] } },
        templates: { typo: { stages: [stage('one', { people: ['charley'] })] } },
      },
    }),
  );
  afterAll(() => service.stop());

  it('opens with the alarm, though no known people can approve it, and waits', async () => {
    const { id } = await service.open({ subject: 'rita', agent: 'bot', claims: { template: 'typo' } });
    expect(service.log).toContain('"alarm":"approvers_missing","template":"typo"');
    expect((await service.status(id)).body.task.status).toBe('pending');
  });
});
