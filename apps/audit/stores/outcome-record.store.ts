import type { Pool } from 'pg';
import type * as tables from '../../../prisma/generated/client.ts';
import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { SiblingCall, TerminalState } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordSeals } from '../../../workflows/domain/gated-call/sealing.ts';
import { inUtc } from '../../shared/database/function-call.ts';
import { readPage } from '../../shared/database/pages.ts';
import { queryOf } from '../../shared/database/query.ts';
import { createPool, ROLES } from '../../shared/database/pool.ts';
import type { Limits } from '../../shared/limits.ts';
import type { Search } from '../filters.ts';

/** A row of the table, with the key to its sealed parts. */
export interface StoredRecord extends Readonly<Omit<tables.OutcomeRecord, 'state' | 'recordedAt'>> {
  /** UTC, microseconds. */
  readonly recordedAt: string;
  readonly state: TerminalState;
  readonly recordKey: string;
}

/** A result that came after the call had been settled without it. */
export interface LateResult {
  readonly isError: boolean;
  /** Keyed, as that of a result. */
  readonly digest: string;
  /** UTC, microseconds. */
  readonly at: string;
}

/** A record with the rows of other tables about the same call, all read at one moment. */
export interface StoredEvidence extends StoredRecord {
  /** W3C trace id of the call, which finds the log lines of all processes. */
  readonly trace: string;
  readonly claimCount: number;
  readonly invocationCount: number;
  readonly transitions: readonly { readonly seq: number; readonly to: GatedCallState }[];
  readonly siblings: readonly SiblingCall[];
  readonly lateResult: LateResult | null;
  /** The call as the enforcement side finds it. Null once its retention has ended. */
  readonly binding: { readonly tool: string; readonly callDigest: string } | null;
}

export type OutcomeRecords = ReturnType<typeof createOutcomeRecords>;

/** Most records that one look-up by call or decision returns; the list has the rest. */
const LOOKUP_LIMIT = 50;

const RECORD = `r.gated_call_id AS "gatedCallId", k.record_key AS "recordKey", r.outcome_ref AS "outcomeRef", r.task_id AS "taskId", r.call_digest AS "callDigest", r.tool, r.state,
  r.requester_key AS "requesterKey", r.body, r.digest, ${inUtc('r.recorded_at')} AS "recordedAt"`;
const FROM = 'FROM gateway.outcome_record r JOIN gateway.data_key k ON k.gated_call_id = r.gated_call_id';
// One statement reads one snapshot, so nothing can happen between the reads of record and evidence.
const EVIDENCE = `SELECT ${RECORD},
  (SELECT json_build_object('tool', b.tool, 'callDigest', b.call_digest)
     FROM gateway.call_binding b WHERE b.gated_call_id = r.gated_call_id) AS binding,
  (SELECT g.trace_id FROM gateway.gated_call g WHERE g.id = r.gated_call_id) AS trace,
  (SELECT count(*)::int FROM gateway.execution_claim x WHERE x.gated_call_id = r.gated_call_id AND x.released_at IS NULL) AS "claimCount",
  (SELECT count(*)::int FROM gateway.invocation x WHERE x.gated_call_id = r.gated_call_id) AS "invocationCount",
  (SELECT json_build_object('isError', l.is_error, 'digest', l.result_digest, 'at', ${inUtc('l.recorded_at')})
     FROM gateway.late_evidence l WHERE l.gated_call_id = r.gated_call_id) AS "lateResult",
  (SELECT coalesce(json_agg(json_build_object('seq', e.seq, 'to', e.to_state) ORDER BY e.seq), '[]')
     FROM gateway.call_event e WHERE e.gated_call_id = r.gated_call_id) AS transitions,
  (SELECT coalesce(json_agg(json_strip_nulls(json_build_object('taskId', g.task_id, 'state', g.state,
       'outcomeRef', o.outcome_ref)) ORDER BY g.created_at, g.id), '[]')
     FROM gateway.gated_call g LEFT JOIN gateway.outcome_record o ON o.gated_call_id = g.id
     WHERE g.id <> r.gated_call_id AND g.id IN (
       SELECT s.gated_call_id FROM gateway.call_binding s WHERE s.call_digest = r.call_digest
       UNION SELECT s.gated_call_id FROM gateway.outcome_record s WHERE s.call_digest = r.call_digest)) AS siblings
  ${FROM}`;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * Reads outcome records and the evidence beside them, over a pool whose sessions are read-only. Throws `ERR_DATABASE_UNAVAILABLE`.
 * It reads by SQL: the Prisma client has milliseconds where the sealed text and cursors have microseconds.
 */
export function createOutcomeRecords(pool: Pool, { digest }: Pick<RecordSeals, 'digest'>) {
  const query = queryOf(pool, 'audit');
  // Prepared once for each connection: to plan it takes longer than to run it.
  const evidence = (by: string, where: string, values: unknown[]) =>
    query<StoredEvidence>(
      `record-by-${by}`,
      `${EVIDENCE} WHERE ${where} ORDER BY r.recorded_at DESC, r.outcome_ref DESC LIMIT ${LOOKUP_LIMIT}`,
      values,
    );
  return {
    /** A page of the records that match, newest first. */
    list({ filter: { requester, ...rest }, request }: Omit<Search, 'query'>) {
      const values: unknown[] = [];
      const where = conditions({ ...rest, requesterKey: requester && digest(requester) }, values);
      const sort = { at: 'r.recorded_at', id: 'r.outcome_ref', order: 'newest' } as const;
      return readPage<StoredRecord>(
        query,
        { columns: RECORD, from: `${FROM} WHERE ${where}`, ...sort, values },
        request,
      );
    },
    byRef: async (outcomeRef: string) => (await evidence('ref', 'r.outcome_ref = $1', [outcomeRef]))[0],
    byTask: async (taskId: string) => (await evidence('task', 'r.task_id = $1', [taskId]))[0],
    /** By the id of our decision row or by the PDP's own id of the evaluation. */
    byDecision: (decisionId: string) =>
      evidence(
        'decision',
        `r.gated_call_id IN (SELECT d.gated_call_id FROM gateway.decision d WHERE d.evaluation_id = $1
           UNION SELECT d.gated_call_id FROM gateway.decision d WHERE d.id = $2::uuid)`,
        [decisionId, UUID.test(decisionId) ? decisionId : null],
      ),
    /** The newest records of a call; `isWhole`: there are no others. The list has all of them. */
    async byCall(callDigest: string) {
      const found = await evidence('call', 'r.call_digest = $1', [callDigest]);
      return { found, isWhole: found.length < LOOKUP_LIMIT };
    },
    /** The state of a call that has not ended, and so has no record yet. */
    async openState(taskId: string): Promise<GatedCallState | undefined> {
      const text = 'SELECT state FROM gateway.gated_call WHERE task_id = $1 AND ended_at IS NULL';
      return (await query<{ state: GatedCallState }>('open-state', text, [taskId]))[0]?.state;
    },
    /** As `openState`, by the policy decision point's id of an evaluation. */
    async openStateByDecision(evaluationId: string): Promise<GatedCallState | undefined> {
      const text = `SELECT c.state FROM gateway.decision d JOIN gateway.gated_call c ON c.id = d.gated_call_id
        WHERE d.evaluation_id = $1 AND c.ended_at IS NULL LIMIT 1`;
      return (await query<{ state: GatedCallState }>('open-state-by-decision', text, [evaluationId]))[0]?.state;
    },
  };
}

type StoredFilter = Omit<Search['filter'], 'requester'> & { readonly requesterKey: string | undefined };

/** What the rows of a list satisfy; adds the parameters to `values`. */
function conditions({ state, tool, requesterKey, callDigest, from, until }: StoredFilter, values: unknown[]) {
  const place = (value: string) => `$${values.push(value)}`;
  const parts = [
    'true',
    state && `r.state = ${place(state)}`,
    tool && `r.tool = ${place(tool)}`,
    requesterKey && `r.requester_key = ${place(requesterKey)}`,
    callDigest && `r.call_digest = ${place(callDigest)}`,
    from && `r.recorded_at >= ${place(from)}::timestamptz`,
    until && `r.recorded_at < ${place(until)}::timestamptz`,
  ];
  return parts.filter(Boolean).join(' AND ');
}

/** Connections that cannot write: the database itself refuses any statement that would. */
export function createReadOnlyPool(databaseUrl: string, limits: Limits): Pool {
  return createPool(databaseUrl, { applicationName: 'countersign audit', role: ROLES.audit, onlyReads: true, limits });
}
