import type { Pool } from 'pg';
import { one, queryOf } from '../../shared/database/query.ts';

/** An approval within so many seconds after the page was opened is a quick one. */
export const QUICK_SECONDS = 5;
/** A rule that was approved so often, and never denied, is listed as one that is always approved. */
export const ALWAYS_AT_LEAST = 10;
/** The latest requests of a range that are counted. More could not be read in the time that a statement has. */
export const MOST_REQUESTS = 100_000;

export const FIGURE_SORTS = ['name', 'approved', 'denied', 'median', 'p90', 'quick'] as const;
export type FigureSort = (typeof FIGURE_SORTS)[number];

/** What decisions are counted by. `always`: the rules that were approved at least ten times and never denied. */
export const FIGURE_KINDS = ['person', 'tool', 'rule', 'template', 'always'] as const;
export type FigureKind = (typeof FIGURE_KINDS)[number];

/** The decisions of one person, or about one tool, rule or template. */
export interface Figure {
  /** The subject of the person; the name of the tool, rule or template. */
  readonly key: string;
  /** The display name of the person, as it was when they decided. */
  readonly name: string | null;
  readonly approved: number;
  readonly denied: number;
  /** From the opening of the request to the decision. */
  readonly medianSeconds: number;
  /** Nine of ten decisions were as fast as this, or faster. */
  readonly p90Seconds: number;
  /** Approvals in the inbox by a person who had opened the page of the request. */
  readonly opened: number;
  /** Those of `opened` that came within `QUICK_SECONDS`. */
  readonly quick: number;
}

export interface FigureTable {
  /** Of all, before the limit. */
  readonly count: number;
  readonly rows: readonly Figure[];
}

/** How the requests of the range ended. */
export interface Ends {
  readonly people: number;
  /** By a grant, an automatic resolver or a supervising agent, and by no person. */
  readonly programs: number;
  readonly emergency: number;
  readonly undecided: number;
}

export interface Figures {
  readonly tables: Readonly<Record<FigureKind, FigureTable>>;
  readonly ends: Ends;
  /** When the first request ended that is counted. Absent: no request is. */
  readonly first?: string;
  /** Whether the range has more than `MOST_REQUESTS`, so that its first part is not counted. */
  readonly isCut: boolean;
}

export interface FigureQuery {
  /** Requests that ended from here on. */
  readonly from: Date;
  /** Requests that ended before this. */
  readonly until: Date;
  readonly sort: FigureSort;
  readonly order: 'asc' | 'desc';
  /** Rows of each table. */
  readonly limit: number;
}

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
