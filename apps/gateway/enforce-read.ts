import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint, ReadMethod, UpstreamAnswer, UpstreamItems } from '../../workflows/domain/ports.ts';
import type { Principal } from '../../workflows/domain/principal.ts';

export interface ReadEnforcementDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly items: Pick<UpstreamItems, 'ask'>;
  readonly settings: {
    /** Limit on one forwarded request. */
    readonly executionTimeoutMs: number;
  };
}

/** One request of an authenticated caller for something that an upstream has beside tools. */
export interface UpstreamRead {
  readonly caller: Principal;
  readonly evaluation: EvaluationRequest;
  readonly upstream: string;
  readonly method: ReadMethod;
  /** As the upstream gets them. */
  readonly params: JsonObject;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
}

/**
 * The policy enforcement point for everything that is no tool. Only an allow lets a request through; what could be requested
 * is refused as well, because only a tool call can wait as a task. Throws `CountersignError`s; then nothing was sent.
 */
export type EnforceRead = (read: UpstreamRead) => Promise<UpstreamAnswer>;

export function createReadEnforcement({ pdp, items, settings }: ReadEnforcementDeps): EnforceRead {
  return async ({ caller, evaluation, upstream, method, params, signal }) => {
    const decision = await pdp.evaluate(evaluation);
    if (decision.kind !== 'allow') throw new CountersignError('ERR_READ_DENIED', 'policy does not allow this request');
    return items.ask({ upstream, method, params, caller }, { signal, timeoutMs: settings.executionTimeoutMs });
  };
}
