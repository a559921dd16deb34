import type { Clock } from '../../apps/shared/clock.ts';
import type { Approval } from '../../workflows/domain/authzen/evaluation.ts';
import type { CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { CallSeals, Seals, WrappedKeys } from '../../workflows/domain/gated-call/sealing.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import { broken } from './key-ring.ts';
import { queryOne, type StepContext } from './query.ts';

/** How far a gated call has come. Needs no key, so it can be read even when a seal cannot be opened. */
export interface CallProgress {
  readonly gatedCallId: string;
  readonly taskId: string;
  /** W3C trace id of the request that opened it. */
  readonly trace: string;
  readonly state: GatedCallState;
  readonly generation: number;
  /** The epoch in which this was read. A claim that rests on it counts in no other. */
  readonly epoch: number;
  /** The database lost rows that were committed: the call may have gone further than its row says. */
  readonly isFrozen: boolean;
  /** It was opened before the database server was started, so its row may have come back from a copy of the server's files. */
  readonly mayBeCopied: boolean;
  /** The claim, while the call has one. */
  readonly claimId: string | undefined;
  /** The permit to send, once it was given. */
  readonly invocation: { readonly invocationId: string; readonly upstreamKey: string } | undefined;
  /** No permit is on record, and none is given any more: it may be among what a failover lost. */
  readonly isPermitInDoubt: boolean;
  readonly tool: string;
  readonly upstream: string;
  /** The upstream's own name for the tool, with which the public name ends. */
  readonly upstreamTool: string;
  /**
   * Milliseconds until the deadline of the present state, by the database's clock; not positive when it has passed or the
   * call has ended.
   */
  readonly remainingMs: number;
  /** Milliseconds since the call came into its state, by the database's clock. */
  readonly inStateMs: number;
  /** When this was read, in milliseconds: by the database's clock since 1970, and by the monotonic clock of this process. */
  readonly readAt: { readonly databaseMs: number; readonly localMs: number };
}

/**
 * The time of the database's clock in milliseconds since 1970, reckoned from when the call was read. Never later than the clock
 * itself, however long this process waited meanwhile.
 */
export const databaseNow = ({ readAt }: Pick<CallProgress, 'readAt'>, clock: Clock): number =>
  readAt.databaseMs + (clock.monotonicMs() - readAt.localMs);

/** A gated call with everything its next step needs. */
export interface StoredCall extends CallProgress {
  readonly binding: CallBinding;
  readonly handle: AccessRequestHandle | undefined;
  readonly approval: Approval | undefined;
  readonly keys: WrappedKeys;
}

type ProgressRow = Omit<CallProgress, 'claimId' | 'invocation' | 'readAt'> & {
  readonly claimId: string | null;
  readonly databaseMs: number;
  readonly invocationId: string | null;
  readonly upstreamKey: string | null;
};

/** The sealed parts of a call, their data keys, and the parts of the binding that stand beside its seal. */
interface SealedRow extends Pick<CallProgress, 'tool' | 'upstream' | 'upstreamTool'> {
  readonly tool_digest: string;
  readonly call_digest: string;
  readonly call_key: string | null;
  readonly record_key: string;
  readonly sealed_content: string;
  readonly sealed_handle: string | null;
  readonly sealed_approval: string | null;
}

const PROGRESS = `
  SELECT g.id AS "gatedCallId", g.task_id AS "taskId", g.trace_id AS trace, g.state, g.generation, g.claim_id AS "claimId",
    b.tool, b.upstream, b.upstream_tool AS "upstreamTool", i.invocation_id AS "invocationId", i.upstream_key AS "upstreamKey",
    (SELECT number FROM gateway.epoch) AS epoch, gateway.fence_state() <> 'whole' AS "isFrozen",
    g.created_at <= pg_postmaster_start_time() AS "mayBeCopied",
    CASE WHEN g.state = 'claimed' AND i.gated_call_id IS NULL THEN gateway.is_of_earlier_timeline(g.id) ELSE false END AS "isPermitInDoubt",
    coalesce(extract(epoch FROM g.due_at - clock_timestamp()) * 1000, 0)::float8 AS "remainingMs",
    (extract(epoch FROM clock_timestamp() - g.last_updated_at) * 1000)::float8 AS "inStateMs",
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "databaseMs"`;
const SEALED = `, b.tool_digest, b.call_digest, b.sealed_content, k.call_key, k.record_key, s.sealed_handle, a.sealed_body AS sealed_approval`;
const CALL = `
  FROM gateway.gated_call g
  JOIN gateway.call_binding b ON b.gated_call_id = g.id
  JOIN gateway.data_key k ON k.gated_call_id = g.id
  JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation
  LEFT JOIN gateway.approval a ON a.gated_call_id = g.id AND a.generation = g.generation
  LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
  WHERE g.id = $1`;

/** Reads how far a call has come. Throws when there is none with this id: callers hold ids of rows that exist. */
export async function loadProgress({ pool, clock }: StepContext, gatedCallId: string): Promise<CallProgress> {
  return progressOf(await queryOne(pool, 'call-progress', PROGRESS + CALL, [gatedCallId]), clock);
}

/** Reads a gated call and opens its sealed parts. Throws `ERR_SEAL_BROKEN` when one was altered or its key is not there. */
export async function loadCall({ pool, clock, seals }: StepContext, gatedCallId: string): Promise<StoredCall> {
  const text = PROGRESS + SEALED + CALL;
  const row = await queryOne<ProgressRow & SealedRow>(pool, 'load-gated-call', text, [gatedCallId]);
  const keys = { call: row.call_key, record: row.record_key };
  const opener = seals.forCall(gatedCallId, keys);
  const { sealed_handle: handle, sealed_approval: approval, generation } = row;
  return {
    ...progressOf(row, clock),
    keys,
    binding: bindingOf(row, { opener, seals }),
    handle: openJson<AccessRequestHandle>(handle, (sealed) =>
      opener.open('submission.sealed_handle', sealed, generation),
    ),
    approval: openJson<Approval>(approval, (sealed) => opener.open('approval.sealed_body', sealed, generation)),
  };
}

function progressOf(
  { databaseMs, claimId, invocationId, upstreamKey, ...row }: ProgressRow,
  clock: Clock,
): CallProgress {
  return {
    ...row,
    claimId: claimId ?? undefined,
    invocation: invocationId === null || upstreamKey === null ? undefined : { invocationId, upstreamKey },
    readAt: { databaseMs, localMs: clock.monotonicMs() },
  };
}

/** The sealed text is our own: it was written as this type. Throws `ERR_SEAL_BROKEN` for a text that was cut short. */
function parseSealed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw broken('it holds no JSON', cause);
  }
}

const openJson = <T>(sealed: string | null, open: (sealed: string) => string): T | undefined =>
  sealed === null ? undefined : parseSealed<T>(open(sealed));

/**
 * The binding as it was captured. The row has parts of it beside the seal too, for the database and for auditors. A row in which
 * they differ was altered, and would run another tool than the approved one.
 */
function bindingOf(row: SealedRow, { opener, seals }: { opener: CallSeals; seals: Seals }): CallBinding {
  const binding = parseSealed<CallBinding>(opener.open('call_binding.sealed_content', row.sealed_content));
  const isSame =
    binding.tool === row.tool &&
    binding.upstream === row.upstream &&
    binding.upstreamTool === row.upstreamTool &&
    binding.toolDigest === row.tool_digest &&
    seals.digest(binding.callDigest) === row.call_digest;
  if (!isSame) throw broken('what stands beside it was altered');
  return binding;
}
