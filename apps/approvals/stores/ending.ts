import type { VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import { functionCall } from '../../shared/database/function-call.ts';
import { one, outcomeOf, type Query } from './query.ts';

/** Who gave a request up, and why: a client of the service by its credential, or a person. */
export interface EndNote {
  readonly by:
    | { readonly client: string }
    // With the name by which they were displayed then.
    | { readonly issuer: string; readonly subject: string; readonly name?: string };
  /** The door that a person came through. */
  readonly via?: NewRevocation['via'];
  readonly reason?: string | undefined;
  readonly comment?: string | undefined;
}

/** An approval is taken back by a person. */
export interface NewRevocation {
  readonly requestId: string;
  readonly by: { readonly issuer: string; readonly subject: string };
  readonly reason: string | undefined;
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

export type CancelOutcome = 'cancelled' | 'final' | 'not_found';
export type RevokeOutcome = 'revoked' | 'repeated' | 'final' | 'not_found';

/** How requests are given up, approvals taken back, and both forgotten. */
export function ending(query: Query) {
  return {
    /** `clientId` is the client that gives its own request up; a person who may decide about it leaves it out. */
    cancel: (id: string, { note, clientId }: { note: EndNote; clientId?: string }) =>
      outcomeOf<CancelOutcome>(query, {
        name: 'cancel',
        text: 'approvals.cancel_access_request($1, $2, $3)',
        values: [id, clientId ?? null, JSON.stringify(note)],
      }),

    revoke: ({ requestId, by, reason, via }: NewRevocation) =>
      outcomeOf<RevokeOutcome>(query, {
        name: 'revoke',
        ...functionCall('approvals.revoke_approval', {
          request_id: requestId,
          by_issuer: by.issuer,
          by_subject: by.subject,
          reason,
          via,
        }),
      }),

    /**
     * Ids of approvals that were taken back and could still be in use. Five minutes longer than they hold: whoever asks
     * may have a clock that is late.
     */
    revokedApprovals: async () =>
      (
        await query<{ id: string }>(
          'revoked',
          `SELECT r.approval_id AS id FROM approvals.revocation v JOIN approvals.access_request r ON r.id = v.access_request_id
           WHERE r.approved_until > clock_timestamp() - interval '5 minutes' ORDER BY v.at`,
        )
      ).map(({ id }) => id),

    /** Forgets keys and requests that are kept no longer, at most as many of each; less when there are no more. */
    forgetEnded: async (limit: number) =>
      (await one(query<{ count: number }>('forget', 'SELECT approvals.forget_ended($1) AS count', [limit]))).count,
  };
}
