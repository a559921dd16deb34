import type { Pool, QueryResultRow } from 'pg';
import { asUnavailable } from '../../../workflows/domain/errors.ts';
import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { SiblingCall, TerminalState } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordSeals } from '../../../workflows/domain/gated-call/sealing.ts';
import { createPool, ROLES, withOption } from '../../shared/database/pool.ts';
import { inUtc } from '../../shared/database/function-call.ts';
import type { Limits } from '../../shared/limits.ts';

/** A record as it lies in the table, with the keys to what is sealed in it. */
export interface StoredRecord {
  readonly gatedCallId: string;
  readonly outcomeRef: string;
  readonly taskId: string;
  readonly callDigest: string;
  readonly tool: string;
  readonly state: TerminalState;
  /** Keyed digest of the requester's subject. */
  readonly requesterKey: string;
  readonly recordKey: string;
  /** Exactly the bytes that were sealed. */
  readonly body: string;
  /** `sha-256:` and the hex digest that was stored with the body. */
  readonly digest: string;
  /** UTC, microseconds. */
  readonly recordedAt: string;
}

/** A result that came after the call had been settled without it. */
export interface LateResult {
  readonly isError: boolean;
  /** Keyed, as that of a result. */
  readonly digest: string;
  /** UTC, microseconds. */
  readonly at: string;
}

/** A record with what the other tables say about the same call, all read at one moment. */
export interface StoredEvidence extends StoredRecord {
  /** W3C trace id of the call, by which the log lines of all processes are found. */
  readonly trace: string;
  readonly claimCount: number;
  readonly invocationCount: number;
  readonly transitions: readonly { readonly seq: number; readonly to: GatedCallState }[];
  readonly siblings: readonly SiblingCall[];
  readonly lateResult: LateResult | null;
  /** What the call is bound to, as the enforcement side looks it up. Null once it is no longer kept. */
  readonly binding: { readonly tool: string; readonly callDigest: string } | null;
}

export interface RecordFilter {
  readonly state?: TerminalState;
  readonly tool?: string;
  readonly requester?: string;
  readonly callDigest?: string;
  /** Inclusive. */
  readonly from?: string;
  /** Exclusive. */
  readonly until?: string;
}

/** A record at an end of a page: the next page holds what comes after the last, the one before what comes before the first. */
export interface RecordPosition {
  readonly recordedAt: string;
  readonly outcomeRef: string;
}

/** Reads outcome records and the evidence beside them; writes nothing. Throws `ERR_DATABASE_UNAVAILABLE`. */
export interface OutcomeRecords {
  /** Newest first, at most `limit`: the newest of all, those after a position, or those right before one. */
  list(
    filter: RecordFilter,
    page: { after?: RecordPosition; before?: RecordPosition; limit: number },
  ): Promise<readonly StoredRecord[]>;
  byRef(outcomeRef: string): Promise<StoredEvidence | undefined>;
  byTask(taskId: string): Promise<StoredEvidence | undefined>;
  /** By the id of our decision row or by the PDP's own id of the evaluation. */
  byDecision(decisionId: string): Promise<readonly StoredEvidence[]>;
  /** The newest records of a call; `isWhole`: there are no others. The list has all of them. */
  byCall(callDigest: string): Promise<{ readonly found: readonly StoredEvidence[]; readonly isWhole: boolean }>;
  /** The state of a call that has not ended, and so has no record yet. */
  openState(taskId: string): Promise<GatedCallState | undefined>;
}

/** Most records one look-up by call or decision returns; the list has the rest. */
const LOOKUP_LIMIT = 50;

const RECORDED_AT = `${inUtc('r.recorded_at')} AS "recordedAt"`;
const RECORD = `r.gated_call_id AS "gatedCallId", k.record_key AS "recordKey", r.outcome_ref AS "outcomeRef", r.task_id AS "taskId", r.call_digest AS "callDigest", r.tool, r.state,
  r.requester_key AS "requesterKey", r.body, r.digest, ${RECORDED_AT}`;
// One statement reads one snapshot, so record and evidence cannot differ by something that happened in between.
const EVIDENCE = `SELECT ${RECORD},
  (SELECT json_build_object('tool', b.tool, 'callDigest', b.call_digest)
     FROM gateway.call_binding b WHERE b.gated_call_id = r.gated_call_id) AS binding,
  (SELECT g.trace_id FROM gateway.gated_call g WHERE g.id = r.gated_call_id) AS trace,
  (SELECT count(*)::int FROM gateway.execution_claim x WHERE x.gated_call_id = r.gated_call_id) AS "claimCount",
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
  FROM gateway.outcome_record r JOIN gateway.data_key k ON k.gated_call_id = r.gated_call_id`;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const NEWEST_FIRST = 'ORDER BY r.recorded_at DESC, r.outcome_ref DESC';
const OLDEST_FIRST = 'ORDER BY r.recorded_at, r.outcome_ref';

/** The store on a pool whose sessions are read-only. */
export function createOutcomeRecords(pool: Pool, { digest }: Pick<RecordSeals, 'digest'>): OutcomeRecords {
  const query = async <Row extends QueryResultRow>(text: string, values: (string | number | null)[]) => {
    try {
      return (await pool.query<Row>(text, values)).rows;
    } catch (error) {
      throw asUnavailable(error);
    }
  };
  const evidence = (where: string, values: (string | null)[]) =>
    query<StoredEvidence>(`${EVIDENCE} WHERE ${where} ${NEWEST_FIRST} LIMIT ${LOOKUP_LIMIT}`, values);
  return {
    async list(filter, page) {
      const { requester, ...rest } = filter;
      const key = requester === undefined ? {} : { requesterKey: digest(requester) };
      const { where, values } = conditions({ ...rest, ...key }, page);
      const limit = `$${values.push(page.limit)}`;
      const text = `SELECT ${RECORD} FROM gateway.outcome_record r
        JOIN gateway.data_key k ON k.gated_call_id = r.gated_call_id ${where} ${page.before ? OLDEST_FIRST : NEWEST_FIRST} LIMIT ${limit}`;
      const found = await query<StoredRecord>(text, values);
      return page.before ? found.reverse() : found;
    },
    byRef: async (outcomeRef) => (await evidence('r.outcome_ref = $1', [outcomeRef]))[0],
    byTask: async (taskId) => (await evidence('r.task_id = $1', [taskId]))[0],
    byDecision: (decisionId) =>
      evidence(
        `r.gated_call_id IN (SELECT d.gated_call_id FROM gateway.decision d WHERE d.evaluation_id = $1
           UNION SELECT d.gated_call_id FROM gateway.decision d WHERE d.id = $2::uuid)`,
        [decisionId, UUID.test(decisionId) ? decisionId : null],
      ),
    async byCall(callDigest) {
      const found = await evidence('r.call_digest = $1', [callDigest]);
      return { found, isWhole: found.length < LOOKUP_LIMIT };
    },
    async openState(taskId) {
      const [call] = await query<{ state: GatedCallState; ended: boolean }>(
        'SELECT state, ended_at IS NOT NULL AS ended FROM gateway.gated_call WHERE task_id = $1',
        [taskId],
      );
      return call?.ended ? undefined : call?.state;
    },
  };
}

type StoredFilter = Omit<RecordFilter, 'requester'> & { readonly requesterKey?: string };

function conditions(filter: StoredFilter, { after, before }: { after?: RecordPosition; before?: RecordPosition }) {
  const values: (string | number)[] = [];
  const parts: string[] = [];
  const add = (condition: (place: string) => string, value: string | undefined) => {
    if (value !== undefined) parts.push(condition(`$${values.push(value)}`));
  };
  add((place) => `r.state = ${place}`, filter.state);
  add((place) => `r.tool = ${place}`, filter.tool);
  add((place) => `r.requester_key = ${place}`, filter.requesterKey);
  add((place) => `r.call_digest = ${place}`, filter.callDigest);
  add((place) => `r.recorded_at >= ${place}::timestamptz`, filter.from);
  add((place) => `r.recorded_at < ${place}::timestamptz`, filter.until);
  const beside = (how: '<' | '>', { recordedAt, outcomeRef }: RecordPosition) => {
    const places = [`$${values.push(recordedAt)}::timestamptz`, `$${values.push(outcomeRef)}`];
    parts.push(`(r.recorded_at, r.outcome_ref) ${how} (${places.join(', ')})`);
  };
  if (after) beside('<', after);
  if (before) beside('>', before);
  return { where: parts.length > 0 ? `WHERE ${parts.join(' AND ')}` : '', values };
}

/** Connections that cannot write, whatever is sent over them: the database itself refuses. */
export function createReadOnlyPool(databaseUrl: string, limits: Limits): Pool {
  const url = withOption(databaseUrl, 'default_transaction_read_only=on');
  return createPool(url, { applicationName: 'countersign audit', role: ROLES.audit, limits });
}
