import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type {
  PolicyDecisionPoint,
  ReadMethod,
  UpstreamAnswer,
  UpstreamItem,
  UpstreamItems,
} from '../../workflows/domain/ports.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import type { Accepted } from '../../workflows/domain/tools/pins.ts';

export interface ReadEnforcementDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly items: Pick<UpstreamItems, 'ask'>;
  readonly signature: Accepted;
  readonly settings: {
    /** Limit on one forwarded request. */
    readonly executionTimeoutMs: number;
  };
}

/** One request of an authenticated caller for something that an upstream has beside tools. */
export interface UpstreamRead {
  readonly caller: Principal;
  readonly evaluation: EvaluationRequest;
  /** What of one upstream is read: one thing, or each of the templates that an address may be of. */
  readonly of: readonly [UpstreamItem, ...UpstreamItem[]];
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

export function createReadEnforcement({ pdp, items, signature, settings }: ReadEnforcementDeps): EnforceRead {
  return async ({ caller, evaluation, of, method, params, signal }) => {
    // Each of them: which of its templates an address is of is for the upstream to say, and it may be the one that changed.
    if ((await signature.among(of)).length < of.length) {
      throw new CountersignError('ERR_NOT_ACCEPTED', 'it is not described as it was accepted');
    }
    const [{ upstream }] = of;
    const decision = await pdp.evaluate(evaluation);
    if (decision.kind !== 'allow') throw new CountersignError('ERR_READ_DENIED', 'policy does not allow this request');
    return items.ask({ upstream, method, params, caller }, { signal, timeoutMs: settings.executionTimeoutMs });
  };
}
