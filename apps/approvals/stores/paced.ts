import type { OpenWork } from '../../shared/maintenance/reconciler.ts';
import type { Query } from './query.ts';

/** An open access request whose stages have a pace of their own, for which a workflow waits. */
export interface PacedRequest {
  readonly id: string;
  /** Its next end, to the microsecond: together with the id, its place in the order of pages. */
  readonly due: string;
  /** A reminder is due that nobody was told, or its resolver was not asked yet: its workflow is at it, or cannot go on. */
  readonly isLate: boolean;
}

// In the words of the index of what is open.
const OPEN = `
  SELECT id, least(expires_at, stage_ends_at)::text AS due,
    approvals.is_late(access_request) AS "isLate" FROM approvals.access_request
  WHERE status = 'pending' AND least(expires_at, stage_ends_at) >= $1::timestamptz
    AND (least(expires_at, stage_ends_at), id) > ($1::timestamptz, $2) AND approvals.is_paced(stages)
  ORDER BY least(expires_at, stage_ends_at), id LIMIT $3`;

// A row that nobody will take for minutes is no wake that can be counted on.
const QUEUED = `
  SELECT subject_id AS id FROM approvals.outbox
  WHERE subject_id = ANY ($1) AND kind = 'wake' AND available_at < now() + interval '2 minutes'`;

const BEFORE_ALL = { due: '-infinity', id: '' };

/** Open requests that need a workflow, in pages, and which of them the outbox is about to wake anyway. */
export function paced(query: Query): OpenWork<PacedRequest> {
  return {
    /** A request whose end changes meanwhile may be left out or come twice. */
    after: (last, limit) => {
      const { due, id } = last ?? BEFORE_ALL;
      return query<PacedRequest & { id: string }>('paced', OPEN, [due, id, limit]);
    },
    queued: async (ids) => new Set((await query<{ id: string }>('queued', QUEUED, [ids])).map((row) => row.id)),
  };
}
