import type { VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import { functionCall } from '../../shared/database/function-call.ts';
import { one, outcomeOf, type Query } from './query.ts';

/** Who cancelled a request, and why: a client, by its credential, or a person. */
export interface EndNote {
  readonly by:
    | { readonly client: string }
    // With the display name of that time.
    | { readonly issuer: string; readonly subject: string; readonly name?: string };
  /** The channel that a person used. */
  readonly via?: NewRevocation['via'];
  readonly reason?: string | undefined;
  readonly comment?: string | undefined;
}

export interface NewRevocation {
  readonly requestId: string;
  readonly by: { readonly issuer: string; readonly subject: string };
  readonly reason: string | undefined;
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

export type CancelOutcome = 'cancelled' | 'final' | 'not_found';
export type RevokeOutcome = 'revoked' | 'repeated' | 'final' | 'not_found';

/** Cancels requests, revokes approvals, and deletes both after their retention period. */
export function ending(query: Query) {
  return {
    /** `clientId`: the client that cancels its own request. Absent when an approver cancels. */
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
     * Ids of revoked approvals that could still be in use: until five minutes after they expire, because the caller's clock may
     * be slow.
     */
    revokedApprovals: async () =>
      (
        await query<{ id: string }>(
          'revoked',
          `SELECT r.approval_id AS id FROM approvals.revocation v JOIN approvals.access_request r ON r.id = v.access_request_id
           WHERE r.approved_until > clock_timestamp() - interval '5 minutes' ORDER BY v.at`,
        )
      ).map(({ id }) => id),

    /** Deletes at most `limit` keys and `limit` requests past their retention period, and returns the number. */
    forgetEnded: async (limit: number) =>
      (await one(query<{ count: number }>('forget', 'SELECT approvals.forget_ended($1) AS count', [limit]))).count,
  };
}
