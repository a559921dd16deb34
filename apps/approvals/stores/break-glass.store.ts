import type { Pool } from 'pg';
import type * as tables from '../../../prisma/generated/client.ts';
import { functionCall } from '../../shared/database/function-call.ts';
import type { RowOf } from '../../shared/database/row-of.ts';
import type { ReaderRow } from '../listing.ts';
import { countRows, type Listing, type Page, type PageRequest, readPage, whereReadable } from './lists.ts';
import type { VoteOutcome } from './access-request.store.ts';
import type { NewVote } from './new-rows.ts';
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

type Row = RowOf<tables.BreakGlass> & Pick<RowOf<tables.AccessRequest>, 'tool'>;

const COLUMNS = 'g.*, r.tool';
const ALL = 'FROM approvals.break_glass g JOIN approvals.access_request r ON r.id = g.access_request_id';

export type BreakGlassStore = ReturnType<typeof createBreakGlassStore>;

/** Requests that one person granted past their stages, and whether somebody looked at that since. */
export function createBreakGlassStore(pool: Pool) {
  const query = queryOf(pool);
  /** Those that no approver has reviewed, of requests that the reader may read; the oldest first, since they have waited longest. */
  const unreviewedBy = (reader: ReaderRow): Listing => ({
    name: 'unreviewed',
    columns: COLUMNS,
    from: `${ALL}${whereReadable('g.reviewed_at IS NULL')}`,
    at: 'g.at',
    id: 'g.access_request_id',
    order: 'oldest',
    values: [reader],
  });
  return {
    async find(requestId: string): Promise<BrokenGlass | undefined> {
      const text = `SELECT ${COLUMNS} ${ALL} WHERE g.access_request_id = $1`;
      const [row] = await query<Row>('broken-glass', text, [requestId]);
      return row && brokenFrom(row);
    },

    /** A page of those that no approver has reviewed, and how many these are. */
    async unreviewed(reader: ReaderRow, page: PageRequest): Promise<Page<BrokenGlass> & { readonly count: number }> {
      const listing = unreviewedBy(reader);
      const { rows, ...rest } = await readPage<Row>(query, listing, page);
      return { ...rest, rows: rows.map(brokenFrom), count: await countRows(query, listing) };
    },

    /** Grants at once, for as long as is said; the vote says who, why and for which call. */
    breakGlass: (vote: GlassVote, approvalTtlMs: number) =>
      outcomeOf<VoteOutcome>(query, {
        name: 'break-glass',
        ...functionCall('approvals.break_glass', { ...granting(vote), approval_ms: approvalTtlMs }),
      }),

    review: (requestId: string, reviewer: Reviewer, note: string | undefined) =>
      outcomeOf<'reviewed' | 'already_reviewed' | 'own_request' | 'not_found'>(query, {
        name: 'review-break-glass',
        text: 'approvals.review_break_glass($1, $2, $3, $4)',
        values: [requestId, reviewer.subject, reviewer.chain, note ?? null],
      }),
  };
}

type GlassVote = Omit<NewVote, 'judgedStage'>;

/** Who grants which call, and why. */
const granting = (vote: GlassVote) => ({
  request_id: vote.requestId,
  generation: vote.generation,
  call_digest: vote.callDigest,
  approver_issuer: vote.approver.issuer,
  approver_subject: vote.approver.subject,
  approver_name: vote.approver.name,
  chain: vote.chain,
  reason: vote.reason,
  via: vote.via,
  approval_id: vote.approvalId,
});

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
