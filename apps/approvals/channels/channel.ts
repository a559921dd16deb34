import type { ChannelName } from '../../shared/config/channel-settings.ts';
import { ServiceFailure } from '../../shared/outbox.ts';
import type { Message } from './message.ts';

/** A person whom a channel can reach, or its room. */
export interface Recipient {
  /** Subject; empty for the room of a channel. */
  readonly person: string;
  readonly name: string;
}

/** A way to tell people about requests. */
export interface Channel {
  /** Whether all its people read the same message. It then has one recipient, whose name is empty. */
  readonly isRoom: boolean;
  /** Whether people hear nothing when a message changes because it is over. Such a change does not wait for the end of quiet hours. */
  readonly endsSilently: boolean;
  /** Whether a message can change although it is not over, and people hear nothing. */
  readonly changesSilently: boolean;
  /** Those of these people whom it can reach now. Not for a room. */
  reachable(people: readonly string[]): Promise<readonly string[]>;
  /**
   * Sends the first message about a request to a recipient, and returns the id that later ones refer to. Throws `Undeliverable` if that
   * is of no use, and any other error to be tried again. It may be called again after it succeeded.
   */
  send(message: Message, to: Recipient): Promise<string | undefined>;
  /** Changes the message that was sent, or follows it up. `externalId` is what `send` returned, if that is known. */
  update(message: Message, to: Recipient, externalId: string | undefined): Promise<string | undefined>;
  /** Throws when it could send nothing now. Sends nothing. */
  examine?(): Promise<void>;
  /** Frees its connections. */
  close?(): void;
}

/** The message cannot arrive, so it is not tried again. */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable';
}

/** A failure to send. If the channel does not say which service failed, it has one service, for which all its messages wait. */
export const asServiceFailure = (cause: unknown, channel: ChannelName): ServiceFailure =>
  cause instanceof ServiceFailure ? cause : new ServiceFailure(`the channel ${channel} failed`, [channel], { cause });
