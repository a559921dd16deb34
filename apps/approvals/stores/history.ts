import type { Client } from 'pg';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { DecidedRequest } from '../../../workflows/domain/access-request/decided-request.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import { withClient } from '../../shared/database/client.ts';
import { ROLES, withOption } from '../../shared/database/pool.ts';
import { databaseProblem, isPassing, problemBehind } from '../../shared/database/readiness.ts';
import type { Limits } from '../../shared/limits.ts';
import { MOST_REQUESTS } from '../figures.ts';

export interface History {
  /** The requests that ended within the days, latest first. Each call reads the same requests, even if others end meanwhile. */
  readonly requests: () => AsyncGenerator<DecidedRequest>;
  /** How many there are: at most `MOST_REQUESTS`, and then `isCut`. */
  readonly count: number;
  readonly isCut: boolean;
}

interface HistoryOptions {
  readonly databaseUrl: string;
  readonly days: number;
  readonly limits: Limits;
}

/** So few that their arguments fit into memory, however large they are. */
const AT_ONCE = 100;

const RANGE = 'r.ended_at >= transaction_timestamp() - make_interval(days => $1)';
const COUNT = `SELECT count(*)::int AS count FROM (
  SELECT FROM approvals.access_request r WHERE r.ended_at IS NOT NULL AND ${RANGE} LIMIT ${MOST_REQUESTS + 1}) AS ended`;
const REQUESTS = `
  SELECT r.subject, r.action, r.resource, r.context, r.effect, v.people, extract(epoch FROM r.ended_at)::float * 1000 AS ended_at,
    CASE
      WHEN r.status <> 'approved' OR v.is_opposed OR EXISTS (SELECT FROM approvals.revocation o WHERE o.access_request_id = r.id) THEN 'refused'
      WHEN NOT v.by_people OR EXISTS (SELECT FROM approvals.break_glass b WHERE b.access_request_id = r.id) THEN 'other'
      ELSE 'approved' END AS verdict,
    approvals.is_grantable(jsonb_populate_record(r, '{"grant_seconds": 1, "stage": 1}')) AS suits_grants
  FROM approvals.access_request r CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(verdict = 'deny'), false) AS is_opposed, coalesce(array_agg(DISTINCT cast_by), '{}') AS people,
      coalesce(bool_and(via IN ('inbox','api','webhook','slack')), false) AS by_people
    FROM approvals.vote WHERE access_request_id = r.id) v
  WHERE r.ended_at IS NOT NULL AND ${RANGE} ORDER BY r.ended_at DESC, r.id DESC LIMIT ${MOST_REQUESTS}`;

/**
 * Reads how requests were decided, under the role of the access request service and in one transaction that cannot write. Throws
 * `ERR_DATABASE_UNAVAILABLE` with the next step if the database cannot be used.
 */
export async function withHistory<T>(
  { databaseUrl, days, limits }: HistoryOptions,
  work: (history: History) => Promise<T>,
): Promise<T> {
  const session = {
    connectionString: withOption(
      withOption(databaseUrl, `role=${ROLES.approvals}`),
      'default_transaction_read_only=on',
    ),
    application_name: 'countersign history',
    connectionTimeoutMillis: limits.databaseConnectMs,
    statement_timeout: limits.databaseStatementMs,
    query_timeout: limits.databaseAnswerMs,
  };
  let isConnected = false;
  try {
    return await withClient(session, async (client) => {
      const problem = await databaseProblem(client, { onlyReads: true });
      if (problem !== undefined) throw unusable(problem);
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const { rows } = await client.query<{ count: number }>(COUNT, [days]);
      isConnected = true;
      const count = rows[0]?.count ?? 0;
      const requests = () => readRequests(client, days);
      return await work({ requests, count: Math.min(count, MOST_REQUESTS), isCut: count > MOST_REQUESTS });
    });
  } catch (error) {
    if (isConnected || error instanceof CountersignError) throw error;
    throw unusable(problemBehind(error), error);
  }
}

function unusable(problem: string, cause?: unknown): CountersignError {
  const next = isPassing(problem) ? '; start it, or correct its address' : '';
  return new CountersignError('ERR_DATABASE_UNAVAILABLE', `the database cannot be used: ${problem}${next}`, { cause });
}

interface Row {
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly context: string;
  readonly effect: Effect | null;
  readonly verdict: DecidedRequest['verdict'];
  readonly people: string[];
  readonly suits_grants: boolean;
  readonly ended_at: number;
}

async function* readRequests(client: Client, days: number): AsyncGenerator<DecidedRequest> {
  await client.query(`DECLARE requests NO SCROLL CURSOR FOR ${REQUESTS.replaceAll('$1', String(days))}`);
  try {
    for (;;) {
      const { rows } = await client.query<Row>(`FETCH ${AT_ONCE} FROM requests`);
      if (rows.length === 0) return;
      for (const row of rows) yield decided(row);
    }
  } finally {
    await client.query('CLOSE requests');
  }
}

function decided({ subject, action, resource, context, effect, verdict, people, ...row }: Row): DecidedRequest {
  // What a caller sends as an approval has no meaning for policies.
  const { approval: _approval, ...asked } = JSON.parse(context) as JsonObject;
  const [by, what, on] = [subject, action, resource].map((text) => JSON.parse(text) as unknown);
  const request = { subject: by, action: what, resource: on, context: asked } as EvaluationRequest;
  return {
    ...{ request, effect: effect ?? undefined, verdict, people },
    suitsGrants: row.suits_grants,
    endedAt: row.ended_at,
  };
}
