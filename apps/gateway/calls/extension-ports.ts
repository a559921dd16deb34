import type { Decision, EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { CallBinding, RequesterInput } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { RelayedAnswer, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { ToolMapping } from '../../../workflows/domain/tools/tool-facts.ts';
import type { OpenedRound } from '../extensions/sealed-state.ts';
import type { ToolCall, ToolCallAnswer } from './tool-call.ts';

/** Who sends a message, and what the verified token says. */
export interface Sender {
  readonly caller: Principal;
  readonly claims: JsonObject;
}

/** What a tool's mapping makes evaluation requests of. */
export interface MappedCall {
  readonly tool: UpstreamTool;
  readonly mapping: ToolMapping;
  readonly arguments: JsonObject;
  readonly callDigest: string;
}

/** Evaluation requests that a tool's own mapping makes, in place of the one by default. @see COAZ */
export interface MappedArguments {
  /** Throws a `MappingError` when the mapping cannot be used for this call; then the PDP is not asked. */
  evaluationRequests(
    sender: Sender,
    call: MappedCall,
  ): readonly [evaluation: EvaluationRequest, ...others: EvaluationRequest[]];
  /** The decision on a call of which the PDP is asked several evaluation requests. Throws `ERR_PDP_UNAVAILABLE`. */
  decide(
    pdp: PolicyDecisionPoint,
    binding: CallBinding & { readonly others: readonly EvaluationRequest[] },
  ): Promise<{ readonly decision: Decision; readonly binding: CallBinding }>;
}

/** What an upstream asks the client of an allowed call, and the tasks that it opens for one. @see SEP-2322, SEP-2663 */
export interface RelayedRounds {
  /** The round that this call comes back from. Throws `ERR_REQUEST_STATE_INVALID` for a state of another call or caller. */
  open(binding: CallBinding, state: string): Promise<OpenedRound | undefined>;
  /** What the caller gets of an error, of what the upstream asks, or of the task that it opened. */
  handOn(
    call: ToolCall,
    of: { readonly tool: UpstreamTool; readonly binding: CallBinding },
    answer: Exclude<RelayedAnswer, { kind: 'result' | 'not_sent' | 'no_answer' }>,
  ): Promise<ToolCallAnswer>;
}

/** A call that policy denies and offers to request an approval for. */
export interface RequestableCall {
  readonly binding: CallBinding;
  readonly decision: Extract<Decision, { kind: 'requestable' }>;
  /** The round of input that the call comes back from. */
  readonly asked: Extract<OpenedRound, { kind: 'form' }> | undefined;
}

/** The input that an access request needs beside the call. @see SEP-2848, collecting submission input */
export interface RequestInput {
  /** Asks for it, or answers all of it. Nothing is opened and nothing is kept before. */
  collect(
    call: ToolCall,
    requestable: RequestableCall & { readonly schemaUrl: string },
  ): Promise<ToolCallAnswer | { readonly kind: 'complete'; readonly input: RequesterInput }>;
}
