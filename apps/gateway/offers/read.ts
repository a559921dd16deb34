import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { ReadMethod, UpstreamItem, UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Authorize } from '../mcp/authorize.ts';
import type { Sender } from '../calls/extension-ports.ts';
import { openRound, readScope, type SealedStates } from '../extensions/sealed-state.ts';
import { handOnRound, orUndeclared } from '../extensions/relayed-rounds.ts';
import { conversationOf, type Asked } from '../wire/request-context.ts';
import type { ReadAnswer } from '../wire/upstream-result.ts';

export interface ReadEnforcementDeps {
  readonly authorize: Authorize;
  readonly items: Pick<UpstreamItems, 'ask'>;
  readonly accepted: Accepted;
  readonly sealedStates: SealedStates;
  readonly settings: {
    /** Limit on one forwarded request. */
    readonly executionTimeoutMs: number;
  };
}

/** One request of an authenticated caller for something that an upstream has beside tools. */
export interface UpstreamRead {
  readonly sender: Sender;
  /** What of one upstream is read: one thing, or each of the templates that an address may be of. */
  readonly of: readonly [UpstreamItem, ...UpstreamItem[]];
  readonly method: ReadMethod;
  /** As the client said them: what is asked about. */
  readonly asks: JsonObject;
  /** As the upstream gets them. */
  readonly params: JsonObject;
  /** Of a method whose upstream may ask for input. */
  readonly asked?: Asked;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
}

/**
 * The policy enforcement point for everything that is no tool. Only an allow lets a request through, each time that it comes;
 * what could be requested is refused as well, because only a tool call can wait as a task. Throws `CountersignError`s; then
 * nothing was sent.
 */
export type EnforceRead = (read: UpstreamRead) => Promise<ReadAnswer>;

export function createReadEnforcement(deps: ReadEnforcementDeps): EnforceRead {
  const { authorize, items, accepted, sealedStates, settings } = deps;
  return async ({ sender, of, method, asks, params, asked, signal }) => {
    const { caller } = sender;
    // Each of them: which of its templates an address is of is for the upstream to say, and it may be the one that changed.
    if ((await accepted.among(of)).length < of.length) {
      throw new CountersignError('ERR_NOT_ACCEPTED', 'it is not described as it was accepted');
    }
    const [{ upstream }] = of;
    const request = { upstream, method, params };
    const state = asked?.requestState;
    const round = state === undefined ? undefined : await openRound(sealedStates, readScope(caller, request), state);
    await authorize(sender, method, asks);
    const conversation = asked && conversationOf(asked, round);
    const answer = await items.ask(
      { ...request, caller, ...(conversation !== undefined && { conversation }) },
      { signal, timeoutMs: settings.executionTimeoutMs },
    );
    if (answer.kind === 'error' && asked !== undefined) return orUndeclared(answer, asked);
    if (answer.kind !== 'input_required') return answer;
    return handOnRound(sealedStates, readScope(caller, request), asked ?? { capabilities: {} }, answer);
  };
}
