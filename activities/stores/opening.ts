import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import { functionCall } from '../../apps/shared/database/function-call.ts';
import type { Timing } from '../../apps/shared/limits.ts';
import { newTrace } from '../../apps/shared/log-scope.ts';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import type { CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import type { Opened, Opening } from '../../workflows/domain/ports.ts';
import { ownerKey, subjectKey, type TaskOwner } from '../../workflows/domain/principal.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import { persist, queryOne } from './query.ts';

/** Durations in milliseconds, the limit in calls. */
export interface GatedCallOptions extends Timing {
  readonly seals: Seals;
  readonly requestTtlMs: number;
  /** Milliseconds from the opening to the first poll for a resolution of which no word came. */
  readonly firstPollMs: number;
  readonly retentionMs: number;
  /** The owner of gated calls. Default: the subject, through one client. */
  readonly taskOwner?: TaskOwner;
  readonly maxOpenPerCaller: number;
  /** Through all clients of a subject. Default: as many as through one. */
  readonly maxOpenPerSubject?: number;
  /** How long after its end a call that was carried out, and whose owner was not told how, answers an identical one. Default: not at all. */
  readonly unreadMs?: number;
}

type SignalledOpening = Opening & { readonly signal: AbortSignal | undefined };

/** Opens a call, or finds the one that an identical opening joins. */
export async function open(pool: Pool, options: GatedCallOptions, opening: SignalledOpening): Promise<Opened> {
  const { binding, decision, submission, takesInput, trace, redemption } = opening;
  const { seals } = options;
  // The only randomness in the handles of the call: 122 bits (APPR-202).
  const id = randomUUID();
  const parameters = {
    id,
    task_id: taskIdOf(requestRefOf(id, seals), seals),
    ...identityOf(options, binding),
    max_open: options.maxOpenPerCaller,
    max_open_of_subject: options.maxOpenPerSubject ?? options.maxOpenPerCaller,
    // New answers make a call of its own.
    ...unreadOf(options, opening, redemption === undefined),
    request_ttl_ms: options.requestTtlMs,
    first_poll_ms: options.firstPollMs,
    retention_ms: options.retentionMs,
    tool: binding.tool,
    upstream: binding.upstream,
    upstream_tool: binding.upstreamTool,
    call_digest: seals.digest(binding.callDigest),
    tool_digest: binding.toolDigest,
    requester_key: seals.digest(binding.caller.subject),
    takes_input: takesInput,
    trace_id: trace ?? newTrace(),
    ...sealed(seals, id, opening),
    decision_id: randomUUID(),
    decision_reason: decision.reason,
    evaluation_id: decision.evaluationId,
    policy_version: decision.basis?.policyVersion,
    policies: decision.basis?.policies,
    obligations: decision.obligations && JSON.stringify(decision.obligations),
    submission_id: randomUUID(),
    idempotency_key: submission.idempotencyKey,
    submission_endpoint: submission.endpoint,
    lease_ms: options.limits.submissionLeaseMs,
  };
  const row = await openOnce(pool, options, parameters, opening);
  if (row === undefined) return { kind: 'unwanted' };
  const { outcome: kind, gated_call_id: gatedCallId, task_id: taskId } = row;
  if (kind === 'too_many' || kind === 'gone' || kind === 'unwanted' || kind === 'late') return { kind };
  if (kind !== 'opened' && gatedCallId !== parameters.id) return { kind, gatedCallId, taskId };
  // The process that opens a call submits it next: the right to do so came with it.
  return { kind: 'opened', gatedCallId, taskId, submission: { ...submission, generation: 1 } };
}

/** The keys of the call's subject and owner, and the key that identical calls share. */
function identityOf({ seals, taskOwner }: GatedCallOptions, { caller, tool, callDigest }: CallBinding) {
  const owner = ownerKey(caller, taskOwner);
  return {
    subject_key: seals.digest(subjectKey(caller)),
    owner_key: seals.digest(owner),
    dedup_key: seals.digest(canonicalJson([owner, tool, callDigest])),
  };
}

type Came = Pick<Opening, 'cameAt' | 'takesUnread'>;

const unreadOf = (
  { unreadMs = 0, clock }: GatedCallOptions,
  { cameAt = clock.monotonicMs(), takesUnread = true }: Came,
  isWanted = true,
) => ({
  unread_ms: isWanted && takesUnread ? unreadMs : 0,
  // The driver asks for it when it sends the statement, which may wait for a connection before, and be sent again.
  waited_ms: { toPostgres: () => clock.monotonicMs() - cameAt },
});

/** The open call that an identical one would join, or an ended one whose owner was not told how. */
export async function findOpen(
  pool: Pool,
  options: GatedCallOptions,
  { binding, ...call }: Came & Pick<Opening, 'binding'>,
) {
  const identity = identityOf(options, binding);
  const keys = [identity.subject_key, identity.owner_key, identity.dedup_key];
  const [row] = await query<{ id: string; task_id: string }>(pool, 'find-open', FIND_OPEN, keys);
  if (row !== undefined) return { kind: 'joined' as const, gatedCallId: row.id, taskId: row.task_id };
  const { owner_key, dedup_key } = identity;
  const parameters = { id: randomUUID(), owner_key, dedup_key, ...unreadOf(options, call) };
  const { text, values } = functionCall('gateway.take_unread', parameters);
  const take = () => query<Omit<OpenedRow, 'outcome'>>(pool, 'take-unread', `SELECT * FROM ${text}`, values);
  const [unread] = await persist(take, options.limits.callOpeningMs, options.clock);
  return unread && { kind: 'unread' as const, gatedCallId: unread.gated_call_id, taskId: unread.task_id };
}

/** The parts of the opening that the database keeps and cannot read. */
function sealed(seals: Seals, gatedCallId: string, { binding, submission, preview }: Opening) {
  const keys = seals.forNewCall(gatedCallId);
  const { subject, action, resource } = binding.evaluation;
  const requested = { requester: binding.caller, subject, action, resource };
  return {
    key_id: seals.currentKeyId,
    call_key: keys.wrapped.call,
    record_key: keys.wrapped.record,
    sealed_content: keys.seal('call_binding.sealed_content', JSON.stringify(binding)),
    sealed_requester: keys.seal('call_binding.sealed_requester', JSON.stringify(requested)),
    sealed_body: keys.seal('submission.sealed_body', submission.body),
    sealed_preview: preview && keys.seal('preview.sealed_preview', JSON.stringify(preview)),
  };
}

/**
 * Opens the call under the ids it was given, however often the answer is lost: an earlier run of the statement that was
 * committed after all is found by the call's id, or joined under it. Undefined: the caller went before there was a call.
 */
async function openOnce(
  pool: Pool,
  { clock, limits }: Timing,
  parameters: { readonly id: string },
  { redemption, signal }: SignalledOpening,
): Promise<OpenedRow | undefined> {
  let wasLost = false;
  const attempt = async () => {
    const [mine] = wasLost ? await query<OpenedRow>(pool, 'find-opened', FIND_OPENED, [parameters.id]) : [];
    wasLost = true;
    if (mine !== undefined || signal?.aborted) return mine;
    const { nonce, expiresAt: expires_at } = redemption ?? {};
    const [statement, { text, values }] =
      nonce === undefined
        ? ['open-gated-call', functionCall('gateway.open_gated_call', parameters)]
        : ['redeem-state', functionCall('gateway.redeem_state', { nonce, expires_at, ...parameters })];
    return queryOne<OpenedRow>(pool, statement, `SELECT * FROM ${text}`, values);
  };
  return persist(attempt, limits.callOpeningMs, clock);
}

const FIND_OPEN =
  'SELECT id, task_id FROM gateway.gated_call WHERE subject_key = $1 AND owner_key = $2 AND dedup_key = $3 AND ended_at IS NULL';
const FIND_OPENED = `
  SELECT CASE WHEN ended_at IS NULL THEN 'opened' ELSE 'gone' END AS outcome, id AS gated_call_id, task_id
  FROM gateway.gated_call WHERE id = $1`;

interface OpenedRow {
  readonly outcome: Opened['kind'];
  readonly gated_call_id: string;
  readonly task_id: string;
}

/**
 * The name by which the owner of a gated call knows it. Each handle is derived from the one before with the digest key: the id of
 * the call, its request reference, its task id. So a reference leads to its call without being stored, and no handle leads to
 * another without the key.
 */
export const requestRefOf = (gatedCallId: string, seals: Pick<Seals, 'digest'>) =>
  `req_${derived(seals, ['request', gatedCallId])}`;

/** Of any text: a text that is no reference leads to a task that does not exist. */
export const taskIdOf = (requestRef: string, seals: Pick<Seals, 'digest'>) =>
  `tsk_${derived(seals, ['task', requestRef])}`;

const HEX_DIGITS_OF_128_BITS = 32;

const derived = (seals: Pick<Seals, 'digest'>, parts: readonly string[]) =>
  seals.digest(canonicalJson(parts)).slice(-HEX_DIGITS_OF_128_BITS);
