import type { Pool } from 'pg';
import type { VoteOutcome } from './access-request.store.ts';
import { voteRow, type NewVote } from './new-rows.ts';
import { outcomeOf, queryOf } from './query.ts';

/** Somebody granted a request alone. Instants are RFC 3339. */
export interface BrokenGlass {
  readonly requestId: string;
  readonly tool: string;
  readonly grantedBy: string;
  /** What stood behind the grant beside them: no review comes from there. */
  readonly grantedChain: readonly string[];
  readonly reason: string;
  readonly at: string;
  readonly review?: { readonly by: string; readonly at: string; readonly note?: string };
}

/** Who looks at a grant afterwards, and what stands behind them. */
export interface Reviewer {
  readonly subject: string;
  readonly chain: readonly string[];
}

interface Row {
  readonly access_request_id: string;
  readonly tool: string;
  readonly granted_by: string;
  readonly granted_chain: string[];
  readonly reason: string;
  readonly at: Date;
  readonly reviewed_by: string | null;
  readonly reviewed_at: Date | null;
  readonly review_note: string | null;
}

/** Most that are listed; the oldest first, since they have waited longest. */
const LIST_LIMIT = 100;

export type BreakGlassStore = ReturnType<typeof createBreakGlassStore>;

/** Requests that one person granted past their stages, and whether somebody looked at that since. */
export function createBreakGlassStore(pool: Pool) {
  const query = queryOf(pool);
  const read = async (name: string, rest: string, values: unknown[] = []): Promise<BrokenGlass[]> => {
    const text = `SELECT b.*, r.tool FROM approvals.break_glass b JOIN approvals.access_request r ON r.id = b.access_request_id ${rest}`;
    return (await query<Row>(name, text, values)).map(brokenFrom);
  };
  return {
    find: async (requestId: string): Promise<BrokenGlass | undefined> =>
      (await read('broken-glass', 'WHERE b.access_request_id = $1', [requestId]))[0],

    unreviewed: () => read('unreviewed', `WHERE b.reviewed_at IS NULL ORDER BY b.at LIMIT ${LIST_LIMIT}`),

    /** Grants at once, for as long as is said; the vote says who, why and for which call. */
    breakGlass: (vote: Omit<NewVote, 'judgedStage'>, approvalTtlMs: number) =>
      outcomeOf<VoteOutcome>(query, {
        name: 'break-glass',
        text: 'approvals.break_glass($1)',
        values: [JSON.stringify({ ...voteRow({ ...vote, judgedStage: 0 }), approval_ms: approvalTtlMs })],
      }),

    review: (requestId: string, reviewer: Reviewer, note: string | undefined) =>
      outcomeOf<'reviewed' | 'already_reviewed' | 'own_request' | 'not_found'>(query, {
        name: 'review-break-glass',
        text: 'approvals.review_break_glass($1, $2, $3, $4)',
        values: [requestId, reviewer.subject, reviewer.chain, note ?? null],
      }),
  };
}

function brokenFrom(row: Row): BrokenGlass {
  const { reviewed_by: by, reviewed_at: at, review_note: note } = row;
  return {
    requestId: row.access_request_id,
    tool: row.tool,
    grantedBy: row.granted_by,
    grantedChain: row.granted_chain,
    reason: row.reason,
    at: row.at.toISOString(),
    ...(by !== null && at !== null && { review: { by, at: at.toISOString(), ...(note !== null && { note }) } }),
  };
}
