import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { sha256 } from '../../apps/shared/crypto.ts';
import { createGatedCallStore } from '../../activities/stores/gated-call.store.ts';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { databaseNow } from '../../activities/stores/stored-call.ts';
import { canonicalJson, type Json, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Approval } from '../../workflows/domain/authzen/evaluation.ts';
import { createRecordSeals, createSeals } from '../../activities/stores/seals.ts';
import { callDigest } from '../../workflows/domain/gated-call/call-binding.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { Opening } from '../../workflows/domain/ports.ts';
import type { Principal, TaskOwner } from '../../workflows/domain/principal.ts';
import { sealingKey, sealingSecrets } from './sealing-secrets.ts';
import { systemTime } from './time.ts';
import { repeatWhile } from './wait-for.ts';

/** The sealing secrets of tests, in the form of a deployable. */
export const SEALING_SECRETS = sealingSecrets([sealingKey('test', 7)], 'a digest key that is for tests');
export const TEST_SEALS = createSeals(SEALING_SECRETS);
/** The audit side's part of them. */
export const TEST_RECORD_SEALS = createRecordSeals(SEALING_SECRETS);

const HOUR_MS = 3_600_000;
/** How often a decision may be too old before that is the result. */

export const CALLER: Principal = { issuer: 'https://idp.test', subject: 'agent', clientId: 'agent' };

/** An opening of a `files__write_file` call; every call without `args` is different. */
export function anOpening(
  of: { caller?: Principal; args?: JsonObject; tool?: string; takesInput?: boolean } = {},
): Opening {
  const tool = of.tool ?? 'files__write_file';
  const args = of.args ?? { path: `/tmp/${randomUUID()}`, content: 'hello' };
  const caller = of.caller ?? CALLER;
  const digest = callDigest({ tool, arguments: args }, sha256);
  return {
    binding: {
      tool,
      upstream: 'files',
      upstreamTool: 'write_file',
      arguments: canonicalJson(args),
      callDigest: digest,
      toolDigest: 'sha-256:tool',
      caller,
      evaluation: {
        subject: { type: 'identity', id: caller.subject },
        action: { name: 'tools/call' },
        resource: { type: 'tool', id: tool },
        context: { agent: caller.clientId ?? 'none', arguments: args, call_digest: digest },
      },
    },
    decision: {
      kind: 'requestable',
      evaluationId: `eval_${randomUUID()}`,
      reason: 'approval_required',
      offer: { endpoint: 'https://ars.test/requests', expiresAt: new Date(Date.now() + 600_000).toISOString() },
    },
    takesInput: of.takesInput ?? false,
    /** A new one for each read, as a repeated call of an agent has. */
    get submission() {
      return { idempotencyKey: randomUUID(), endpoint: 'http://127.0.0.1:1/access/v1/requests', body: '{}' };
    },
  };
}

export function anApproval({ state = 'signed-state', ...of }: Partial<Approval> & { state?: Json } = {}): Approval {
  const id = of.id ?? `apr_${randomUUID()}`;
  const approvedAt = of.approvedAt ?? new Date().toISOString();
  const approvedUntil = of.approvedUntil ?? new Date(Date.now() + 3_600_000).toISOString();
  const presented = { id, approved_at: approvedAt, approved_until: approvedUntil, state };
  return { id, approvedAt, approvedUntil, presented, ...of };
}

/** The two stores over one pool, and short ways to bring a call to a state. Durations in milliseconds. */
export function gatedCallFixture(
  pool: Pool,
  limits: {
    requestTtlMs?: number;
    maxOpenPerCaller?: number;
    firstPollMs?: number;
    unreadMs?: number;
    taskOwner?: TaskOwner;
    seals?: Seals;
  } = {},
) {
  const { seals = TEST_SEALS } = limits;
  const calls = createGatedCallStore(pool, {
    ...systemTime,
    seals,
    requestTtlMs: limits.requestTtlMs ?? HOUR_MS,
    firstPollMs: limits.firstPollMs ?? HOUR_MS,
    retentionMs: HOUR_MS,
    maxOpenPerCaller: limits.maxOpenPerCaller ?? 1_000,
    ...(limits.unreadMs !== undefined && { unreadMs: limits.unreadMs }),
    ...(limits.taskOwner !== undefined && { taskOwner: limits.taskOwner }),
  });
  const store = createLifecycleStore(pool, { ...systemTime, seals, retentionMs: HOUR_MS });
  type Permit = Parameters<typeof store.beginInvocation>[0];
  const lifecycle = {
    ...store,
    beginInvocation: (permit: Omit<Permit, 'executionTimeoutMs'> & Partial<Permit>) =>
      store.beginInvocation({ executionTimeoutMs: 600_000, ...permit }),
  };

  async function opened(opening: Opening = anOpening()) {
    const call = await calls.open(opening);
    if (call.kind !== 'opened') throw new Error(`expected a new call, got ${call.kind}`);
    return call;
  }
  async function pending(opening?: Opening) {
    const call = await opened(opening);
    await lifecycle.attachHandle(call.gatedCallId, 1, {
      accessRequestId: `arq_${call.gatedCallId}`,
      statusEndpoint: 'http://127.0.0.1:1/status',
      cancelEndpoint: 'http://127.0.0.1:1/cancel',
    });
    return call;
  }
  async function granted(opening?: Opening, approval = anApproval()) {
    const call = await pending(opening);
    await lifecycle.grant(call.gatedCallId, 1, approval);
    return call;
  }
  /** A fresh allow decision for the call. */
  async function allow(gatedCallId: string) {
    const call = await lifecycle.load(gatedCallId);
    return lifecycle.recordDecision(call, { kind: 'allow' }, databaseNow(call, systemTime.clock));
  }
  /** As the product does, asks for another decision when the previous one is older than five seconds. */
  const claim = (gatedCallId: string, claimId: string, executionTimeoutMs = 600_000) =>
    repeatWhile(
      (outcome) => outcome === 'stale',
      async () => {
        const decisionId = await allow(gatedCallId);
        return lifecycle.claim({ gatedCallId, generation: 1, epoch: 1, decisionId, claimId, executionTimeoutMs });
      },
    );
  async function claimed(executionTimeoutMs?: number) {
    const call = await granted();
    const claimId = randomUUID();
    await claim(call.gatedCallId, claimId, executionTimeoutMs);
    return { ...call, claimId };
  }
  /** Moves the execution deadline of a claimed call to now, or this many milliseconds from now. */
  async function endExecution({ gatedCallId }: { gatedCallId: string }, inMs = 0) {
    const text = `UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1`;
    await pool.query(text, [gatedCallId, inMs]);
  }
  return { calls, lifecycle, opened, pending, granted, allow, claim, claimed, endExecution };
}
