import type { Logger } from 'pino';
import type { ChannelName } from '../../shared/config/channel-settings.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import type { Timing } from '../../shared/limits.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { Channel } from './channel.ts';
import type { Recipients } from './recipients.ts';

/** What the delivery of messages and digests rests on. */
export interface DeliveryOptions extends Timing {
  readonly config: Pick<Config, 'approvals' | 'tools' | 'urls'>;
  readonly store: Pick<
    AccessRequestStore,
    | 'find'
    | 'remindersIn'
    | 'holdMessage'
    | 'beginMessage'
    | 'noteMessage'
    | 'releaseMessage'
    | 'postponeMessage'
    | 'admitMessage'
    | 'admitDigest'
    | 'leaveDigest'
    | 'scheduleDigest'
    | 'gatheredFor'
  >;
  readonly people: DirectorySource;
  readonly recipients: Recipients;
  readonly log: Logger;
}

/** The same for the messages of one channel. */
export type Bringing = DeliveryOptions & { readonly name: ChannelName; readonly channel: Channel };
