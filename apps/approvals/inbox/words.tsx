import type {
  AccessRequest,
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import { isToolCall } from './view.ts';

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
const ENDED = {
  approved: 'It was approved.',
  denied: 'It was denied.',
  expired: 'Nobody decided in time.',
  cancelled: 'It was cancelled.',
  failed: 'It could not be decided.',
} as const satisfies Record<Exclude<AccessRequestStatus, 'pending'>, string>;

/** What to say of a call of a tool, which runs once. */
const CALL = {
  heading: { open: 'What will run', ended: 'The call' },
  label: 'Arguments of the call',
  asked: 'asked to run this',
  onceGranted: 'If you approve, exactly this call runs, once, as soon as policy confirms it.',
  granted: 'The call runs if policy still allows it.',
  notGranted: 'The call does not run.',
  cancelled: 'Nobody decides it then, and the call does not run.',
  revoked: 'A call that has not begun does not run on it. What has begun goes on.',
} as const;

/** The same of anything else that policy was asked about: whoever asked may do it for as long as the approval holds. */
const ACCESS = {
  heading: { open: 'What is asked for', ended: 'What was asked for' },
  label: 'Action and resource',
  asked: 'asked for this',
  onceGranted:
    'If you approve, exactly this is allowed for as long as the approval holds, unless policy says otherwise.',
  granted: 'It is allowed for as long as the approval holds, unless policy says otherwise.',
  notGranted: 'It is not allowed.',
  cancelled: 'Nobody decides it then, and it is not allowed.',
  revoked: 'It is not allowed any more. What has begun goes on.',
} as const;

/** The words for what is asked for. */
export const wordsOf = (request: Pick<AccessRequest, 'context'>) => (isToolCall(request) ? CALL : ACCESS);

/** What became of an ended request, and what follows from it. */
export function endOf(request: AccessRequest & { readonly status: keyof typeof ENDED }): string {
  const { granted, notGranted } = wordsOf(request);
  return `${ENDED[request.status]} ${request.status === 'approved' ? granted : notGranted}`;
}
