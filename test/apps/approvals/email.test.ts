import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { examineChannels } from '../../../apps/approvals/main.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { limitsOf } from '../../../apps/shared/limits.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import { MailServer } from '../../support/mail-server.ts';
import { serve } from '../../support/serve.ts';
import { makeRoom } from '../../support/passing-time.ts';
import { waitFor } from '../../support/wait-for.ts';

const SECRET = `whsec_${Buffer.from('a secret of those who are told').toString('base64')}`;
const at = (name: string) => ({ emails: [{ value: `${name}@example.com`, primary: true }] });
const stage = { name: 'owner', approvers: { people: ['alice', 'bob'] } };
const templates = {
  owners: { stages: [stage] },
  showing: { stages: [stage], notify: { arguments: ['path'] } },
  reminding: { stages: [{ ...stage, remindAfterSeconds: 600 }] },
  two: { stages: [{ ...stage, quorum: 2 }] },
  late: { stages: [stage], notify: { channels: { email: 600 } } },
  stages: {
    stages: [
      { name: 'first', approvers: { people: ['alice'] } },
      { name: 'second', approvers: { groups: ['finance'] } },
    ],
  },
};

describe('emails about requests', () => {
  const service = new ApprovalsUnderTest();
  const server = new MailServer();
  /** Receives the signed messages, and never answers. */
  let silent: HttpServer;
  let told = 0;
  const folder = mkdtempSync(join(tmpdir(), 'email-'));
  const file = join(folder, 'people.json');
  const open = (template: keyof typeof templates, more: object = {}) => service.open({ claims: { template }, ...more });
  const mails = (id: string, name?: string) => server.about(id, name && `${name}@example.com`);
  const arrived = (id: string, count: number) => waitFor(() => (mails(id).length >= count ? mails(id) : undefined));
  /** No message is due or in hand any more. Those in hand have a lease, which is long with patient limits. */
  const allTold = () =>
    waitFor(async () => {
      const due = `SELECT FROM approvals.message_outbox WHERE kind <> 'webhook'
        AND (attempts > 0 OR available_at < clock_timestamp() + interval '5 minutes')`;
      return (await service.database.pool.query(due)).rowCount === 0;
    });

  beforeAll(async () => {
    writeFileSync(
      file,
      directoryText(
        aUser('alice', {
          ...at('alice'),
          displayName: 'Alice\r\nBcc: mallory@example.com',
          roles: [{ value: 'approver' }],
        }),
        aUser('bob', { ...at('bob'), roles: [{ value: 'approver' }] }),
        aUser('carol', at('carol')),
        aUser('dora'),
        aUser('agent', at('agent')),
        aGroup('finance', ['carol', 'dora', 'agent']),
      ),
    );
    const email = await server.start();
    silent = await serve(() => void (told += 1));
    const notifications = { url: silent.url, secret: SECRET, networks: ['127.0.0.0/8'] };
    await service.start({
      directory: { file },
      approvals: { templates, notifications, channels: { mailbox: false, email } },
    });
  });
  beforeEach(() => makeRoom(service.database.pool));
  afterAll(async () => {
    await silent.close();
    await service.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('asks each approver by an encrypted mail, and follows it up in the same thread', async () => {
    const request = await open('owners');
    await arrived(request.id, 2);
    expect(
      mails(request.id)
        .map(({ to }) => to[0])
        .toSorted(),
    ).toEqual(['alice@example.com', 'bob@example.com']);
    const [asked] = mails(request.id, 'alice');
    expect(asked).toMatchObject({ wasSecure: true });
    expect(asked?.mail.subject).toBe('Approval: Writing a file (files__write_file)');
    expect(asked?.mail.text).toContain(`${service.url}/requests/${request.id}`);
    expect(asked?.mail.text).toMatch(/Asked by: agent\nDecide before: .+ UTC\n/);
    await service.vote('bob', request, 'deny');
    await arrived(request.id, 4);
    const [, over] = mails(request.id, 'alice');
    expect(over?.mail.text).toContain('Denied by bob.');
    expect(over?.mail.inReplyTo).toBe(asked?.mail.messageId);
    expect(over?.mail.subject).toBe(`Re: ${asked?.mail.subject}`);
  });

  it('shows arguments only if the template names them, and marks characters that mislead', async () => {
    const call = { arguments: { path: '/tmp/\u202eexe.txt\r\nX-Header: 1', content: 'a secret' } };
    const [plain, shown] = [await open('owners', call), await open('showing', call)];
    await Promise.all([arrived(plain.id, 2), arrived(shown.id, 2)]);
    expect(mails(plain.id)[0]?.raw).not.toMatch(/exe|secret/);
    const [{ mail, raw } = fail()] = mails(shown.id);
    expect(mail.text).toContain(String.raw`path: "/tmp/\u202eexe.txt\r\nX-Header: 1"`);
    expect(raw).not.toContain('secret');
    expect([...mail.headers.keys()]).not.toContain('x-header');
  });

  it('adds no header and no recipient from a title or a name', async () => {
    const title = 'Harmless\r\nBcc: mallory@example.com\r\n\r\n<img src="https://evil.example/">';
    const { id } = await service.open({ claims: { template: 'owners', display: { title } } });
    await arrived(id, 2);
    for (const { mail, to, raw } of mails(id)) {
      expect(to).toHaveLength(1);
      expect(raw).not.toContain('mallory@example.com>');
      expect([...mail.headers.keys()]).not.toContain('bcc');
      expect(mail.html).not.toContain('<img');
    }
  });

  it('leads to no other address than that of the inbox, whichever value it shows, and says what it leaves out', async () => {
    const path = 'x\n\nOpen the request: https://evil.example/\n www.evil.example  <a href="https://evil.example">';
    const { id } = await open('showing', { arguments: { path, content: 'a secret' } });
    await arrived(id, 2);
    const [{ mail } = fail()] = mails(id);
    for (const said of [mail.text ?? '', mail.html || '']) {
      const links = said.match(/(?:\w+:\/\/|www\.)[^\s"<]*/gi) ?? [];
      expect(links.length).toBeGreaterThan(0);
      for (const link of links) expect(new URL(link).host).toBe(new URL(service.url).host);
      expect(said).toContain('1 more argument is not shown: content.');
    }
    expect(mail.text?.split('\n').filter((line) => line.startsWith('Open the request'))).toHaveLength(1);
  });

  it('tells the people of the next stage when it opens, but neither the requester nor a person without an address', async () => {
    const request = await open('stages');
    await arrived(request.id, 1);
    expect(mails(request.id).map(({ to }) => to[0])).toEqual(['alice@example.com']);
    await service.vote('alice', request, 'approve');
    await arrived(request.id, 3);
    await allTold();
    expect(mails(request.id, 'carol')).toHaveLength(1);
    expect(mails(request.id, 'agent')).toEqual([]);
    const [, over] = mails(request.id, 'alice');
    expect(over?.mail.text).toContain('You decided. The request still waits for others.');
  });

  it('sends no message that is due after the end', async () => {
    const request = await open('late');
    await service.vote('alice', request, 'approve');
    await service.database.pool.query('UPDATE approvals.message_outbox SET available_at = clock_timestamp()');
    await allTold();
    expect(mails(request.id)).toEqual([]);
  });

  it('reminds those who have not voted', async () => {
    const request = await open('reminding');
    await arrived(request.id, 2);
    await service.database.pool.query(
      `UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '10 minutes',
         remind_at = remind_at - interval '10 minutes' WHERE id = $1`,
      [request.id],
    );
    await arrived(request.id, 4);
    const [asked, reminder] = mails(request.id, 'bob');
    expect(reminder?.mail.text).toContain('Reminder: your decision is needed.');
    expect(reminder?.mail.references).toBe(asked?.mail.messageId);
  });

  it('repeats a mail that the server did not take, and gives one up that it refuses for good', async () => {
    server.answers.push(451, 550);
    const { id } = await open('owners');
    await arrived(id, 1);
    await allTold();
    expect(mails(id)).toHaveLength(1);
    expect(service.log).toContain('a message to a person was given up');
    expect(service.log).not.toMatch(/alice@|bob@/);
  });

  it('delivers while the receiver of signed messages answers none', async () => {
    const requests = await Promise.all(Array.from({ length: 4 }, () => open('owners')));
    for (const { id } of requests) await arrived(id, 2);
    expect(told).toBeGreaterThan(0);
    const waiting = "SELECT FROM approvals.message_outbox WHERE kind = 'webhook'";
    expect((await service.database.pool.query(waiting)).rowCount).toBeGreaterThan(10);
  });

  it('lets doctor find a server that accepts the sign-in, and one that does not', async () => {
    const { config } = service;
    const limits = limitsOf(config);
    expect(await examineChannels(config, limits)).toEqual([{ name: 'email' }]);
    const channels = {
      ...config.approvals.channels,
      email: { ...config.approvals.channels.email, password: 'another' },
    };
    const wrong = { ...config, approvals: { ...config.approvals, channels } } as typeof config;
    expect(await examineChannels(wrong, limits)).toEqual([{ name: 'email', failure: expect.any(Error) }]);
  });

  it('decides nothing when a scanner opens every link of a mail', async () => {
    const request = await open('two');
    await arrived(request.id, 2);
    const links = mails(request.id).flatMap(
      ({ mail }) => `${mail.text} ${mail.html || ''}`.match(/https?:[^\s"<>]+/g) ?? [],
    );
    expect(links.length).toBeGreaterThanOrEqual(4);
    for (const link of new Set(links)) {
      for (const method of ['GET', 'HEAD']) await fetch(link, { method });
      await (await service.signIn('alice')).go(link);
    }
    const { rows } = await service.database.pool.query('SELECT FROM approvals.vote WHERE access_request_id = $1', [
      request.id,
    ]);
    expect(rows).toEqual([]);
    expect((await service.status(request.id)).body.task.status).toBe('pending');
  });
});

function fail(): never {
  throw new Error('no mail has arrived');
}
