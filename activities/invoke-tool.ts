import { randomUUID } from 'node:crypto';
import { heartbeat } from '@temporalio/activity';
import { randomText } from '../apps/shared/crypto.ts';
import type { ActivityPorts, GatedCallRef } from '../workflows/activity-ports.ts';
import { canonicalJson, type JsonObject } from '../workflows/domain/canonical-json.ts';
import type { InvocationResult } from '../workflows/domain/upstream-ports.ts';
import type { Places } from './places.ts';
import type { ActivityDeps } from './step.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';
import { persist } from './stores/query.ts';
import type { StoredCall } from './stores/stored-call.ts';

/** Lets an upstream that can tell repetitions apart do so. Random per call; says nothing about the task. */
const IDEMPOTENCY_KEY_META = 'dev.countersign/idempotency-key';
const HEARTBEAT_MS = 3_000;

/**
 * Sends the bound call, once. The permit row is written before the first byte leaves, and there is never a second one, so a
 * repeated step sends nothing. A lost answer leaves the permit without a result: the call then ends as `outcome_unknown` at its
 * execution deadline. While the database is away, this process keeps permit and result until that deadline: no other has them.
 */
export function createInvokeTool(deps: ActivityDeps, places: Places): ActivityPorts['invokeTool'] {
  const { store, clock, settings } = deps;

  async function invoke({ gatedCallId }: GatedCallRef): Promise<void> {
    const asked = clock.monotonicMs();
    const call = await store.load(gatedCallId);
    const { state, claimId, remainingMs } = call;
    if (state !== 'claimed' || claimId === undefined || remainingMs <= 0) return;
    const { executionTimeoutMs } = settings;
    const permit = {
      ...{ gatedCallId, claimId, executionTimeoutMs },
      ...{ invocationId: randomUUID(), upstreamKey: randomText(16) },
    };
    const stopBeating = clock.every(HEARTBEAT_MS, heartbeat);
    try {
      // Reading the list of tools, where it is too old here, may take longer than the permit is good for.
      await deps.upstreams.find(call.binding.tool).catch(() => undefined);
      // Counted from before each question, since its answer may be long on its way: never later than the deadline itself.
      const permitUntil = asked + remainingMs;
      const endsAt = clock.monotonicMs() + executionTimeoutMs;
      if (!(await obtain(deps, permit, permitUntil))) return;
      places.leave(gatedCallId);
      const result = await send(deps, call, { ...permit, permittedAt: clock.monotonicMs(), endsAt });
      const of = { ...permit, cause: 'result', keys: call.keys } as const;
      await persist(() => storeResult(deps, of, result), endsAt - clock.monotonicMs(), clock);
    } finally {
      stopBeating();
    }
  }
  return (call) => places.sending(call.gatedCallId, () => invoke(call));
}

type Permit = Parameters<LifecycleStore['beginInvocation']>[0];

/**
 * Whether this process has the permit. When the answer was lost it asks again as the same invocation: the permit may
 * have been given to it then, and only this process knows that nothing was sent on it.
 */
async function obtain({ store, clock }: ActivityDeps, permit: Permit, until: number): Promise<boolean> {
  let wasLost = false;
  const attempt = async () => {
    const before = wasLost;
    wasLost = true;
    if (await store.beginInvocation(permit)) return true;
    if (!before) return false;
    const { invocation, state, remainingMs } = await store.progress(permit.gatedCallId);
    return invocation?.invocationId === permit.invocationId && state === 'claimed' && remainingMs > 0;
  };
  return persist(attempt, until - clock.monotonicMs(), clock);
}

async function send(
  { upstreams, clock, limits }: ActivityDeps,
  call: StoredCall,
  permit: { upstreamKey: string; permittedAt: number; endsAt: number },
): Promise<InvocationResult> {
  // Past the deadline the call has ended as unknown, however long this process was held up between permit and sending.
  const sendBy = Math.min(permit.permittedAt + limits.sendWindowMs, permit.endsAt);
  return upstreams.call(
    {
      upstream: call.binding.upstream,
      upstreamTool: call.binding.upstreamTool,
      toolDigest: call.binding.toolDigest,
      arguments: JSON.parse(call.binding.arguments) as JsonObject,
      caller: call.binding.caller,
      meta: { [IDEMPOTENCY_KEY_META]: permit.upstreamKey },
      idempotencyKey: permit.upstreamKey,
    },
    { sendBy, signal: clock.signalAfter(permit.endsAt - clock.monotonicMs()) },
  );
}

/** Records how the one invocation ended, as far as that is certain. A missing answer stays open. */
export async function storeResult(
  { store, log }: Pick<ActivityDeps, 'store' | 'log'>,
  of: Parameters<LifecycleStore['settleResult']>[0],
  result: InvocationResult,
): Promise<void> {
  const { gatedCallId, invocationId } = of;
  if (result.kind === 'no_answer') {
    log.error({ gatedCall: gatedCallId, cause: result.cause }, 'an invocation got no answer; its outcome is unknown');
  } else if (result.kind === 'not_sent') {
    const what = 'an approved call ends without being sent, and its approval is used up';
    log.error({ gatedCall: gatedCallId, alarm: 'call_not_sent', cause: result.cause }, what);
    await store.settleNotSent(gatedCallId, invocationId);
  } else {
    await store.settleResult(of, storedResult(result));
  }
}

/** A JSON-RPC error means that the tool was reached and failed: to the client it is a tool error. */
function storedResult(result: Extract<InvocationResult, { kind: 'result' | 'error' }>) {
  if (result.kind === 'result') return { isError: result.isError, text: JSON.stringify(result.result) };
  const { code, message, isOurs } = result;
  // In a text of its own: words of the upstream within a sentence of ours would pass for ours.
  const texts = isOurs
    ? [message]
    : [`The upstream server answered with an error (${code}). The next text is its own:`, message];
  const content = texts.map((text) => ({ type: 'text', text }));
  return { isError: true, text: canonicalJson({ content, isError: true }) };
}
