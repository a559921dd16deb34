// cspell:disable -- addresses in several languages
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Undeliverable } from '../../../apps/approvals/channels/channel.ts';
import { emailChannel } from '../../../apps/approvals/channels/email.tsx';
import { checkChannels } from '../../../apps/cli/commands/doctor/channels.ts';
import { readDirectory } from '../../../apps/shared/directory/directory.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aUser, directoryText } from '../../support/directory.ts';
import { MailServer } from '../../support/mail-server.ts';
import { PATIENT_LIMITS } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

const at = (value: string) => ({ emails: [{ value }] });
const users = [
  aUser('alice', at('alice@münchen.example')),
  aUser('bob', at('böb@münchen.example')),
  aUser('carol', at('carol at home')),
];

describe('approvers with addresses outside ASCII', () => {
  const service = new ApprovalsUnderTest();
  const server = new MailServer();
  const folder = mkdtempSync(join(tmpdir(), 'addresses-'));
  const file = join(folder, 'people.json');
  const people = ['alice', 'bob', 'carol'];

  beforeAll(async () => {
    writeFileSync(file, directoryText(...users));
    const templates = { owners: { stages: [{ name: 'owner', approvers: { people } }] } };
    await service.start({
      directory: { file },
      approvals: { templates, channels: { mailbox: false, email: await server.start() } },
    });
  });
  afterAll(async () => {
    await service.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('get their mails: domains in ASCII, and other letters before the @ as they are', async () => {
    const { id } = await service.open({ claims: { template: 'owners' } });
    const mails = await waitFor(() => (server.about(id).length >= 2 ? server.about(id) : undefined));
    // The server reads domains in ASCII back as they were.
    expect(mails.flatMap(({ to }) => to).toSorted()).toEqual(['alice@münchen.example', 'böb@münchen.example']);
    expect(mails.find(({ to }) => to[0]?.startsWith('alice'))?.raw).toContain(
      'To: alice <alice@xn--mnchen-3ya.example>',
    );
  });

  it('are named in the log, without the address, if no mail can be sent to them', async () => {
    await service.open({ claims: { template: 'owners' } });
    const line = await waitFor(() => service.log.split('\n').find((one) => one.includes('a person gets no mail')));
    expect(JSON.parse(line)).toMatchObject({ level: 40, person: 'carol' });
    expect(service.log).not.toContain('at home');
  });

  it('are named by doctor, each with what to do', async () => {
    const found = await checkChannels(service.config);
    expect(found.map(({ name, status }) => `${status} ${name}`)).toEqual([
      'ok channel email',
      'warn mail to bob',
      'warn mail to carol',
    ]);
  });

  it('are given up by a server without SMTPUTF8 only if they need it', async () => {
    const old = new MailServer({ takesUtf8: false });
    const settings = { ...service.config.approvals.channels.email, ...(await old.start()) } as never;
    const directory = readDirectory(directoryText(...users), 'userName');
    const channel = await emailChannel(settings, {
      ...{ people: () => directory, inboxUrl: 'https://inbox.example', limits: PATIENT_LIMITS },
    });
    const message = {
      requestId: 'arq_1',
      kind: 'ask',
      key: 'ask 1',
      sentence: 'Write',
      link: 'https://x.example/',
      facts: [],
    } as const;
    const send = (person: string) => channel.send(message, { person, name: person });
    await expect(send('alice')).resolves.toContain('arq_1');
    await expect(send('bob')).rejects.toThrow(Undeliverable);
    await expect(send('bob')).rejects.not.toThrow(/böb/);
    channel.close?.();
    await old.stop();
  });
});
