import type { Pool } from 'pg';
import type { Approval, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import { queryOne } from './query.ts';

/** A gated call with everything its next step needs. */
export interface StoredCall {
  readonly gatedCallId: string;
  readonly state: GatedCallState;
  readonly generation: number;
  readonly claimId: string | undefined;
  readonly binding: CallBinding;
  readonly submission: { readonly endpoint: string; readonly idempotencyKey: string; readonly body: string };
  readonly handle: AccessRequestHandle | undefined;
  readonly approval: Approval | undefined;
  /** The invocation that has the permit to send, once one has. */
  readonly invocationId: string | undefined;
  /**
   * Milliseconds until the deadline of the present state, by the database's clock; not positive when it has passed or the
   * call has ended.
   */
  readonly remainingMs: number;
}

interface CallRow {
  id: string;
  state: GatedCallState;
  generation: number;
  claim_id: string | null;
  remaining_ms: number;
  tool: string;
  upstream: string;
  upstream_tool: string;
  arguments: string;
  call_digest: string;
  tool_digest: string;
  caller: Principal;
  evaluation: string;
  endpoint: string;
  idempotency_key: string;
  body: string;
  access_request_id: string | null;
  status_endpoint: string | null;
  cancel_endpoint: string | null;
  approval: string | null;
  invocation_id: string | null;
}

const LOAD = `
  SELECT g.id, g.state, g.generation, g.claim_id, b.*, s.endpoint, s.idempotency_key, s.body, s.access_request_id,
    s.status_endpoint, s.cancel_endpoint, a.body AS approval,
    i.invocation_id,
    coalesce(extract(epoch FROM g.due_at - clock_timestamp()) * 1000, 0)::float8 AS remaining_ms
  FROM gateway.gated_call g
  JOIN gateway.call_binding b ON b.gated_call_id = g.id
  JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation
  LEFT JOIN gateway.approval a ON a.gated_call_id = g.id AND a.generation = g.generation
  LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
  WHERE g.id = $1`;

/** Reads a gated call. Throws when there is none with this id: callers hold ids of rows that exist. */
export async function loadCall(pool: Pool, gatedCallId: string): Promise<StoredCall> {
  const row = await queryOne<CallRow>(pool, 'load-gated-call', LOAD, [gatedCallId]);
  return {
    gatedCallId: row.id,
    state: row.state,
    generation: row.generation,
    claimId: row.claim_id ?? undefined,
    remainingMs: row.remaining_ms,
    invocationId: row.invocation_id ?? undefined,
    binding: {
      tool: row.tool,
      upstream: row.upstream,
      upstreamTool: row.upstream_tool,
      arguments: row.arguments,
      callDigest: row.call_digest,
      toolDigest: row.tool_digest,
      caller: row.caller,
      evaluation: JSON.parse(row.evaluation) as EvaluationRequest,
    },
    submission: { endpoint: row.endpoint, idempotencyKey: row.idempotency_key, body: row.body },
    handle: handleOf(row),
    approval: row.approval === null ? undefined : (JSON.parse(row.approval) as Approval),
  };
}

function handleOf(row: CallRow): AccessRequestHandle | undefined {
  if (row.access_request_id === null || row.status_endpoint === null) return undefined;
  return {
    accessRequestId: row.access_request_id,
    statusEndpoint: row.status_endpoint,
    ...(row.cancel_endpoint !== null && { cancelEndpoint: row.cancel_endpoint }),
  };
}
