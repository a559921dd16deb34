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

/** Changes the stage of the template `t` or removes it, and the people of the development issuer. */
async function change(
  stage: object | undefined,
  people: readonly object[] = approvals.config.identity.people,
): Promise<void> {
  const before = approvals.live.inForce();
  const templates = stage && { t: { stages: [{ name: 's', ...stage }] } };
  const raw = { approvals: { templates }, identity: { people } };
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

it('a request keeps the approvers of a template that was removed, and no other one opens with fewer', async () => {
  await change({ approvers: { people: ['alice', 'bob'] }, quorum: 2 });
  const submit = (listed: readonly string[]) => {
    const claims = { template: 't', listed_templates: listed };
    return approvals.submission({ claims });
  };
  const [body, late] = [await submit(['t']), await submit(['t'])];
  const key = { 'idempotency-key': crypto.randomUUID() };
  const opened = await approvals.submit(body, key);
  await change(undefined);
  const refused = await approvals.submit(late);
  expect([refused.status, refused.body.type, refused.body.detail]).toEqual([
    410,
    'urn:openid:authzen:access-request:error:expired_denial',
    expect.stringMatching(/does not list the approval template .* evaluate again/),
  ]);
  // A repetition asks for what is open, and a denial of a policy without a listed template has one approver.
  expect((await approvals.submit(body, key)).body.task.id).toBe(opened.body.task.id);
  expect((await approvals.submit(await submit([]))).status).toBe(202);
  const request = { id: opened.body.task.id as string, callDigest: body.context.call_digest };
  expect((await approvals.vote('alice', request, 'approve')).status).toBe(200);
  expect(await statusOf(request.id)).toBe('pending');
  await change({ approvers: { people: ['bob'] } });
  expect((await approvals.submit(late)).status).toBe(202);
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
