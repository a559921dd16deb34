import type { StepUp } from '../../../workflows/domain/authzen/obligation.ts';
import type { Decision, EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { CallBinding, RequesterInput } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { GatedCallView, PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type {
  AskableClient,
  InvocationResult,
  LogMessage,
  Progress,
  RelayedAnswer,
  UpstreamRound,
  UpstreamTask,
  UpstreamTool,
} from '../../../workflows/domain/upstream-ports.ts';
import type { RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { MirroredArgument } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import type { ToolMapping } from '../../../workflows/domain/tools/tool-facts.ts';
import type { CallFault } from '../../shared/schemas/schema-check.ts';
import type { OpenedPage, OpenedRound } from '../extensions/sealed-state.ts';
import type { Asked, Sender } from '../wire/request-context.ts';
import type { Wait } from './wait.ts';

export interface ForwardingSettings {
  /** Limit on one request that is forwarded to an upstream. */
  readonly executionTimeoutMs: number;
}

/** How a call that needs an approval is put on hold. */
export type OnHold =
  /** A task. */
  | 'task'
  /** A request reference. The caller wants the approval alone: the call is not forwarded, even if policy allows it. */
  | 'reference'
  /** The result, if the call ends soon; else a request reference. */
  | 'wait'
  /** A text. Nothing is opened. */
  | 'words'
  /** The error of a missing capability. Nothing is opened. */
  | 'error';

/** One `tools/call` of an authenticated caller. */
export interface ToolCall extends Asked, Sender {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Throws when a header of the request does not repeat its argument. Missing in revisions without such headers. */
  readonly checkHeaders?: ((mirrored: readonly MirroredArgument[]) => void) | undefined;
  /** The part of the call's metadata that the upstream may see. */
  readonly meta?: JsonObject | undefined;
  /** Whether this request can be answered with a form. */
  readonly acceptsForm: boolean;
  /** Whether this request can be answered with the page of a held call, as a question. Default: it cannot. */
  readonly acceptsPage?: boolean;
  readonly onHold: OnHold;
  /** Scopes of the token. Absent where they were not read. */
  readonly scopes?: readonly string[] | undefined;
  /** For a client without tasks. Default: it does not wait. */
  readonly wait?: Wait | undefined;
  /** Whether the answer is an error if the call is still held after the wait. Default: it is. */
  readonly heldIsError?: boolean;
  /** When the call arrived, by the monotonic clock. */
  readonly cameAt: number;
  /** Fires when the caller has gone, or has cancelled the call. */
  readonly signal: AbortSignal;
  /** Fires only when the caller has cancelled: an allowed call of a session goes on for a client that may come back. Default: `signal`. */
  readonly cancelled?: AbortSignal | undefined;
  /** Gets the progress of the tool, if the caller asked for it. Never called for a task. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Gets the log messages of the tool, if the caller can read them. Never called for a task. */
  readonly onLog?: ((message: LogMessage) => void) | undefined;
  /** The lowest severity of these messages. */
  readonly logLevel?: string | undefined;
  /** Whom an upstream of an earlier revision may ask while it works. Absent for a client without a session. */
  readonly askable?: AskableClient | undefined;
}

/** The call was allowed and went to its upstream. */
export interface Ran {
  readonly kind: 'ran';
  readonly outcome:
    | InvocationResult
    /** The upstream opened a task. Its owner knows it by this id. */
    | { readonly kind: 'task'; readonly taskId: string; readonly task: UpstreamTask };
}

/** The call is on hold, or was on hold and has ended. */
export interface Held {
  readonly kind: 'held';
  readonly view: GatedCallView;
  /** `reference`: the caller has no task, and knows the call by its request reference. `waited`: still on hold after a wait. */
  readonly as: 'task' | 'reference' | 'waited';
  /** How long `get_request_status` waits for the end of this call, in seconds. */
  readonly nextSeconds?: number;
  /** With `waited`: whether the answer is an error. */
  readonly isError?: boolean;
  /** The same call was held before: this one joined it, and requested nothing. */
  readonly isJoined?: true;
  /** An identical call ran before, and its caller has not read the outcome yet. Nothing was opened. */
  readonly isEarlier?: true;
}

/** A form, and the state that the client sends back with its answer. */
export interface FormRound {
  readonly kind: 'form';
  readonly key: string;
  readonly form: RequestForm;
  readonly requestState: string;
}

/** The page of a held call, and the state with which the client comes back for the end of the call. */
export interface PageRound {
  readonly kind: 'page';
  readonly key: string;
  readonly page: string;
  readonly requestState: string;
}

/** An upstream's questions, as the client gets them. */
export interface RelayedRound extends Omit<UpstreamRound, 'kind' | 'requestState'> {
  readonly kind: 'relayed_round';
  /** Ours: it holds the upstream's. */
  readonly requestState: string;
}

/** The client has to declare more capabilities to get the answer. */
export interface Undeclared {
  readonly kind: 'undeclared';
  readonly requiredCapabilities: JsonObject;
}

/**
 * The client is asked first: for input of an access request or of the upstream of an allowed call, and nothing was opened; or to open the
 * page of its held call.
 */
export interface Asks {
  readonly kind: 'asks';
  readonly round: FormRound | PageRound | RelayedRound;
}

/** Why nothing ran and nothing is on hold. */
export type Refusal =
  /** `not_permitted`: no policy permits the call, and none forbids it. The operator may have forgotten it. */
  | { readonly reason: 'denied'; readonly why?: 'not_permitted' }
  /** A stronger sign-in is the only thing that policy requires. */
  | { readonly reason: 'step_up'; readonly stepUps: readonly StepUp[] }
  | { readonly reason: 'too_many' }
  /** An approval was requested, but the call needs none. */
  | { readonly reason: 'not_needed' }
  /** An approval could be requested, but the client cannot hold a task. */
  | { readonly reason: 'needs_tasks' }
  /** The same, where the operator demands tasks of clients that can declare them. */
  | { readonly reason: 'demands_tasks' }
  /** An approval could be requested, but the client cannot show a form for what the request needs. */
  | { readonly reason: 'needs_forms' }
  /** The access request lacks input: the caller gave none, or its catalogs cannot be used. */
  | { readonly reason: 'not_requested'; readonly why: 'not_given' | 'nothing_to_choose' }
  /** The tool's description is not the accepted one, or is not accepted yet. The PDP was not asked. */
  | { readonly reason: 'not_accepted' }
  /** The upstream needs to ask, or to open a task, and the client did not declare that it supports that. */
  | { readonly reason: 'undeclared'; readonly requiredCapabilities: Undeclared['requiredCapabilities'] }
  /** The client answers the upstream's questions, but policy now requires an approval. Nothing was sent. */
  | { readonly reason: 'not_continued' }
  /** The call cannot be made. The PDP was not asked. */
  | { readonly reason: 'unfit'; readonly fault: CallFault }
  /** These requirements are not met, or cannot be checked. The PDP was not asked. */
  | { readonly reason: 'requirements_unmet'; readonly requirements: readonly string[] };

export interface Refused {
  readonly kind: 'refused';
  readonly refusal: Refusal;
}

/** What became of a call. */
export type ToolCallAnswer = Ran | Held | Asks | Refused;

export const refused = (refusal: Refusal): Refused => ({ kind: 'refused', refusal });

/** The call that a tool's mapping reads. */
export interface MappedCall {
  readonly tool: UpstreamTool;
  readonly mapping: ToolMapping;
  readonly arguments: JsonObject;
  readonly callDigest: string;
}

/** Makes evaluation requests by a tool's own mapping, in place of the default one. @see COAZ */
export interface MappedArguments {
  /** Throws a `MappingError` when the mapping cannot be used for this call; then the PDP is not asked. */
  evaluationRequests(
    sender: Sender,
    call: MappedCall,
  ): readonly [evaluation: EvaluationRequest, ...others: EvaluationRequest[]];
  /** Decides on a call that has several evaluation requests. Throws `ERR_PDP_UNAVAILABLE`. */
  decide(
    pdp: PolicyDecisionPoint,
    binding: CallBinding & { readonly others: readonly EvaluationRequest[] },
  ): Promise<{ readonly decision: Decision; readonly binding: CallBinding }>;
}

/** Relays the questions and the tasks of the upstream of an allowed call. @see SEP-2322, SEP-2663 */
export interface RelayedRounds {
  /** What this call comes back from. Throws `ERR_REQUEST_STATE_INVALID` for a state of another call or caller. */
  open(binding: CallBinding, state: string | undefined): Promise<OpenedRound | OpenedPage | undefined>;
  /** Turns the upstream's error, questions or task into the caller's answer. */
  handOn(
    call: ToolCall,
    of: { readonly tool: UpstreamTool; readonly binding: CallBinding },
    answer: Exclude<RelayedAnswer, { kind: 'result' | 'not_sent' | 'no_answer' }>,
  ): Promise<ToolCallAnswer>;
}

/** A denied call for which policy offers to request an approval. */
export interface RequestableCall {
  readonly binding: CallBinding;
  readonly decision: Extract<Decision, { kind: 'requestable' }>;
  /** The round of input that the call answers. */
  readonly asked: Extract<OpenedRound, { kind: 'form' }> | undefined;
}

/** Has a client without tasks open the page of its held call. @see MCP elicitation, URL mode */
export interface PageRounds {
  ask(binding: CallBinding, held: Pick<GatedCallView, 'taskId' | 'retainUntil'>, page: string): Promise<PageRound>;
}

/** Collects the input that an access request needs beside the call. @see SEP-2848, collecting submission input */
export interface RequestInput {
  /** Asks the client for input, or returns the complete input. Nothing is opened or stored before that. */
  collect(
    call: ToolCall,
    requestable: RequestableCall & { readonly schemaUrl: string },
  ): Promise<ToolCallAnswer | { readonly kind: 'complete'; readonly input: RequesterInput }>;
}
