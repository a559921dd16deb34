import type { Pool } from 'pg';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { countRows, type Listing, type Page, type PageRequest, readPage } from '../../shared/database/pages.ts';
import { keysOf } from '../../../workflows/domain/access-request/same-person.ts';
import { queryOf } from '../../shared/database/query.ts';
import type { ReaderRow } from '../listing.ts';
import { whereReadable } from './lists.ts';
import type { VoteOutcome } from './access-request.store.ts';
import { namesColumn, type NewVote } from './new-rows.ts';
import { callFunction, camelCased, instant, snakeCased } from './query.ts';

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

const COLUMNS = `g.access_request_id AS request_id, r.tool, g.granted_by, g.granted_chain, g.reason, g.at,
  CASE WHEN g.reviewed_by IS NOT NULL
    THEN json_strip_nulls(json_build_object('by', g.reviewed_by, 'at', ${instant('g.reviewed_at')}, 'note', g.review_note)) END AS review`;
const ALL = 'FROM approvals.break_glass g JOIN approvals.access_request r ON r.id = g.access_request_id';

/** With the names behind them (`behind`). */
type Reviewer = Pick<Approver, 'subject' | 'aliases'> & { readonly chain: readonly string[] };

type ReviewOutcome = 'reviewed' | 'already_reviewed' | 'own_request' | 'not_found';
export type BreakGlassStore = ReturnType<typeof createBreakGlassStore>;

/** Emergency grants and their reviews. */
export function createBreakGlassStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  return {
    async find(requestId: string): Promise<BrokenGlass | undefined> {
      const text = `SELECT ${COLUMNS} ${ALL} WHERE g.access_request_id = $1`;
      const [row] = await query('broken-glass', text, [requestId]);
      return row && (camelCased(row) as BrokenGlass);
    },

    /** A page of grants without a review, for requests that the reader may read, oldest first, with their total. */
    async unreviewed(reader: ReaderRow, page: PageRequest): Promise<Page<BrokenGlass> & { readonly count: number }> {
      const listing: Listing = {
        name: 'unreviewed',
        columns: COLUMNS,
        from: `${ALL}${whereReadable('g.reviewed_at IS NULL')}`,
        ...{ at: 'g.at', id: 'g.access_request_id', order: 'oldest' },
        values: [reader],
      };
      const { rows, ...rest } = await readPage(query, listing, page);
      return {
        ...rest,
        rows: rows.map((row) => camelCased(row) as BrokenGlass),
        count: await countRows(query, listing),
      };
    },

    breakGlass: ({ approver, ...vote }: Omit<NewVote, 'judgedStage'>, approvalTtlMs: number) => {
      const { requestId, generation, callDigest, chain, reason, via, approvalId } = vote;
      return callFunction<VoteOutcome>(query, 'break_glass', {
        ...snakeCased({ requestId, generation, callDigest, reason, via, approvalId }),
        ...{ names: namesColumn({ approver }), chain: keysOf(chain ?? []) },
        approver_issuer: approver.issuer,
        approver_subject: approver.subject,
        approver_name: approver.name,
        approval_ms: approvalTtlMs,
      });
    },

    review: (id: string, { subject: reviewer, aliases = [], chain }: Reviewer, note: string | undefined) => {
      const names = { names: keysOf([reviewer, ...aliases]), chain: keysOf(chain) };
      return callFunction<ReviewOutcome>(query, 'review_break_glass', { id, reviewer, note, ...names });
    },
  };
}
