import type { AccessRequestStatus, Verdict } from '../../../workflows/domain/access-request/access-request.ts';

const STATUS = {
  pending: ['Open', 'info'],
  approved: ['Approved', 'good'],
  denied: ['Denied', 'bad'],
  expired: ['Expired', 'warn'],
  cancelled: ['Cancelled', ''],
  failed: ['Failed', 'bad'],
} as const satisfies Record<AccessRequestStatus, readonly [string, string]>;

export function StatusBadge({ status }: { status: AccessRequestStatus }) {
  const [word, tone] = STATUS[status];
  return <span class={`badge ${tone}`.trim()}>{word}</span>;
}

export const DECIDED = { approve: 'approved', deny: 'denied' } as const satisfies Record<Verdict, string>;

/** How an ended request came to its end, in one sentence. */
export const ENDED = {
  approved: 'It was approved. The call runs if policy still allows it.',
  denied: 'It was denied. The call does not run.',
  expired: 'Nobody decided in time. The call does not run.',
  cancelled: 'It was cancelled. The call does not run.',
  failed: 'It could not be decided. The call does not run.',
} as const satisfies Record<Exclude<AccessRequestStatus, 'pending'>, string>;
