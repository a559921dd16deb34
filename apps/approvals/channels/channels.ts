import type { WebClient } from '@slack/web-api';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import {
  CHANNEL_NAMES,
  type ChannelName,
  channelsInUse,
  hasMailbox,
  isTold,
} from '../../shared/config/channel-settings.ts';
import type { Config } from '../../shared/config/config.ts';
import { secretText } from '../../shared/config/secrets.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import type { Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';
import { startOutbox } from '../../shared/outbox.ts';
import { createNotificationSender } from '../callbacks/send-notification.ts';
import { createSignedPost } from '../callbacks/signed-post.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { PushSubscriptionStore } from '../stores/push-subscription.store.ts';
import { createAddressing } from './address.ts';
import type { Channel } from './channel.ts';
import { createDelivery } from './deliver.ts';
import { emailChannel, mailOf } from './email.tsx';
import { createMailbox, type ContentOf, type Mailbox } from './mailbox.tsx';
import { noticeOf, openPush, type Push } from './push.ts';
import type { Recipients } from './recipients.ts';
import { blocksOf, type SealBallot, slackChannel, slackClient } from './slack.ts';
import { postOf, teamsChannel } from './teams.ts';
import { ballotSealer, type OpenBallot } from './slack-decisions.ts';

/** Messages of one channel that this process sends at the same time. */
const AT_ONCE = 4;

interface ChannelOptions extends Timing {
  readonly config: Config;
  readonly people: DirectorySource;
  readonly subscriptions: PushSubscriptionStore;
  /** Seals what buttons in a chat decide. */
  readonly sessionSecret: string;
  readonly log?: Logger;
}

export interface Channels {
  readonly byName: ReadonlyMap<ChannelName, Channel>;
  /** What the channels would send that are not configured; in development only. */
  readonly mailbox: Mailbox | undefined;
  /** For decisions in Slack, if it is configured. */
  readonly slack: { readonly client: WebClient; readonly signingSecret: string; readonly open: OpenBallot } | undefined;
  /** For people who switch notices on in a browser, if they are configured. */
  readonly push: Push | undefined;
}

/** The channels that tell people. Throws `ERR_CONFIG_INVALID` for a secret or a file that cannot be used. */
export async function openChannels({
  config,
  people,
  subscriptions,
  sessionSecret,
  log,
  ...timing
}: ChannelOptions): Promise<Channels> {
  const { email, slack, teams, push: ofBrowsers } = config.approvals.channels;
  const { clock, limits } = timing;
  const mailbox = hasMailbox(config) ? createMailbox(clock) : undefined;
  const { seal, open } = ballotSealer(sessionSecret, clock);
  const byName = new Map<ChannelName, Channel>();
  const inboxUrl = config.urls.approvals;
  if (email !== undefined)
    byName.set('email', await emailChannel(email, { people, inboxUrl, limits, ...(log && { log }) }));
  const client = slack && (await slackClient(slack, limits));
  if (client !== undefined) byName.set('slack', slackChannel(client, { people, seal }));
  if (teams !== undefined) byName.set('teams', await teamsChannel(teams, timing));
  const push = ofBrowsers && (await openPush(ofBrowsers, { subscriptions, ...timing }));
  if (push !== undefined) byName.set('push', push.channel);
  for (const name of CHANNEL_NAMES) {
    if (mailbox !== undefined && !byName.has(name))
      byName.set(name, mailbox.channel(name, CONTENT[name](seal), FORM[name]));
  }
  const signingSecret = slack && (await secretText(slack.signingSecret, 'approvals.channels.slack.signingSecret'));
  const forSlack = client && signingSecret !== undefined ? { client, signingSecret, open } : undefined;
  return { byName, mailbox, slack: forSlack, push };
}

const NO_SUBSCRIPTIONS: PushSubscriptionStore = {
  of: async () => [],
  subscribe: async () => undefined,
  noteReach: async () => true,
  unsubscribe: async () => undefined,
};

/** Asks each configured channel whether it could send. `failure` says why it could not. */
export async function examineChannels(
  options: Omit<ChannelOptions, 'subscriptions'>,
): Promise<{ readonly name: ChannelName; readonly failure?: unknown }[]> {
  const { byName } = await openChannels({ ...options, subscriptions: NO_SUBSCRIPTIONS });
  const examined = [...byName].map(async ([name, channel]) => {
    const failure: unknown = await channel.examine?.().catch((error: unknown) => error);
    channel.close?.();
    return { name, ...(failure !== undefined && { failure }) };
  });
  const found = await Promise.all(examined);
  return found.filter(({ name }) => options.config.approvals.channels[name] !== undefined);
}

/** What the mailbox shows of a message. */
const CONTENT: Readonly<Record<ChannelName, (seal: SealBallot) => ContentOf>> = {
  email: () => async (message) => {
    const { subject, text, html } = mailOf(message);
    return { title: subject, exact: `Subject: ${subject}\n\n${text}\n${html}` };
  },
  slack:
    (seal) =>
    async (message, { person }) => {
      const blocks = await blocksOf(message, person, seal);
      const exact = JSON.stringify(blocks, null, 2);
      const { ballot } = message;
      const buttons = ballot === undefined ? [] : ballot.mayApprove ? ['Approve', 'Deny'] : ['Deny'];
      return { title: message.sentence, exact, buttons };
    },
  teams: () => async (message) => ({
    title: message.sentence,
    exact: JSON.stringify(postOf(message), null, 2),
  }),
  push: () => async (message) => ({
    title: message.sentence,
    ...{ facts: [], leftOut: undefined },
    exact: JSON.stringify(noticeOf(message), null, 2),
  }),
};
const FORM = {
  email: { inPlace: false, isRoom: false },
  slack: { inPlace: true, isRoom: false },
  teams: { inPlace: false, isRoom: true },
  push: { inPlace: true, isRoom: false },
} as const satisfies Record<ChannelName, object>;

interface TellingOptions extends Omit<ChannelOptions, 'sessionSecret' | 'subscriptions'> {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly store: AccessRequestStore;
  readonly recipients: Recipients;
  readonly channels: Channels;
  readonly log: Logger;
}

/** Tells people by the channels, and programs by the signed message. Channels do not wait for each other. */
export async function startTelling(options: TellingOptions): Promise<Running> {
  const { pool, databaseUrl, config, channels, clock, limits, log } = options;
  if (!isTold(config)) return { name: 'messages', stop: async () => undefined };
  const deliveries = channelsInUse(config).flatMap((name) => {
    const channel = channels.byName.get(name);
    return channel === undefined ? [] : [[name, createDelivery(name, channel, options)] as const];
  });
  const outbox = await startOutbox({
    ...{ pool, clock, limits, log },
    listenUrl: databaseUrl,
    schema: 'approvals',
    table: 'message_outbox',
    channel: 'approvals_outbox',
    handlers: {
      notice: createAddressing({ ...options, channels: channels.byName }),
      webhook: createNotificationSender({
        ...options,
        receiver: await notified(options),
        inboxUrl: config.urls.approvals,
      }),
      ...Object.fromEntries(deliveries),
    },
    concurrency: AT_ONCE,
    apart: true,
  });
  return {
    name: 'messages',
    async stop() {
      await outbox.stop();
      for (const channel of channels.byName.values()) channel.close?.();
    },
  };
}

async function notified({ config, ...time }: Pick<TellingOptions, 'config' | 'clock' | 'limits'>) {
  const { notifications } = config.approvals;
  if (notifications === undefined) return undefined;
  const secret = await secretText(notifications.secret, 'approvals.notifications.secret');
  return { url: notifications.url, post: createSignedPost({ secret, networks: notifications.networks }, time) };
}
