import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCalls, GatedCallView, Opened, Opening } from '../../workflows/domain/ports.ts';
import { SUBMISSION_LEASE_MS, type TakenSubmission } from '../../workflows/domain/gated-call/submission.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { sha256 } from '../sha256.ts';
import { query, queryOne } from './query.ts';

/** Durations in milliseconds, the limit in calls. */
export interface GatedCallLimits {
  readonly requestTtlMs: number;
  readonly retentionMs: number;
  readonly maxOpenPerCaller: number;
}

/** Gated calls in Postgres, as the gateway needs them. */
export function createGatedCallStore(pool: Pool, limits: GatedCallLimits): GatedCalls {
  return {
    open: (opening) => open(pool, limits, opening),
    findTask: (taskId, owner) => findTask(pool, limits, taskId, owner),
    async cancel(gatedCallId) {
      const row = await queryOne<{ state: GatedCallState }>(
        pool,
        'cancel',
        `SELECT gateway.end_unclaimed($1, 'cancelled', 'client_cancelled', 'client', $2) AS state`,
        [gatedCallId, limits.retentionMs],
      );
      return row.state;
    },
    async acceptCallback({ webhookId, bodyDigest, accessRequestId }) {
      const row = await queryOne<{ verdict: 'accepted' | 'repeated' | 'conflict' }>(
        pool,
        'accept-callback',
        'SELECT gateway.accept_callback($1, $2, $3) AS verdict',
        [webhookId, bodyDigest, accessRequestId],
      );
      return row.verdict;
    },
  };
}

/** 128 random bits: knowing one handle tells nothing about another. */
const newTaskId = () => `tsk_${randomBytes(16).toString('hex')}`;

async function open(pool: Pool, limits: GatedCallLimits, opening: Opening): Promise<Opened> {
  const { binding, decision } = opening;
  const owner = ownerKey(binding.caller);
  const parameters = {
    id: randomUUID(),
    task_id: newTaskId(),
    owner_key: owner,
    dedup_key: sha256(canonicalJson([owner, binding.tool, binding.callDigest])),
    max_open: limits.maxOpenPerCaller,
    request_ttl_ms: limits.requestTtlMs,
    retention_ms: limits.retentionMs,
    tool: binding.tool,
    upstream: binding.upstream,
    upstream_tool: binding.upstreamTool,
    arguments: binding.arguments,
    call_digest: binding.callDigest,
    tool_digest: binding.toolDigest,
    caller: binding.caller,
    evaluation: canonicalJson(binding.evaluation as never),
    decision_id: randomUUID(),
    decision_reason: decision.reason ?? null,
    evaluation_id: decision.evaluationId ?? null,
    submission_id: randomUUID(),
    idempotency_key: randomBytes(32).toString('base64url'),
    submission_endpoint: opening.submissionEndpoint,
    submission_body: opening.submissionBody,
  };
  const row = await queryOne<OpenedRow>(pool, 'open-gated-call', OPEN, [
    JSON.stringify(parameters),
    SUBMISSION_LEASE_MS,
  ]);
  if (row.outcome !== 'opened' && row.outcome !== 'joined') return { kind: row.outcome };
  const { outcome: kind, gated_call_id: gatedCallId, task_id: taskId, submission } = row;
  return { kind, gatedCallId, taskId, ...(submission !== null && { submission }) };
}

interface OpenedRow {
  readonly outcome: Opened['kind'];
  readonly gated_call_id: string;
  readonly task_id: string;
  readonly submission: TakenSubmission | null;
}

// Whoever opens a call submits it next: the right to do so comes with it, unless somebody else has it.
const OPEN = `
  SELECT o.outcome, o.gated_call_id, o.task_id, CASE WHEN t.endpoint IS NOT NULL THEN jsonb_build_object('generation',
    t.generation, 'endpoint', t.endpoint, 'idempotencyKey', t.idempotency_key, 'body', t.body) END AS submission
  FROM gateway.open_gated_call($1) AS o
  LEFT JOIN LATERAL gateway.take_submission(o.gated_call_id, $2) AS t ON true`;

interface TaskRow {
  id: string;
  task_id: string;
  state: GatedCallState;
  reason: EndReason | null;
  tool: string;
  created_at: Date;
  last_updated_at: Date;
  retain_until: Date;
  result: string | null;
  outcome_ref: string | null;
  due: boolean;
}

// Unknown, foreign and no longer kept are one answer: no row.
const FIND_TASK = `
  SELECT g.id, g.task_id, g.state, g.reason, b.tool, g.created_at, g.last_updated_at, g.retain_until, r.result, o.outcome_ref,
    g.ended_at IS NULL AND clock_timestamp() >= CASE g.state WHEN 'claimed' THEN g.execution_deadline
      WHEN 'granted' THEN least(g.request_deadline, g.approval_expires_at) ELSE g.request_deadline END AS due
  FROM gateway.gated_call g
  JOIN gateway.call_binding b ON b.gated_call_id = g.id
  LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
  LEFT JOIN gateway.outcome_record o ON o.gated_call_id = g.id
  WHERE g.task_id = $1 AND g.owner_key = $2 AND g.state <> 'preparing'
    AND (g.ended_at IS NULL OR g.retain_until > clock_timestamp())`;

async function findTask(
  pool: Pool,
  limits: GatedCallLimits,
  taskId: string,
  owner: string,
): Promise<GatedCallView | undefined> {
  const read = async () => (await query<TaskRow>(pool, 'find-task', FIND_TASK, [taskId, owner]))[0];
  let row = await read();
  if (row?.due) {
    // No client reads `working` past the deadline, whether or not the sweeper has come by.
    await query(pool, 'expire', 'SELECT gateway.expire_gated_call($1, $2)', [row.id, limits.retentionMs]);
    row = await read();
  }
  if (row === undefined) return undefined;
  return {
    gatedCallId: row.id,
    taskId: row.task_id,
    state: row.state,
    tool: row.tool,
    createdAt: row.created_at.toISOString(),
    lastUpdatedAt: row.last_updated_at.toISOString(),
    retainUntil: row.retain_until.toISOString(),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.result !== null && { result: row.result }),
    ...(row.outcome_ref !== null && { outcomeRef: row.outcome_ref }),
  };
}
