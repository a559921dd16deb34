import { resolve } from 'node:path';
import * as z from 'zod';
import { isLoopbackHost } from '../http/known-hosts.ts';
import type { SettingProblem } from './problems.ts';
import { isTimeZone, listOf, network, off, port, secret, section, text, trustworthyUrl } from './units.ts';

/** Channels that reach people, in the order in which pages name them. */
export const CHANNEL_NAMES = ['email', 'slack', 'teams', 'push'] as const;
export type ChannelName = (typeof CHANNEL_NAMES)[number];

const delay = z.number().int().min(0).max(86_400);
const afterSeconds = delay
  .default(0)
  .describe(
    'How long after the opening of a stage the channel tells people, in seconds. A request that is decided by then is not told.',
  );

const email = z
  .strictObject({
    host: text.describe('Name or address of the SMTP server.'),
    port: port.default(587).describe('Port of the SMTP server.'),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe(
        '`starttls` and `tls` verify the certificate of the server, and send nothing without encryption. `none` is for servers on ' +
          'this machine.',
      ),
    ca: text
      .optional()
      .describe(
        'File with the certificate of the authority (PEM) that issued that of the server. Without it, the authorities of Node.js.',
      ),
    user: text.optional().describe('User name at the SMTP server. Give it together with `password`.'),
    password: secret.optional().describe('Password at the SMTP server.'),
    from: z
      .string()
      .regex(z.regexes.email, 'use an address such as approvals@example.com')
      .describe('Address from which messages come.'),
    fromName: text.default('Countersign').describe('Name that stands before that address.'),
    afterSeconds,
  })
  .refine(({ security, host }) => security !== 'none' || isLoopbackHost(host), {
    path: ['security'],
    error: 'messages to another machine must be encrypted: use starttls or tls',
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    path: ['password'],
    error: 'give user and password, or neither',
  });

const slack = z.strictObject({
  token: secret.describe(
    'Token of the Slack app (`xoxb-…`), with the scopes `chat:write`, `users:read` and `users:read.email`.',
  ),
  signingSecret: secret.describe('Signing secret of the Slack app, which proves that buttons were pressed in Slack.'),
  apiUrl: trustworthyUrl.default('https://slack.com/api/').describe('Address of the Web API of Slack.'),
  afterSeconds,
});

const teams = z.strictObject({
  webhook: secret.describe(
    'Address of a workflow of Teams with the trigger "When a Teams webhook request is received". It has a signature, so keep it secret.',
  ),
  networks: listOf(network).describe(
    'Private networks that the address may be in. Without it, the address must be public.',
  ),
  afterSeconds,
});

const push = z.strictObject({
  subject: z
    .string()
    .regex(
      /^(mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/,
      'use an address such as mailto:approvals@example.com, or one with https',
    )
    .describe('Where the operator of a push service reaches you: `mailto:` with an address, or a page with https.'),
  privateKey: secret.describe(
    'Private key that signs requests to push services (VAPID), as `npx web-push generate-vapid-keys` prints it. The public key follows ' +
      'from it. With another key, browsers have to subscribe again.',
  ),
  networks: listOf(network).describe(
    'Private networks that push services may be in. Without it, their addresses must be public.',
  ),
  afterSeconds,
});

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'use a time of day such as 22:00');

const quietHours = z
  .strictObject({
    from: timeOfDay.describe('Time of day from which people get no messages.'),
    until: timeOfDay.describe('Time of day at which people get the messages that are due by then.'),
    timeZone: z
      .string()
      .refine(isTimeZone, 'use an IANA time zone, such as Europe/Zurich')
      .default('UTC')
      .describe('Time zone of people for whom the directory has none (`timezone`).'),
  })
  .refine(({ from, until }) => from !== until, {
    path: ['until'],
    error: 'the hours are empty: use two different times',
  })
  .optional()
  .describe(
    'Hours in which people get no messages, except about requests of urgent templates. Without it, at any hour.',
  );

/** Where people are told about requests. */
export const channelSettings = section({
  email: email.optional().describe('Messages by email, to the primary address that the directory has of a person.'),
  slack: slack
    .optional()
    .describe('Direct messages in Slack, to the person whom the directory names there, or who has its address.'),
  teams: teams
    .optional()
    .describe(
      'Cards in one channel or chat of Microsoft Teams, which all its members read. They name no approver until the end.',
    ),
  push: push
    .optional()
    .describe(
      'Notices of browsers (Web Push), in each browser in which a person has switched them on. They say what is asked for, in one sentence.',
    ),
  quietHours,
  mailbox: z
    .boolean()
    .optional()
    .describe(
      'Shows at `/mailbox` what the channels would send that are not configured. For development only, where it is the default.',
    ),
}).describe('How people are told about requests that they may decide. Each channel has its own settings.');

export type ChannelSettings = z.infer<typeof channelSettings>;
export type EmailSettings = NonNullable<ChannelSettings['email']>;
export type SlackSettings = NonNullable<ChannelSettings['slack']>;
export type TeamsSettings = NonNullable<ChannelSettings['teams']>;
export type PushSettings = NonNullable<ChannelSettings['push']>;
export type QuietHours = NonNullable<ChannelSettings['quietHours']>;

/** How people are told about requests of one template. */
export const notifySettings = section({
  channels: z
    .partialRecord(z.enum(CHANNEL_NAMES), delay)
    .optional()
    .describe(
      'Channels that tell people, each with its delay from the opening of a stage, in seconds. Without it, all configured channels ' +
        'with their `afterSeconds`.',
    ),
  urgent: off.describe('Tells people in quiet hours, too.'),
  arguments: listOf(text).describe(
    'Names of arguments of the call whose values messages show. Without it, messages show no argument.',
  ),
}).describe('How people are told about requests of this template.');

export type NotifySettings = z.infer<typeof notifySettings>;

interface Told {
  readonly mode: 'development' | 'production';
  readonly approvals: {
    readonly channels: ChannelSettings;
    readonly notifications?: object | undefined;
    readonly templates: Readonly<Record<string, { readonly notify: NotifySettings }>>;
  };
}

/** Whether the mailbox stands in for channels that are not configured. */
export const hasMailbox = ({ mode, approvals }: Told): boolean =>
  mode === 'development' && (approvals.channels.mailbox ?? true);

/** The channels that tell people, the mailbox's included. */
export const channelsInUse = (config: Told): ChannelName[] =>
  CHANNEL_NAMES.filter((name) => hasMailbox(config) || config.approvals.channels[name] !== undefined);

/** Whether anything is told about requests, to people or to programs. */
export const isTold = (config: Told): boolean =>
  config.approvals.notifications !== undefined || channelsInUse(config).length > 0;

/** A template must not count on a channel that is not there. */
export function channelProblems(config: Told): SettingProblem[] {
  const { channels, templates } = config.approvals;
  const inUse = channelsInUse(config);
  const misplaced =
    config.mode === 'production' && channels.mailbox === true
      ? [{ path: ['approvals', 'channels', 'mailbox'], message: 'is for development: leave it out' }]
      : [];
  const missing = Object.entries(templates).flatMap(([name, { notify }]) =>
    Object.keys(notify.channels ?? {})
      .filter((one) => !inUse.includes(one as ChannelName))
      .map((one) => ({
        path: ['approvals', 'templates', name, 'notify', 'channels', one],
        message: `the channel is not configured: add approvals.channels.${one}`,
      })),
  );
  return [...misplaced, ...missing];
}

/** Relative file names of certificates start at `baseDir`. Those of secrets are made absolute with all others. */
export function withAbsoluteAuthority({ email: mail, ...others }: ChannelSettings, baseDir: string): ChannelSettings {
  return { ...others, email: mail?.ca === undefined ? mail : { ...mail, ca: resolve(baseDir, mail.ca) } };
}
