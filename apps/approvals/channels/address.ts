import { type AccessRequest, isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import { hasPeople } from '../../../workflows/domain/access-request/eligibility.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { ChannelName } from '../../shared/config/channel-settings.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import type { OutboxHandler } from '../../shared/outbox.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { Addressed } from '../stores/messages.ts';
import type { Channel } from './channel.ts';
import type { Recipients } from './recipients.ts';
import { delayOf, notifyOf, whenAllowed } from './schedule.ts';

export interface AddressOptions {
  readonly config: Pick<Config, 'approvals'>;
  readonly store: Pick<AccessRequestStore, 'noticeOf' | 'find' | 'addressNotice'>;
  readonly channels: ReadonlyMap<ChannelName, Channel>;
  readonly people: DirectorySource;
  readonly recipients: Recipients;
}

/**
 * Finds out whom a notice concerns, and queues a message for each of these people and channels, due as the configuration says. Only this
 * process has the directory, so the database cannot do that when the event happens.
 */
export function createAddressing(options: AddressOptions): OutboxHandler {
  const { config, store } = options;
  return async (noticeId) => {
    const notice = await store.noticeOf(noticeId);
    if (notice === undefined || notice.recipients !== undefined) return;
    const request = await store.find(notice.requestId);
    if (request === undefined) return;
    // A notice that comes late, about a stage that is over, asks no person: the next notice does.
    const isCurrent = notice.event !== 'ended' && !isEnded(request.status) && request.stage === notice.stage;
    const isQuestion = notice.event === 'question_asked';
    const asked = isQuestion ? options.recipients.asked(request) : [];
    const recipients = isCurrent && !isQuestion ? await options.recipients.of(request) : asked;
    const about = { ...request, at: Date.parse(notice.at), hasRoom: isCurrent && !isQuestion };
    const to = await messagesTo(recipients, about, options);
    const signed = config.approvals.notifications !== undefined;
    await store.addressNotice(noticeId, { recipients, signed, messages: to });
  };
}

async function messagesTo(
  recipients: readonly string[],
  { at, hasRoom, ...request }: AccessRequest & { readonly at: number; readonly hasRoom: boolean },
  { config, channels, people }: AddressOptions,
): Promise<Addressed[]> {
  const settings = config.approvals.channels;
  const notify = notifyOf(config, request.template);
  const all: Addressed[] = [];
  for (const [name, channel] of channels) {
    const delay = delayOf(name, notify, settings);
    if (delay === undefined) continue;
    const reached = channel.isRoom ? (hasRoom ? roomFor(request) : []) : await channel.reachable(recipients);
    for (const person of reached) {
      const dueAt = whenAllowed(at + delay, person, { settings, notify, people: people() });
      all.push({ person, channel: name, dueAt: new Date(dueAt) });
    }
  }
  return all;
}

/** A room is told even if the directory does not name the people of a stage, but not of a stage without people. */
const roomFor = (request: AccessRequest): string[] => (hasPeople(openStage(request).approvers) ? [''] : []);
