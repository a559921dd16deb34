import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aUser, directoryText } from '../../support/directory.ts';

const approvals = new ApprovalsUnderTest();
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'directory-'));
  const file = join(folder, 'people.json');
  writeFileSync(file, directoryText(aUser('alice'), aUser('bob')));
  await approvals.start({ directory: { file } });
});
afterAll(async () => {
  await approvals.stop();
  rmSync(folder, { recursive: true });
});

/** Changes the stage of the template `t`, and the people of the development issuer. */
async function change(stage: object, people: readonly object[] = approvals.config.identity.people): Promise<void> {
  const before = approvals.live.inForce();
  const raw = { approvals: { templates: { t: { stages: [{ name: 's', ...stage }] } } }, identity: { people } };
  const next = parseConfig(raw, before);
  await approvals.live.change({
    ...before,
    approvals: { ...before.approvals, templates: next.approvals.templates },
    identity: { ...before.identity, people: next.identity.people },
  });
}
const open = () => approvals.open({ claims: { template: 't' } });
const statusOf = async (id: string): Promise<unknown> => (await approvals.status(id)).body.task?.status;

it('a request has the stages of the template when it was opened, and later ones have those of now', async () => {
  await change({ approvers: { people: ['alice', 'bob'] }, quorum: 2 });
  const first = await open();
  await change({ approvers: { people: ['bob'] } });
  const second = await open();
  expect([(await approvals.vote('alice', first, 'approve')).status]).toEqual([200]);
  expect((await approvals.vote('alice', second, 'approve')).status).not.toBe(200);
  expect((await approvals.vote('bob', second, 'approve')).status).toBe(200);
  expect([await statusOf(first.id), await statusOf(second.id)]).toEqual(['pending', 'approved']);
});

it('a template with approvers that the directory does not know is refused, and the one of before stays', async () => {
  await change({ approvers: { people: ['bob'] } });
  const refused = change({ approvers: { people: ['mallory'] } });
  await expect(refused).rejects.toThrow(/templates\.t\.stages\[0\].*"mallory" is not in the directory/);
  const { id, callDigest } = await open();
  expect((await approvals.vote('bob', { id, callDigest }, 'approve')).status).toBe(200);
});

it('a person of the development issuer who has left casts no vote by the webhook', async () => {
  await change({ approvers: { roles: ['approver'] } });
  const [first, second] = [await open(), await open()];
  const vote = async (request: typeof first) => (await approvals.voteByWebhook('alice', request, 'approve')).status;
  expect(await vote(first)).toBe(200);
  await change({ approvers: { roles: ['approver'] } }, [{ name: 'bob', roles: ['approver'] }]);
  expect(await vote(second)).toBe(403);
});
