import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { packagePath } from '../../apps/shared/config/files.ts';

const tls = (name: string) => packagePath('test', 'fixtures', 'tls', name);

export const MAIL_PASSWORD = 'of the mailer';

interface Arrived {
  readonly mail: ParsedMail;
  readonly raw: string;
  readonly to: readonly string[];
  readonly wasSecure: boolean;
}

/** An SMTP server that demands STARTTLS and a sign-in, with a certificate of the tests' own authority. It keeps what arrives. */
export class MailServer {
  readonly mails: Arrived[] = [];
  /** Answers to the next recipients: a reply code, or `hang` for none at all. */
  readonly answers: (number | 'hang')[] = [];
  /** Whether it takes addresses outside ASCII (SMTPUTF8). */
  readonly #takesUtf8: boolean;
  constructor({ takesUtf8 = true }: { readonly takesUtf8?: boolean } = {}) {
    this.#takesUtf8 = takesUtf8;
    this.#server = this.#create();
  }
  readonly #server: SMTPServer;
  #create = () =>
    new SMTPServer({
      ...(!this.#takesUtf8 && { hideSMTPUTF8: true }),
      key: readFileSync(tls('server.key')),
      cert: readFileSync(tls('server.pem')),
      authMethods: ['PLAIN'],
      logger: false,
      onAuth: ({ username, password }, _session, done) =>
        username === 'mailer' && password === MAIL_PASSWORD
          ? done(null, { user: username })
          : done(new Error('wrong password')),
      onRcptTo: (_address, _session, done) => {
        const answer = this.answers.shift();
        if (answer === 'hang') return;
        done(answer === undefined ? null : Object.assign(new Error('refused'), { responseCode: answer }));
      },
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const raw = Buffer.concat(chunks);
          void simpleParser(raw).then((mail) => {
            const to = session.envelope.rcptTo.map(({ address }) => address);
            this.mails.push({ mail, raw: raw.toString('utf8'), to, wasSecure: session.secure });
            done();
          }, done);
        });
      },
    });

  /** Returns the settings of the channel. */
  async start() {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.server.address() as AddressInfo;
    return {
      ...{ host: '127.0.0.1', port, ca: tls('ca.pem'), user: 'mailer', password: MAIL_PASSWORD },
      from: 'approvals@example.com',
    };
  }

  stop = () => new Promise<void>((resolve) => this.#server.close(resolve));

  /** Mails to a person about a request, in the order of their arrival. */
  about(id: string, address?: string): Arrived[] {
    return this.mails.filter(({ raw, to }) => raw.includes(id) && (address === undefined || to.includes(address)));
  }
}
