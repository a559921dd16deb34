import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { newVote } from '../../support/access-requests.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aUser, directoryText } from '../../support/directory.ts';
import { buttonsOf, pressed, SlackServer } from '../../support/slack-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const INTERACTIONS = '/channels/slack/interactions';
const at = (name: string, more: object = {}) => ({ emails: [{ value: `${name}@example.com` }], ...more });
const owners = { stages: [{ name: 'owner', approvers: { people: ['alice', 'bob'] } }] };
const templates = {
  owners,
  chat: { ...owners, chatDecisions: true },
  two: { stages: [{ ...owners.stages[0], quorum: 2, remindAfterSeconds: 600 }], chatDecisions: true },
};

describe('messages in Slack', () => {
  const service = new ApprovalsUnderTest();
  const slack = new SlackServer();
  const folder = mkdtempSync(join(tmpdir(), 'slack-'));
  const file = join(folder, 'people.json');
  const open = (template: keyof typeof templates, more: object = {}) => service.open({ claims: { template }, ...more });
  /** The message to an account, once there is one. */
  const messageTo = (id: string, user: string) => waitFor(() => slack.about(id, user)[0]);
  const press = (press: Parameters<typeof pressed>[0]) => service.fetch(INTERACTIONS, pressed(press));
  const votes = async (id: string) => {
    const text = 'SELECT approver_subject, verdict, via FROM approvals.vote WHERE access_request_id = $1 ORDER BY at';
    return (await service.database.pool.query(text, [id])).rows as unknown[];
  };
  const told = (user: string) => waitFor(() => slack.whispers.find((one) => one.user === user)?.text);

  beforeAll(async () => {
    writeFileSync(
      file,
      directoryText(
        aUser('alice', at('alice')),
        aUser('bob', { ims: [{ type: 'slack', value: 'U01BOB' }] }),
        aUser('carol', at('carol')),
        aUser('agent', at('agent')),
      ),
    );
    slack.accounts.set('U01ALICE', { email: 'alice@example.com' });
    slack.accounts.set('U01BOB', { email: 'another@example.com' });
    slack.accounts.set('U01DORA', { email: 'unknown@example.com' });
    slack.accounts.set('U01ERIC', { email: 'alice@example.com', team: 'T0OTHERS' });
    slack.accounts.set('U01FRED', { email: 'alice@example.com', isConfirmed: false });
    await service.start({
      directory: { file },
      approvals: { templates, channels: { mailbox: false, slack: await slack.start() } },
    });
  });
  afterAll(async () => {
    await service.stop();
    await slack.stop();
    rmSync(folder, { recursive: true });
  });

  it('reach people by their address or id, and say in place who decided', async () => {
    const request = await open('owners');
    const toAlice = await messageTo(request.id, 'U01ALICE');
    await messageTo(request.id, 'U01BOB');
    expect(buttonsOf(toAlice)).toEqual({ link: `${service.url}/requests/${request.id}` });
    await service.vote('bob', request, 'approve');
    await waitFor(() => JSON.stringify(toAlice.blocks).includes('Approved by bob.'));
    expect(slack.about(request.id)).toHaveLength(2);
  });

  it('hold values of agents as plain text, and as no mention in the notice on a screen', async () => {
    const title = '<!channel> *pay* <https://evil.example|here> & \u202egnp';
    const { id } = await service.open({ claims: { template: 'owners', display: { title } } });
    const { text, blocks } = await messageTo(id, 'U01ALICE');
    expect(text).toContain('&lt;!channel&gt; *pay* &lt;https://evil.example|here&gt; &amp; \\u202egnp');
    expect(JSON.stringify(blocks)).not.toContain('mrkdwn');
  });

  it('have buttons only if the template allows decisions in a chat, and a press is the vote of its person', async () => {
    const request = await open('chat');
    const message = await messageTo(request.id, 'U01ALICE');
    const { approve } = buttonsOf(message);
    expect((await press({ user: 'U01ALICE', verdict: 'approve', value: approve })).status).toBe(200);
    expect(await votes(request.id)).toEqual([{ approver_subject: 'alice', verdict: 'approve', via: 'slack' }]);
    await waitFor(() => JSON.stringify(message.blocks).includes('Approved by alice.'));
    expect(buttonsOf(message)).toEqual({ link: expect.any(String) });
  });

  it('count a press once, however often it arrives', async () => {
    const request = await open('two');
    const { approve } = buttonsOf(await messageTo(request.id, 'U01BOB'));
    const sent = pressed({ user: 'U01BOB', verdict: 'approve', value: approve });
    for (let time = 0; time < 3; time += 1) await service.fetch(INTERACTIONS, sent);
    expect(await votes(request.id)).toHaveLength(1);
    await waitFor(() => JSON.stringify(slack.about(request.id, 'U01BOB')).includes('You decided.'));
  });

  it('take no press of another account, even if it has the address of the person', async () => {
    const request = await open('chat');
    const value = buttonsOf(await messageTo(request.id, 'U01ALICE')).approve;
    for (const user of ['U01BOB', 'U01DORA', 'U01ERIC', 'U01FRED']) {
      await press({ user, verdict: 'approve', value });
      expect(await told(user)).toContain('This message is for another person.');
    }
    expect(await votes(request.id)).toEqual([]);
  });

  it('take nothing that is forged, old, signed by another secret, or changed', async () => {
    const request = await open('chat');
    const value = buttonsOf(await messageTo(request.id, 'U01ALICE')).approve;
    const good = { user: 'U01ALICE', verdict: 'approve', value } as const;
    const { body } = pressed(good);
    const refused = [
      { method: 'POST', body },
      pressed({ ...good, secret: 'another secret of 16' }),
      pressed({ ...good, age: 301 }),
      // The clock goes on until the service reads it: a press of the future gets closer.
      pressed({ ...good, age: -360 }),
      { ...pressed(good), body: body.replace('approve', 'deny') },
    ];
    for (const one of refused) expect((await service.fetch(INTERACTIONS, one)).status).toBe(401);
    expect((await service.fetch(INTERACTIONS)).status).toBe(404);
    await press({ ...good, value: `${value?.slice(0, -4)}AAAA` });
    expect(await told('U01ALICE')).toContain('This button is no longer valid.');
    expect(await votes(request.id)).toEqual([]);
  });

  it('refuse a press that could be read in two ways', async () => {
    const request = await open('chat');
    const value = buttonsOf(await messageTo(request.id, 'U01ALICE')).approve;
    const rewrite = (payload: string) => payload.replace('"user":', '"user":{"id":"U01BOB"},"user":');
    expect((await press({ user: 'U01ALICE', verdict: 'approve', value, rewrite })).status).toBe(400);
    expect(await votes(request.id)).toEqual([]);
  });

  it('decide as the button says that was sealed, and not as the press says', async () => {
    const request = await open('chat');
    const { deny } = buttonsOf(await messageTo(request.id, 'U01ALICE'));
    await press({ user: 'U01ALICE', verdict: 'approve', value: deny });
    expect(await votes(request.id)).toEqual([{ approver_subject: 'alice', verdict: 'deny', via: 'slack' }]);
  });

  it('count in the database only in a stage that allows decisions in a chat', async () => {
    const store = createAccessRequestStore(service.database.pool);
    const cast = async (template: keyof typeof templates) =>
      store.castVote(newVote(await open(template), { via: 'slack' }));
    expect([await cast('owners'), await cast('chat')]).toEqual(['not_in_chat', 'counted']);
  });

  it('remind in the thread of the message, with the buttons still in place', async () => {
    const request = await open('two');
    const message = await messageTo(request.id, 'U01ALICE');
    await service.database.pool.query(
      `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '10 minutes',
         remind_at = remind_at - interval '10 minutes' WHERE id = $1`,
      [request.id],
    );
    const reminder = await waitFor(() =>
      slack.messages.find(({ thread, channel }) => thread === message.ts && channel === message.channel),
    );
    expect(reminder.text).toMatch(/^Reminder: your decision is needed: /);
    expect(buttonsOf(message).approve).toBeDefined();
  });

  it('are repeated after an answer that may pass, and given up after one that stays', async () => {
    // No message of an earlier test takes an error away.
    const waiting = 'SELECT FROM approvals.message_outbox';
    await waitFor(async () => (await service.database.pool.query(waiting)).rowCount === 0);
    slack.errors.push('ratelimited', 'user_disabled');
    const request = await open('owners');
    await waitFor(() => service.log.includes('Slack refused the message (user_disabled)'));
    await waitFor(() => slack.about(request.id).length === 1);
    expect(service.log).not.toMatch(/alice@|U01ALICE|xoxb/);
  });
});
