import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aUser, directoryText } from '../../support/directory.ts';
import { MailServer } from '../../support/mail-server.ts';
import { letPass } from '../../support/passing-time.ts';
import { times } from '../../support/regime.ts';
import { SlackServer } from '../../support/slack-server.ts';
import { waitFor } from '../../support/wait-for.ts';

/** As in a real day of agents: requests in forty minutes, and what each person may hear of them at most. */
const REQUESTS = times(120, 425);
const MINUTES = 40;
const MOST_HEARD = 20;
const people = ['alice', 'bob', 'carol'];
const both = { approvers: { people } };
const reminding = { name: 'owner', ...both, remindAfterSeconds: [600, 1_200], withinSeconds: 1_500, then: 'escalate' };
const templates = {
  owners: { stages: [{ name: 'owner', ...both }] },
  escalating: { stages: [reminding, { name: 'director', ...both, onlyOnEscalation: true }] },
};

describe('many requests', () => {
  const service = new ApprovalsUnderTest();
  const mail = new MailServer();
  const slack = new SlackServer();
  const folder = mkdtempSync(join(tmpdir(), 'flood-'));
  const open = (agent: string, template: keyof typeof templates = 'owners') =>
    service.open({ claims: { template }, agent });
  const pass = (minutes: number) => letPass(service.database.pool, minutes);
  /** No message is due or in hand. */
  const allTold = () =>
    waitFor(async () => {
      const due = `SELECT FROM approvals.message_outbox WHERE attempts > 0 OR available_at <= clock_timestamp()`;
      return (await service.database.pool.query(due)).rowCount === 0;
    });
  const mailsTo = (name: string) => mail.mails.filter(({ to }) => to.includes(`${name}@example.com`));
  const postsTo = (name: string) => slack.messages.filter(({ channel }) => channel === `DU01${name.toUpperCase()}`);
  const heardBy = (name: string) => mailsTo(name).length + postsTo(name).length;

  beforeAll(async () => {
    const file = join(folder, 'people.json');
    writeFileSync(
      file,
      directoryText(...people.map((name) => aUser(name, { emails: [{ value: `${name}@example.com` }] }))),
    );
    for (const name of ['alice', 'bob'])
      slack.accounts.set(`U01${name.toUpperCase()}`, { email: `${name}@example.com` });
    slack.accounts.set('U01CAROL', { email: 'carol@example.com' });
    await service.start({
      directory: { file },
      approvals: { templates, channels: { mailbox: false, email: await mail.start(), slack: await slack.start() } },
    });
  });
  afterAll(async () => {
    await service.stop();
    await Promise.all([mail.stop(), slack.stop()]);
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    await service.database.pool
      .query(`UPDATE approvals.message SET gathered = NULL; DELETE FROM approvals.message_outbox;
      DELETE FROM approvals.message WHERE access_request_id IS NULL; DELETE FROM approvals.alert`);
    await allTold();
    mail.mails.length = 0;
    slack.messages.length = 0;
  });

  it('tells each person a few by themselves, and the others in a digest that leads to the list of the agent', async () => {
    for (let at = 0; at < 4; at += 1) await open('claude-code');
    await allTold();
    expect([mailsTo('alice').length, postsTo('alice').length]).toEqual([4, 4]);
    for (let at = 0; at < 3; at += 1) await open('claude-code');
    await allTold();
    expect(heardBy('alice')).toBe(8);
    await pass(1);
    await allTold();
    const digest = mailsTo('alice').at(-1)?.mail;
    expect(digest?.subject).toBe('Approval: claude-code: 3 more');
    const link = /https?:\S+/.exec(digest?.text ?? '')?.[0] ?? '';
    expect(new URL(link).search).toBe('?status=yours&agent=claude-code');
    expect(await (await (await service.signIn('alice')).go(link)).text()).toContain('claude-code');
    expect(postsTo('alice').at(-1)?.text).toContain('claude-code: 3 more');
    expect(heardBy('alice')).toBe(10);
  });

  it('changes the digest in Slack in place, without a further post, and says there when nothing waits any more', async () => {
    const requests = [];
    for (let at = 0; at < 6; at += 1) requests.push(await open('coder'));
    await allTold();
    await pass(1);
    await allTold();
    const [digest] = postsTo('bob').filter(({ text }) => text.includes('more'));
    expect(digest?.text).toContain('coder: 2 more');
    const posts = postsTo('bob').length;
    requests.push(await open('coder'));
    await allTold();
    await pass(1);
    await allTold();
    expect([digest?.text, postsTo('bob').length]).toEqual(['Requests wait for you: coder: 3 more', posts]);
    for (const request of requests) await service.vote('alice', request, 'deny');
    await allTold();
    await pass(1);
    await allTold();
    expect([digest?.text, postsTo('bob').length]).toEqual(['Nothing waits for you any more. No requests', posts]);
    expect(digest?.blocks.length).toBeLessThan(5);
  });

  it('tells of a deadline that is near after three minutes, and of others after ten', async () => {
    const mails = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute += 1) {
        await pass(1);
        await allTold();
      }
      return mailsTo('carol').filter(({ mail: one }) => /more/.test(one.subject ?? '')).length;
    };
    for (let at = 0; at < 5; at += 1) await open('slow');
    await allTold();
    expect(await mails(1)).toBe(1);
    await open('slow');
    await allTold();
    expect([await mails(5), await mails(5)]).toEqual([1, 2]);
    await open('slow');
    await allTold();
    // In ten minutes, it ends.
    await service.database.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
      UPDATE approvals.access_request SET expires_at = clock_timestamp() + interval '10 min' WHERE status = 'pending';
      ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    expect(await mails(4)).toBe(3);
  });

  it(`lets each person hear at most ${MOST_HEARD} of ${REQUESTS} requests in ${MINUTES} minutes, and loses none`, async () => {
    const requests: { id: string; callDigest: string }[] = [];
    for (let minute = 0; minute < MINUTES; minute += 1) {
      while (requests.length < ((minute + 1) * REQUESTS) / MINUTES) {
        const agent = requests.length % 10 === 0 ? 'coder' : 'claude-code';
        requests.push(await open(agent, requests.length % 3 === 0 ? 'escalating' : 'owners'));
        const decided = requests.length % 4 === 0 ? requests[Math.floor(requests.length / 2)] : undefined;
        if (decided !== undefined) await service.vote('bob', decided, 'deny');
      }
      await allTold();
      await pass(1);
    }
    await allTold();
    const heard = Object.fromEntries(
      people.map((name) => [name, { mails: mailsTo(name).length, posts: postsTo(name).length }]),
    );
    process.emitWarning(`${REQUESTS} requests in ${MINUTES} minutes: ${JSON.stringify(heard)}`, 'Figures');
    for (const name of people) {
      expect(heardBy(name)).toBeLessThanOrEqual(MOST_HEARD);
      expect(heardBy(name)).toBeGreaterThan(8);
    }
    // After the hour, the mail digest has room. It and the messages of their own then name every open request.
    for (let minute = 0; minute < 70; minute += 5) {
      await pass(5);
      await allTold();
    }
    const waiting = await service.database.pool.query<{ id: string }>(
      `SELECT id FROM approvals.access_request WHERE status = 'pending' AND created_at > clock_timestamp() - interval '10 min'
         AND id = ANY ($1)`,
      [requests.map(({ id }) => id)],
    );
    const own = waiting.rows.filter(({ id }) => mailsTo('carol').some(({ raw }) => raw.includes(id)));
    const digest = mailsTo('carol').findLast(({ mail: one }) => /more/.test(one.subject ?? ''))?.mail.subject ?? '';
    const counted = [...digest.matchAll(/: (\d+) more/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    expect(counted + own.length).toBeGreaterThanOrEqual(waiting.rows.length);
    expect(waiting.rows.length).toBeGreaterThan(REQUESTS / 4);
  });
});
