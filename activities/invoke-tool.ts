import { randomBytes, randomUUID } from 'node:crypto';
import { heartbeat } from '@temporalio/activity';
import type { JsonObject } from '../workflows/domain/canonical-json.ts';
import type { ActivityPorts } from '../workflows/activity-ports.ts';
import type { InvocationResult } from '../workflows/domain/ports.ts';
import type { ActivityDeps } from './deps.ts';
import { storeResult } from './store-result.ts';
import type { StoredCall } from './stores/stored-call.ts';
import { claimIdOf } from '../workflows/domain/gated-call/claim-id.ts';
import { sha256 } from './sha256.ts';

/** Lets an upstream that can tell repetitions apart do so. Random per call; says nothing about the task. */
const IDEMPOTENCY_KEY_META = 'dev.countersign/idempotency-key';
const HEARTBEAT_MS = 3_000;
/** A process that was stopped for longer than this after it got the permit does not send any more. */
const SEND_WINDOW_MS = 2_000;

/**
 * Sends the bound call, once. The permit row is written before the first byte leaves, and nobody gets a second one, so
 * a repetition of this step by whatever cause sends nothing. A lost answer leaves the permit without a result: the
 * call then ends as `outcome_unknown` at its execution deadline.
 */
export function createInvokeTool(deps: ActivityDeps): ActivityPorts['invokeTool'] {
  const { store } = deps;

  return async ({ gatedCallId }) => {
    const call = await store.load(gatedCallId);
    if (call.state !== 'claimed' || call.remainingMs <= 0) return;
    const invocationId = randomUUID();
    const upstreamKey = randomBytes(16).toString('base64url');
    const claimId = claimIdOf(gatedCallId, call.generation, sha256);
    if (!(await store.beginInvocation({ gatedCallId, claimId, invocationId, upstreamKey }))) return;
    const permittedAt = performance.now();
    const beat = setInterval(heartbeat, HEARTBEAT_MS);
    try {
      const result = await send(deps, call, { upstreamKey, permittedAt });
      await storeResult(deps, { gatedCallId, invocationId, cause: 'result' }, result);
    } finally {
      clearInterval(beat);
    }
  };
}

async function send(
  { upstreams }: ActivityDeps,
  call: StoredCall,
  permit: { upstreamKey: string; permittedAt: number },
): Promise<InvocationResult> {
  if (performance.now() - permit.permittedAt > SEND_WINDOW_MS) return { kind: 'not_sent', cause: 'stalled' };
  return upstreams.call(
    {
      upstream: call.binding.upstream,
      upstreamTool: call.binding.upstreamTool,
      arguments: JSON.parse(call.binding.arguments) as JsonObject,
      meta: { [IDEMPOTENCY_KEY_META]: permit.upstreamKey },
      idempotencyKey: permit.upstreamKey,
    },
    { signal: AbortSignal.timeout(Math.max(Math.floor(call.remainingMs), 1)) },
  );
}
