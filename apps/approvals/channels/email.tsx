import { readFileSync } from 'node:fs';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import { renderToString } from 'preact-render-to-string';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { EmailSettings } from '../../shared/config/channel-settings.ts';
import { secretText } from '../../shared/config/secrets.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import { needsSmtpUtf8 } from '../../shared/directory/mail-address.ts';
import type { Limits } from '../../shared/limits.ts';
import { visibleTitle } from '../../shared/pages/visible-text.ts';
import { type Channel, type Recipient, Undeliverable } from './channel.ts';
import { linksOf, type Message } from './message.ts';

/** Messages that this process sends at the same time. */
export const MAILS_AT_ONCE = 4;

const OPENING = {
  ask: 'Your decision is needed',
  remind: 'Reminder: your decision is needed',
  question: 'An approver asks you about your request',
  digest: 'Requests wait for you',
  over: 'Nothing to do any more',
};
const noteOf = ({ kind }: Message) =>
  `A link only opens a page. You ${kind === 'question' ? 'answer' : 'decide'} there.`;

export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A message as an email. Follow-ups keep the subject, so that mail programs show one thread. */
export function mailOf(message: Message): Mail {
  const { kind, sentence, facts, leftOut, outcome } = message;
  const links = linksOf(message).map(([label, address]) => `${label}: ${address}`);
  const lines = [...facts.map(([name, value]) => `${name}: ${value}`), ...(leftOut === undefined ? [] : [leftOut])];
  const first = outcome ?? `${OPENING[kind]}.`;
  return {
    subject: `${kind === 'ask' || kind === 'digest' ? '' : 'Re: '}Approval: ${sentence}`,
    text: [`${first}\n`, sentence, ...lines, '', ...links, noteOf(message), ''].join('\n'),
    html: `<!doctype html>${renderToString(<MailPage message={message} first={first} />)}`,
  };
}

function MailPage({ first, message }: { readonly first: string; readonly message: Message }) {
  const { sentence, facts, leftOut } = message;
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <title>{first}</title>
      </head>
      <body>
        <p>{first}</p>
        <p>
          <strong>{sentence}</strong>
        </p>
        <table>
          {facts.map(([name, value]) => (
            <tr key={name}>
              <th align="left">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </table>
        {leftOut !== undefined && <p>{leftOut}</p>}
        {linksOf(message).map(([label, address]) => (
          <p key={address}>
            <a href={address}>{label}</a>
          </p>
        ))}
        <p>{noteOf(message)}</p>
      </body>
    </html>
  );
}

interface EmailOptions {
  readonly people: DirectorySource;
  /** Public address of the inbox, whose name is in the ids of messages. */
  readonly inboxUrl: string;
  readonly limits: Limits;
  /** Hears of people to whom no mail can be sent. */
  readonly log?: Logger;
}

/** Connects to the SMTP server at the first message. Throws `ERR_CONFIG_INVALID` for a file that cannot be read. */
export async function openTransport(settings: EmailSettings, limits: Limits) {
  const { host, port, security, ca, user, password } = settings;
  const pass = password === undefined ? undefined : await secretText(password, 'approvals.channels.email.password', 1);
  return createTransport({
    pool: true,
    maxConnections: MAILS_AT_ONCE,
    ...{ host, port },
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user !== undefined && { auth: { user, pass } }),
    ...(ca !== undefined && { tls: { ca: certificateIn(ca) } }),
    connectionTimeout: limits.webhookMs,
    greetingTimeout: limits.webhookMs,
    socketTimeout: limits.webhookMs,
    dnsTimeout: limits.webhookMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function certificateIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `approvals.channels.email.ca: cannot read the file ${file}`, {
      cause,
    });
  }
}

/** Emails to the addresses of the directory. Ids depend on request and person alone, so a repeated message is recognizably one. */
export async function emailChannel(settings: EmailSettings, options: EmailOptions): Promise<Channel> {
  const { people, inboxUrl, limits } = options;
  const transport = await openTransport(settings, limits);
  const host = new URL(inboxUrl).hostname;
  const idOf = ({ requestId, key }: Message, { person }: Recipient, isFirst: boolean) => {
    const parts = [requestId, sha256(person).slice(0, 16), ...(isFirst ? [] : [key.replaceAll(' ', '.')])];
    return `<${parts.join('.')}@${host}>`;
  };
  const post = async (message: Message, to: Recipient, isFirst: boolean) => {
    const address = people().find(to.person)?.email;
    if (address === undefined) throw new Undeliverable('the directory has no address of the person any more');
    const first = idOf(message, to, true);
    try {
      const { ehlo } = await transport.sendMail({
        from: { name: settings.fromName, address: settings.from },
        to: { name: visibleTitle(to.name), address },
        messageId: idOf(message, to, isFirst),
        ...(!isFirst && { inReplyTo: first, references: [first] }),
        // Programs that answer for people who are away must not answer this (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        ...mailOf(message),
      });
      if (needsSmtpUtf8(address) && !offersSmtpUtf8(ehlo)) throw new Undeliverable(NO_SMTPUTF8);
    } catch (error) {
      if (error instanceof Undeliverable) throw error;
      throw refusalOf(error);
    }
    return first;
  };
  return {
    isRoom: false,
    endsSilently: false,
    changesSilently: false,
    reachable: reachableIn(options),
    send: (message, to) => post(message, to, true),
    update: (message, to) => post(message, to, false),
    async examine() {
      await transport.verify();
    },
    close: () => transport.close(),
  };
}

/** Those of some people to whom mail can be sent. The log names each other person once who has an address. */
function reachableIn({ people, log }: Pick<EmailOptions, 'people' | 'log'>): Channel['reachable'] {
  const named = new Set<string>();
  return async (subjects) =>
    subjects.filter((one) => {
      const { email, hasUnusableEmail } = people().find(one) ?? {};
      if (hasUnusableEmail && !named.has(one))
        log?.warn({ person: one }, 'a person gets no mail: correct the address in the directory');
      if (hasUnusableEmail) named.add(one);
      return email !== undefined;
    });
}

const NO_SMTPUTF8 = 'the SMTP server takes no address outside ASCII (it does not offer SMTPUTF8)';
/** What the server said that it can do, before it took the message. */
const offersSmtpUtf8 = (said: unknown): boolean => /\bSMTPUTF8\b/i.test(String(said));

/** The server's answer may name the person, whom the log must not name. */
function refusalOf(error: unknown): Error {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  const why = [code, command, responseCode].filter((one) => one !== undefined).join(' ');
  // cspell:ignore EENVELOPE EMESSAGE
  // Only an answer about this message or its address is final. A wrong password is for the operator to mend.
  const isFinal = code === 'EENVELOPE' || code === 'EMESSAGE';
  if (isFinal && (responseCode ?? 0) >= 500) return new Undeliverable(`the SMTP server refused the message (${why})`);
  return new Error(`the SMTP server did not take the message (${why})`);
}
