import type { Pool } from 'pg';
import { one, queryOf } from '../../shared/database/query.ts';
import {
  ALWAYS_AT_LEAST,
  type Ends,
  type Figure,
  FIGURE_KINDS,
  type FigureKind,
  type FigureQuery,
  type Figures,
  type FigureSort,
  type FigureTable,
  MOST_REQUESTS,
  QUICK_SECONDS,
} from '../figures.ts';

export type FigureStore = ReturnType<typeof createFigureStore>;

/** How people decide. Everything is derived from requests and votes, and goes with them when their retention is over. */
export function createFigureStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  return {
    /** Notes that a person who can decide a request has its page before them. Only the first time counts. */
    noteOpening: async (requestId: string, subject: string): Promise<void> => {
      await query('note-opening', 'SELECT approvals.note_opening($1, $2)', [requestId, subject]);
    },

    async figures({ from, until, sort, order, limit }: FigureQuery): Promise<Figures> {
      const range = [from, until, MOST_REQUESTS];
      const { count, first, ...ends } = await one(query<EndsRow>('figures-ends', ENDS, range));
      const text = TABLES.replace('BY_SORT', `${SORTS[sort]} ${order === 'asc' ? 'ASC' : 'DESC NULLS LAST'}`);
      const rows = await query<FigureRow>(`figures-${sort}-${order}`, text, [...range, limit]);
      const tableOf = (kind: FigureKind): FigureTable => {
        const own = rows.filter((row) => row.kind === kind);
        return { count: own[0]?.count ?? 0, rows: own.map(({ kind: _kind, count: _count, ...figure }) => figure) };
      };
      const tables = Object.fromEntries(FIGURE_KINDS.map((kind) => [kind, tableOf(kind)])) as Figures['tables'];
      return { tables, ends, ...(first && { first: first.toISOString() }), isCut: count >= MOST_REQUESTS };
    },

    /** When the first request ended that is still kept. Figures about the time before it are not whole. */
    async keptSince(): Promise<string | undefined> {
      const text = 'SELECT min(ended_at) AS since FROM approvals.access_request WHERE ended_at IS NOT NULL';
      return (await one(query<{ since: Date | null }>('figures-since', text))).since?.toISOString();
    },
  };
}

interface EndsRow extends Ends {
  readonly count: number;
  readonly first: Date | null;
}

interface FigureRow extends Figure {
  readonly kind: FigureKind;
  readonly count: number;
}

const SORTS = {
  name: 'key',
  approved: 'approved',
  denied: 'denied',
  median: '"medianSeconds"',
  p90: '"p90Seconds"',
  quick: 'quick::float / nullif(opened, 0)',
} as const satisfies Record<FigureSort, string>;

const PEOPLE = "v.via IN ('inbox','api','webhook')";
const GRANTED_ALONE = 'EXISTS (SELECT FROM approvals.break_glass b WHERE b.access_request_id = r.id)';

const ENDED = `ended AS MATERIALIZED (
  SELECT r.id, r.tool, r.template, r.policies, r.status, r.created_at, r.ended_at, ${GRANTED_ALONE} AS is_emergency
  FROM approvals.access_request r
  WHERE r.ended_at IS NOT NULL AND r.ended_at >= $1 AND r.ended_at < $2 ORDER BY r.ended_at DESC, r.id DESC LIMIT $3)`;

const ENDS = `WITH ${ENDED}, told AS MATERIALIZED (
  SELECT e.*, EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = e.id AND ${PEOPLE}) AS by_people FROM ended e)
  SELECT count(*)::int AS count, min(ended_at) AS first,
    (count(*) FILTER (WHERE is_emergency))::int AS emergency,
    (count(*) FILTER (WHERE NOT is_emergency AND status NOT IN ('approved','denied')))::int AS undecided,
    (count(*) FILTER (WHERE NOT is_emergency AND status IN ('approved','denied') AND by_people))::int AS people,
    (count(*) FILTER (WHERE NOT is_emergency AND status IN ('approved','denied') AND NOT by_people))::int AS programs
  FROM told`;

/**
 * One row for each person, tool, rule and template. A person's votes count one by one. For the others, a request counts once, if people
 * decided it; the pages that its approvers opened count one by one. An emergency grant is no decision on a request.
 */
const TABLES = `WITH ${ENDED},
  spoken AS MATERIALIZED (
    SELECT e.id, e.tool, e.template, e.policies, e.status, e.is_emergency, e.ended_at - e.created_at AS lasted, v.cast_by AS subject,
      CASE WHEN v.cast_by = v.approver_subject THEN v.approver_name ELSE v.cast_by_name END AS name,
      (v.verdict = 'approve')::int AS approved, extract(epoch FROM v.at - e.created_at)::float AS seconds,
      (v.verdict = 'approve' AND o.at IS NOT NULL)::int AS opened,
      coalesce(v.verdict = 'approve' AND v.at - o.at <= ${QUICK_SECONDS} * interval '1 s', false)::int AS quick
    FROM ended e JOIN approvals.vote v ON v.access_request_id = e.id
    LEFT JOIN approvals.page_opening o ON o.access_request_id = e.id AND o.subject = v.cast_by AND v.via = 'inbox' AND o.at <= v.at
    WHERE ${PEOPLE}),
  decided AS MATERIALIZED (
    SELECT tool, template, policies, (status = 'approved')::int AS approved, extract(epoch FROM lasted)::float AS seconds,
      sum(opened) AS opened, sum(quick) AS quick
    FROM spoken WHERE status IN ('approved','denied') AND NOT is_emergency GROUP BY id, tool, template, policies, status, lasted),
  facts (kind, key, name, approved, seconds, opened, quick) AS (
    SELECT 'person', subject, name, approved, seconds, opened, quick FROM spoken
    UNION ALL SELECT 'tool', tool, NULL, approved, seconds, opened, quick FROM decided
    UNION ALL SELECT 'template', template, NULL, approved, seconds, opened, quick FROM decided WHERE template IS NOT NULL
    UNION ALL SELECT 'rule', rule, NULL, approved, seconds, opened, quick FROM decided, unnest(policies) AS rules (rule)),
  figures AS (
    SELECT kind, key, max(name) AS name, sum(approved)::int AS approved, (count(*) - sum(approved))::int AS denied,
      (percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY seconds)) AS times, sum(opened)::int AS opened, sum(quick)::int AS quick
    FROM facts GROUP BY kind, key),
  told AS (
    SELECT kind, key, name, approved, denied, times[1] AS "medianSeconds", times[2] AS "p90Seconds", opened, quick FROM figures
    UNION ALL SELECT 'always', key, name, approved, denied, times[1], times[2], opened, quick FROM figures
      WHERE kind = 'rule' AND denied = 0 AND approved >= ${ALWAYS_AT_LEAST}),
  placed AS (
    SELECT *, (count(*) OVER (PARTITION BY kind))::int AS count, row_number() OVER (PARTITION BY kind ORDER BY BY_SORT, key) AS place FROM told)
  SELECT kind, key, name, approved, denied, "medianSeconds", "p90Seconds", opened, quick, count FROM placed WHERE place <= $4 ORDER BY kind, place`;
