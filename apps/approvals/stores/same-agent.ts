import type { AccessRequest, AccessRequestStatus } from '../../../workflows/domain/access-request/access-request.ts';
import type { Query } from '../../shared/database/query.ts';
import { LOOKED_THROUGH, type ReaderRow } from '../listing.ts';
import { FROM_ACCESS_REQUESTS } from './access-request.row.ts';
import { whereReadable } from './lists.ts';
import { camelCased } from './query.ts';

/** How many requests of each kind a page shows. */
const SHOWN = 5;

/** Another request of the same agent, as far as one line tells it. */
export interface OtherRequest extends Pick<AccessRequest, 'id' | 'tool' | 'outline'> {
  /** The person for whom the agent asks. */
  readonly subject: string;
  /** When it ended, or, of an open one, when it was made. RFC 3339. */
  readonly at: string;
}

export interface EndedRequest extends OtherRequest {
  readonly status: Exclude<AccessRequestStatus, 'pending'>;
  /** Who approved, denied or cancelled it: people, resolvers, or the client. */
  readonly by?: readonly string[];
  /** A use of a grant approved it. */
  readonly byGrant?: true;
  readonly revokedBy?: string;
}

/** What the reader of a request may know about its agent. */
export interface SameAgent {
  /** The last ended requests for the same tool, the latest first. */
  readonly ended: readonly EndedRequest[];
  /** The newest open requests. */
  readonly open: readonly OtherRequest[];
  readonly openCount: number;
  /** There may be more open requests, because the agent has more than were looked through. */
  readonly isCountCut: boolean;
}

const LINE = 'r.id, r.tool, r.outline::json AS outline, r.requester_subject AS subject';

const BY = `CASE r.status
  WHEN 'approved' THEN coalesce((SELECT array_agg(v.cast_by ORDER BY v.at) FROM approvals.vote v
      WHERE v.access_request_id = r.id AND v.verdict = 'approve'),
    (SELECT ARRAY[g.granted_by] FROM approvals.break_glass g WHERE g.access_request_id = r.id))
  WHEN 'denied' THEN (SELECT array_agg(v.cast_by ORDER BY v.at) FROM approvals.vote v
    WHERE v.access_request_id = r.id AND v.verdict = 'deny')
  WHEN 'cancelled' THEN ARRAY[coalesce(r.end_note #>> '{by,subject}', r.end_note #>> '{by,client}')] END AS by,
  CASE WHEN EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = r.id AND v.via = 'grant') THEN true END AS by_grant`;

/** The ids of the agent's latest requests, in the order of an index. Which of them the reader may read is found out afterwards. */
const latest = (
  condition: string,
  order: string,
) => `WITH latest AS MATERIALIZED (SELECT a.id FROM approvals.access_request a
  WHERE a.requester_client = $2 AND a.id <> $3 AND ${condition} ORDER BY ${order} DESC, a.id DESC LIMIT ${LOOKED_THROUGH})`;

const IN_LATEST = 'r.id = ANY (ARRAY(SELECT id FROM latest))';

const ENDED = `${latest('a.tool = $4 AND a.ended_at IS NOT NULL', 'a.ended_at')}
  SELECT ${LINE}, r.status, r.ended_at AS at, ${BY}, o.by_subject AS revoked_by ${FROM_ACCESS_REQUESTS}${whereReadable(IN_LATEST)}
  ORDER BY r.ended_at DESC, r.id DESC LIMIT ${SHOWN}`;

// A request past its deadline may still be counted as open until the next round of the job that ends it.
const OPEN = `${latest("a.status = 'pending'", 'a.created_at')}
  SELECT ${LINE}, r.created_at AS at, count(*) OVER ()::int AS count, (SELECT count(*) FROM latest) = ${LOOKED_THROUGH} AS is_cut
  ${FROM_ACCESS_REQUESTS}${whereReadable(`${IN_LATEST} AND r.status = 'pending' AND r.expires_at > clock_timestamp()`)}
  ORDER BY r.created_at DESC, r.id DESC LIMIT ${SHOWN}`;

interface Asked extends Pick<AccessRequest, 'id' | 'tool'> {
  readonly requester: { readonly clientId?: string | undefined };
}

export const sameAgent = (query: Query) => ({
  /** Other requests of the agent of a request, as far as the reader may read them. Undefined if no agent is named. */
  async sameAgent({ id, tool, requester: { clientId } }: Asked, reader: ReaderRow): Promise<SameAgent | undefined> {
    if (clientId === undefined) return undefined;
    const [ended, open] = await Promise.all([
      query('same-agent-ended', ENDED, [reader, clientId, id, tool]),
      query<{ count: number; is_cut: boolean }>('same-agent-open', OPEN, [reader, clientId, id]),
    ]);
    return {
      ended: ended.map((row) => camelCased(row) as EndedRequest),
      open: open.map((row) => camelCased(row) as OtherRequest),
      openCount: open[0]?.count ?? 0,
      isCountCut: open[0]?.is_cut ?? false,
    };
  },
});
