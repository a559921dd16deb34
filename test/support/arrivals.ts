import { sha256 } from '../../apps/shared/crypto.ts';
import { callDigest } from '../../workflows/domain/gated-call/call-binding.ts';
import type { Upstreams } from '../../workflows/domain/upstream-ports.ts';
import type { Arrival } from '../invariants/invariant.ts';

const IDEMPOTENCY_KEY_META = 'dev.countersign/idempotency-key';

/** A tool's note of a call that reaches it now. A call without the key is noted under `none`, which no permit has. */
export function arrivalOf(call: Parameters<Upstreams['call']>[0]): Arrival {
  const key = call.meta?.[IDEMPOTENCY_KEY_META];
  return {
    upstreamKey: typeof key === 'string' ? key : 'none',
    argumentsDigest: callDigest({ tool: `${call.upstream}__${call.upstreamTool}`, arguments: call.arguments }, sha256),
    at: new Date().toISOString(),
  };
}
