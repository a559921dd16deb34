import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { makeRoom } from '../../support/passing-time.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Kept {
  readonly channel: string;
  readonly person: string;
  readonly outcome?: string;
  readonly exact: string;
  readonly link: string;
}

describe('the mailbox of development', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { channels: {} } }));
  beforeEach(() => makeRoom(service.database.pool));
  afterAll(() => service.stop());

  const kept = async (id: string): Promise<Kept[]> => {
    const { body } = await service.asPerson('alice', '/mailbox', { headers: { accept: 'application/json' } });
    return (body.messages as Kept[]).filter(({ link }) => link.endsWith(id));
  };
  const mails = async (id: string) => (await kept(id)).filter(({ channel }) => channel === 'email');

  it('shows what each approver of the embedded issuer would get, with a link to the request', async () => {
    const request = await service.open();
    const notices = async () => (await kept(request.id)).filter(({ channel }) => channel === 'push');
    await waitFor(async () => (await mails(request.id)).length === 2);
    expect((await mails(request.id)).map(({ person }) => person).toSorted()).toEqual(['alice', 'bob']);
    // No channel waits for another, and a notice that was not sent before the end is never sent.
    await waitFor(async () => (await notices()).length === 2);
    await service.vote('alice', request, 'approve');
    await waitFor(async () => (await mails(request.id)).length === 4);
    expect((await mails(request.id))[0]?.outcome).toBe('Approved by alice.');
    await waitFor(async () => (await notices()).every(({ outcome }) => outcome === 'Approved by alice.'));
    expect(await notices()).toHaveLength(2);
    const page = await (await (await service.signIn('alice')).go('/mailbox?person=alice')).text();
    expect(page).toContain(`href="${service.url}/requests/${request.id}"`);
    expect(page).toContain('Nothing here was sent.');
    expect(page).not.toContain('Email to <bdi class="foreign" dir="ltr">bob');
  });

  it('shows no argument of a call', async () => {
    const { id } = await service.open({ arguments: { path: '/tmp/a', content: 'a secret' } });
    await waitFor(async () => (await mails(id)).length === 2);
    expect(JSON.stringify(await kept(id))).not.toContain('secret');
  });
});
