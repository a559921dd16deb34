import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { OutboxHandler } from '../../shared/outbox.ts';
import { isTaken, type SignedPost } from '../callbacks/signed-post.ts';
import type { Notice } from '../stores/notices.ts';

export interface NotificationOptions {
  readonly store: { noticeOf(noticeId: string): Promise<Notice | undefined> };
  /** Who is told; absent when nobody is any more. */
  readonly receiver: { readonly url: string; readonly post: SignedPost } | undefined;
  /** Where the inbox is. */
  readonly inboxUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Tells what there is to tell of a request: what it is about and where to look, and nothing of the call's arguments, since
 * whoever is told may be no approver. Id and body depend on the notice alone, so that a repetition is recognised. Throws
 * when the receiver did not take it; the outbox then tries again.
 */
export function createNotificationSender(options: NotificationOptions): OutboxHandler {
  const { store, receiver, inboxUrl, clock, log } = options;
  return async (noticeId) => {
    const notice = await store.noticeOf(noticeId);
    if (notice === undefined) return;
    if (receiver === undefined) return log.warn({ noticeId }, 'a notification is not sent: no receiver is configured');
    const { event, at, number, ...data } = notice;
    const body = JSON.stringify({
      type: `access_request.${event}`,
      timestamp: at,
      data: {
        ...data,
        ...(event === 'reminder' && { number }),
        url: `${inboxUrl}/requests/${encodeURIComponent(notice.id)}`,
      },
    });
    const id = `msg_${notice.id}_${notice.step}_${event}_${number}`;
    const posted = receiver.post(receiver.url, { id, body });
    if (await isTaken(posted, { since: at, what: `the notification ${id}`, clock })) return;
    log.warn({ noticeId, accessRequest: notice.id }, 'a notification was given up');
  };
}
