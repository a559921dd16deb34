import type { Pool } from 'pg';
import { functionCall } from '../../shared/database/function-call.ts';
import type { ReaderRow } from '../listing.ts';
import { countRows, type Listing, type Page, type PageRequest, readPage, whereReadable } from './lists.ts';
import type { VoteOutcome } from './access-request.store.ts';
import type { NewVote } from './new-rows.ts';
import { outcomeOf, queryOf } from './query.ts';

/** An emergency grant. Instants are RFC 3339. */
export interface BrokenGlass {
  readonly requestId: string;
  readonly tool: string;
  readonly grantedBy: string;
  /** Names behind the granter. They may not review the grant. */
  readonly grantedChain: readonly string[];
  readonly reason: string;
  readonly at: string;
  readonly review?: { readonly by: string; readonly at: string; readonly note?: string };
}

/** A reviewer and the names behind them. */
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

const COLUMNS = 'g.*, r.tool';
const ALL = 'FROM approvals.break_glass g JOIN approvals.access_request r ON r.id = g.access_request_id';

export type BreakGlassStore = ReturnType<typeof createBreakGlassStore>;

/** Emergency grants and their reviews. */
export function createBreakGlassStore(pool: Pool) {
  const query = queryOf(pool);
  /** Grants without a review, for requests that the reader may read, oldest first. */
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

    /** A page of grants without a review, with their total. */
    async unreviewed(reader: ReaderRow, page: PageRequest): Promise<Page<BrokenGlass> & { readonly count: number }> {
      const listing = unreviewedBy(reader);
      const { rows, ...rest } = await readPage<Row>(query, listing, page);
      return { ...rest, rows: rows.map(brokenFrom), count: await countRows(query, listing) };
    },

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
