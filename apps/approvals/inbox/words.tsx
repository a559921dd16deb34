import type {
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';

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

/** What decided, where it was no person. */
const NO_PERSON: Partial<Record<VoteChannel, string>> = { agent: 'agent', automatic: 'automatic' };

/** Says beside a name that it is no person's; nothing beside the name of one. */
export function NoPerson({ via }: { via: VoteChannel }) {
  const word = NO_PERSON[via];
  return word === undefined ? null : <span class="badge info">{word}</span>;
}

/** How an ended request came to its end, in one sentence. */
export const ENDED = {
  approved: 'It was approved. The call runs if policy still allows it.',
  denied: 'It was denied. The call does not run.',
  expired: 'Nobody decided in time. The call does not run.',
  cancelled: 'It was cancelled. The call does not run.',
  failed: 'It could not be decided. The call does not run.',
} as const satisfies Record<Exclude<AccessRequestStatus, 'pending'>, string>;
