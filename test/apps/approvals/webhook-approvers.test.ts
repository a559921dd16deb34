import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { templateProblems } from '../../../apps/shared/approvers/stages.ts';
import { configuredApprovers } from '../../../apps/approvals/webhooks/decision-webhook.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { readDirectory } from '../../../apps/shared/directory/directory.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';

const OFFICER = { roles: [{ value: 'officer' }] };
/** Gina is in the group, Otto has the role, Paul has neither, and Lea has left with both. */
const PEOPLE = directoryText(
  ...[aUser('gina'), aUser('otto', OFFICER), aUser('paul'), aUser('lea', { ...OFFICER, active: false })],
  aGroup('security', ['gina', 'lea']),
);
const webhookApprovers = { groups: ['security'], roles: ['officer'] };

describe('a signed decision in the name of a person from the directory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'directory-'));
  const service = new ApprovalsUnderTest();
  beforeAll(async () => {
    const file = join(folder, 'people.json');
    writeFileSync(file, PEOPLE);
    const template = (approvers: object) => ({ stages: [{ name: 'a', approvers }] });
    await service.start({
      directory: { file },
      approvals: {
        templates: {
          group: template({ groups: ['security'] }),
          role: template({ roles: ['officer'] }),
          anybody: template({ roles: ['approver'] }),
        },
        webhookApprovers,
      },
    });
  });
  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['group', { gina: 200, otto: 403, paul: 403, lea: 403 }],
    ['role', { gina: 403, otto: 200, paul: 403, lea: 403 }],
    ['anybody', { gina: 200, otto: 200, paul: 403, lea: 403 }],
  ] as const)('counts by the groups and roles of that person: stage %s [ARAP-APV-01]', async (template, expected) => {
    const answered = await Promise.all(
      Object.keys(expected).map(async (subject) => {
        const request = await service.open({ subject: 'rita', agent: 'bot', claims: { template } });
        const { status } = await service.voteByWebhook(subject, request, 'approve');
        const isApproved = (await service.status(request.id)).body.task.status === 'approved';
        expect(isApproved).toBe(status === 200);
        return [subject, status];
      }),
    );
    expect(Object.fromEntries(answered)).toEqual(expected);
  });

  it('is refused when that person asked for the request [ARAP-APV-02]', async () => {
    const request = await service.open({ subject: 'gina', agent: 'bot', claims: { template: 'anybody' } });
    expect((await service.voteByWebhook('gina', request, 'approve')).status).toBe(403);
  });
});

describe('the approvers for signed decisions', () => {
  const configured = (approvals: object) =>
    parseConfig({ mode: 'production', approvals }, { baseDir: '/', stateDir: '/' });

  it('come from the current directory', () => {
    let directory = readDirectory(PEOPLE, 'userName');
    const find = configuredApprovers(configured({ webhookApprovers }), () => directory);
    const found = () => ['gina', 'otto'].map((subject) => find({ issuer: undefined, subject })?.roles);
    expect(found()).toEqual([['approver'], ['approver', 'officer']]);
    directory = readDirectory(directoryText(aUser('gina', OFFICER), aUser('otto')), 'userName');
    expect(found()).toEqual([['approver', 'officer'], undefined]);
  });

  it('have to exist at startup', () => {
    const named = configured({ webhookApprovers: { people: ['zoe', 'lea', 'gina'], groups: ['sales'] } });
    const problems = templateProblems(named.approvals, readDirectory(PEOPLE, 'userName'));
    expect(problems.map(({ path, message }) => [path.join('.'), message.split(' ')[0]])).toEqual([
      ['approvals.webhookApprovers.people', '"zoe"'],
      ['approvals.webhookApprovers.people', '"lea"'],
      ['approvals.webhookApprovers.groups', '"sales"'],
    ]);
  });
});
