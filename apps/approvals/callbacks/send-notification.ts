import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { OutboxHandler } from '../../shared/outbox.ts';
import type { Vote } from '../../../workflows/domain/access-request/access-request.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { Notice } from '../stores/messages.ts';
import { isAccepted, type SignedPost } from './signed-post.ts';

/** Events whose number a program is told: a reminder of the stage, a question of the request. Questions and answers stay in the inbox. */
const NUMBERED: ReadonlySet<Notice['event']> = new Set(['reminder', 'question_asked', 'question_answered']);

interface NotificationOptions {
  readonly store: Pick<AccessRequestStore, 'noticeOf' | 'find'>;
  /** Undefined if notifications are no longer configured. */
  readonly receiver: { readonly url: string; readonly post: SignedPost } | undefined;
  readonly inboxUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Sends a notification about a request: all that a program needs to tell people and to send their decision back, but no arguments of
 * the call, because its readers may not be approvers. Id and body depend on the notice alone, so that the receiver recognizes a
 * repetition. Throws when the receiver did not accept it; the outbox then tries again.
 */
export function createNotificationSender(options: NotificationOptions): OutboxHandler {
  const { store, receiver, inboxUrl, clock, log } = options;
  return async (noticeId) => {
    const notice = await store.noticeOf(noticeId);
    const request = notice && (await store.find(notice.requestId));
    if (notice === undefined || request === undefined) return;
    if (receiver === undefined) return log.warn({ noticeId }, 'a notification is not sent: no receiver is configured');
    const { event, at, number, stage, status, recipients = [] } = notice;
    const { id, tool, title, template, generation, callDigest, requester, createdAt, expiresAt } = request;
    const { name, quorum } = openStage({ ...request, stage });
    const body = JSON.stringify({
      type: `access_request.${event}`,
      timestamp: at,
      data: {
        ...{ id, tool, title, template, stage: name, step: stage, steps: request.stages.length, quorum },
        ...{ generation, callDigest, requester, createdAt, expiresAt },
        ...(NUMBERED.has(event) && { number }),
        ...(event === 'ended' ? { status, votes: request.votes.map(votesView) } : { recipients }),
        url: `${inboxUrl}/requests/${encodeURIComponent(id)}`,
      },
    });
    const message = `msg_${id}_${stage}_${event}_${number}`;
    const posted = receiver.post(receiver.url, { id: message, body });
    if (await isAccepted(posted, { since: at, what: `the notification ${message}`, to: receiver.url, clock })) return;
    log.warn({ noticeId, accessRequest: id }, 'a notification was given up');
  };
}

const votesView = ({ approver, castBy, verdict, stage, via, at }: Vote) => ({
  ...{ approver: approver.subject, castBy, verdict, stage, via, at },
});
