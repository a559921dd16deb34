import { type AccessRequest, isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import { hasPeople } from '../../../workflows/domain/access-request/eligibility.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { ChannelName } from '../../shared/config/channel-settings.ts';
import type { OutboxHandler } from '../../shared/outbox.ts';
import type { HeldMessage } from '../stores/messages.ts';
import { configuredSummaries } from '../inbox/summary.tsx';
import { asServiceFailure, type Channel, Undeliverable } from './channel.ts';
import type { Bringing, DeliveryOptions } from './delivery-options.ts';
import { bringDigest } from './digest.ts';
import { type Message, messageAbout } from './message.ts';
import { notifyOf, whenAllowed } from './schedule.ts';

/** After this time, the end of a request is no news. */
const GIVE_UP_MS = 24 * 3_600_000;

/**
 * Brings a message to what it has to say now. What that is follows from the request alone, so it does not matter which event caused it,
 * how often, and in which order. A message that was not sent before its request ended is never sent. A person hears a bounded number of
 * messages. A question for which there is no room counts in their digest, and that a request is over is not told then.
 */
export function createDelivery(name: ChannelName, channel: Channel, options: DeliveryOptions): OutboxHandler {
  const { store, limits } = options;
  return async (messageId) => {
    const held = await store.holdMessage(messageId, limits.outboxLeaseMs);
    if (held === undefined) return;
    // Two at once could leave the older state in place.
    if (held === 'held') throw new Error('another delivery of this message is under way');
    try {
      let before: HeldMessage | undefined = held;
      // The request may change while the message is sent.
      while (before !== undefined) before = await bring(messageId, before, { ...options, name, channel });
    } finally {
      await store.releaseMessage(messageId);
    }
  };
}

/** Sends what the message has to say now, if it does not say so already. Returns the message as it is then; undefined if nothing was sent. */
async function bring(id: string, before: HeldMessage, options: Bringing): Promise<HeldMessage | undefined> {
  const { store, clock, name, channel } = options;
  const { hasBegun, told, externalId, person, isGathered, requestId } = before;
  if (requestId === undefined) return bringDigest(id, before, options);
  const request = await store.find(requestId);
  if (request === undefined) return undefined;
  const message = await messageNow(request, person, options);
  if (message.kind === 'over' && isGathered) await store.leaveDigest(id);
  if (message.key === told || (message.kind === 'over' && !hasBegun)) return undefined;
  const allowedAt = message.kind === 'over' && channel.endsSilently ? 0 : whenNext(request, person, options);
  if (allowedAt > clock.now()) {
    await store.postponeMessage(id, name, new Date(allowedAt));
    return undefined;
  }
  const isHeard = message.kind !== 'over' || !channel.endsSilently;
  if (isHeard && !(await store.admitMessage(id, message.key, message.kind !== 'over'))) return undefined;
  await store.beginMessage(id);
  const sent = await tell(message, before, { ...options, request });
  await store.noteMessage(id, message.key, sent);
  return {
    ...before,
    hasBegun: true,
    isGathered: false,
    told: message.key,
    ...((sent ?? externalId) && { externalId: sent ?? externalId }),
  };
}

async function tell(
  message: Message,
  { person, hasBegun, externalId }: HeldMessage,
  { people, channel, name, clock, log, request }: Bringing & { request: AccessRequest },
): Promise<string | undefined> {
  const to = { person, name: people().find(person)?.displayName ?? person };
  try {
    return hasBegun ? await channel.update(message, to, externalId) : await channel.send(message, to);
  } catch (err) {
    const isOld = request.endedAt !== undefined && clock.now() - Date.parse(request.endedAt) > GIVE_UP_MS;
    if (!(err instanceof Undeliverable) && !isOld) throw asServiceFailure(err, name);
    log.warn({ err, channel: name, accessRequest: request.id }, 'a message to a person was given up');
    return undefined;
  }
}

async function messageNow(request: AccessRequest, person: string, options: Bringing): Promise<Message> {
  const { config, store, people, recipients } = options;
  const isRoom = person === '';
  const isAsked = isRoom ? isOpenToPeople(request) : (await recipients.of(request)).includes(person);
  const hasVote = isAsked && recipients.hasVote(request, person);
  const mayAnswer = recipients.asked(request).includes(person);
  const reminders = isAsked ? await store.remindersIn(request.id, request.stage) : 0;
  const { channels } = config.approvals;
  return messageAbout(
    request,
    { person, isAsked, hasVote, mayAnswer, reminders },
    {
      people: people(),
      shownArguments: notifyOf(config, request.template).arguments,
      summaries: configuredSummaries(config),
      inboxUrl: config.urls.approvals,
      timeZone: people().find(person)?.timeZone ?? channels.quietHours?.timeZone ?? 'UTC',
    },
  );
}

function whenNext({ template }: AccessRequest, person: string, { config, people, clock }: Bringing): number {
  const notify = notifyOf(config, template);
  return whenAllowed(clock.now(), person, { settings: config.approvals.channels, notify, people: people() });
}

const isOpenToPeople = (request: AccessRequest) => !isEnded(request.status) && hasPeople(openStage(request).approvers);
