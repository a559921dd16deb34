import type { Approval, Decision, EvaluationRequest } from './authzen/evaluation.ts';
import type { Json, JsonObject } from './canonical-json.ts';
import type { EndReason, GatedCallState } from './gated-call/gated-call.ts';
import type { CallBinding } from './gated-call/call-binding.ts';
import type { AccessRequestHandle, NewSubmission, Submission, TakenSubmission } from './gated-call/submission.ts';
import type { Principal } from './principal.ts';
import type { Conversation, UpstreamRound } from './relay.ts';
import type { RequestForm } from './submission-input/request-form.ts';
import type { ToolFacts } from './tools/tool-facts.ts';

/** The policy decision point. Throws `ERR_PDP_UNAVAILABLE` when it gives no answer that can be read; never allows by error. */
export interface PolicyDecisionPoint {
  evaluate(request: EvaluationRequest, approval?: Approval): Promise<Decision>;
}

/** What the access request service says about one request. Unknown values are `pending`: not approved, look again. */
export type ResolutionStatus =
  | { readonly kind: 'pending'; readonly retryAfterMs?: number }
  | { readonly kind: 'granted'; readonly approval: Approval }
  | { readonly kind: 'denied' | 'expired' | 'cancelled' | 'failed' };

/** The access request service (ARAP). Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when it may be asked again. */
export interface AccessRequestService {
  /** Submits under the submission's key: the same key and body always give the same handle. */
  submit(submission: Pick<Submission, 'endpoint' | 'idempotencyKey' | 'body'>): Promise<AccessRequestHandle>;
  /** The authoritative status. */
  read(handle: AccessRequestHandle): Promise<ResolutionStatus>;
  /** Gives the request up; a request that already ended is left as it is. */
  cancel(handle: AccessRequestHandle): Promise<void>;
}

/** What access requests have to be given beside the call. */
export interface RequestForms {
  /**
   * The form for the schema at this address; `undefined` when there is none, or none that may be asked for. Throws
   * `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when that cannot be told now.
   */
  at(schemaUrl: string): Promise<RequestForm | undefined>;
}

/** Names one round of questions, whose answers count once. */
export interface Redemption {
  readonly nonce: string;
  /** Instant (RFC 3339) from which it counts no more. */
  readonly expiresAt: string;
}

/** Everything that is fixed when a requestable denial opens a gated call. */
export interface Opening {
  readonly binding: CallBinding;
  readonly decision: Extract<Decision, { kind: 'requestable' }>;
  readonly submission: NewSubmission;
  /** Whether its client can be asked within the task: it declared, for this call, that it can hold one and show forms. */
  readonly takesInput: boolean;
  /** The answers that the call is opened with. They open one call, however often they are sent. */
  readonly redemption?: Redemption;
}

/** A gated call that may have no access request yet. */
export interface ToSubmit {
  readonly gatedCallId: string;
  /** The right to submit, when it came with the opening. Without it somebody else may have it. */
  readonly submission?: TakenSubmission;
}

export type Opened =
  /** `redeemed`: the call that these answers opened before, whatever became of it. */
  | ({ readonly kind: 'opened' | 'joined' | 'redeemed'; readonly taskId: string } & ToSubmit)
  | { readonly kind: 'too_many' }
  /** An identical call ended in this very moment: decide again. */
  | { readonly kind: 'gone' }
  /** Whoever asked has gone. Nothing was opened. */
  | { readonly kind: 'unwanted' }
  /** The redemption came too late. Nothing was opened. */
  | { readonly kind: 'late' };

/** A gated call as its owner may see it. */
export interface GatedCallView {
  readonly gatedCallId: string;
  readonly taskId: string;
  /** What those know the call by who cannot have a task: no task id, and none can be made of it. */
  readonly requestRef: string;
  readonly state: GatedCallState;
  readonly reason?: EndReason;
  readonly tool: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly retainUntil: string;
  /** The tool's own result as JSON text, once there is one. */
  readonly result?: string;
  readonly outcomeRef?: string;
  /** Everything that its owner is asked and has not answered. Only in the state `input_required`. */
  readonly questions?: readonly TaskQuestion[];
}

/** Something that the owner of a task is asked: one form, under a key that stands for no other. */
export interface TaskQuestion {
  readonly key: string;
  readonly form: RequestForm;
}

/** What a requester says to a question; `declined` when it will not be answered. */
export interface TaskAnswer {
  readonly key: string;
  readonly content: JsonObject | 'declined';
}

/** What the gateway needs of the stored gated calls. Throws `ERR_DATABASE_UNAVAILABLE`. */
export interface GatedCalls {
  /** Once the signal has fired, nothing is opened any more. What is committed by then stays. */
  open(opening: Opening, signal?: AbortSignal): Promise<Opened>;
  /** The open call that an identical one would join. */
  findOpen(binding: CallBinding): Promise<({ readonly taskId: string } & ToSubmit) | undefined>;
  /** The task behind a request reference. Of a text that is none, a task that does not exist. */
  taskIdOf(requestRef: string): string;
  /** The call behind a task, if it is this owner's and still kept. A call past a deadline is ended before it is shown. */
  findTask(taskId: string, owner: string): Promise<GatedCallView | undefined>;
  /** Ends the call as cancelled unless it is claimed or over. Answers the state afterwards. */
  cancel(gatedCallId: string): Promise<GatedCallState>;
  /**
   * Takes answers that fit their questions. What is not asked, or not any more, is left aside; one that is declined ends the
   * call. Answers the state afterwards.
   */
  answer(gatedCallId: string, answers: readonly TaskAnswer[]): Promise<GatedCallState>;
  /** Accepts a signed callback once. */
  acceptCallback(callback: {
    webhookId: string;
    bodyDigest: string;
    accessRequestId: string;
  }): Promise<'accepted' | 'repeated' | 'conflict'>;
}

/**
 * Contacts the access request service for a gated call that is still `preparing`, or waits for the one who does, and
 * records the handle. Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when there is no handle yet (the same call may
 * be repeated), `ERR_NOT_REQUESTABLE` when the service refused it for good (the gated call has then failed), and
 * `ERR_DENIAL_EXPIRED` when only the denial was too old to be submitted: the call has ended, and a new decision on it can
 * open another one. Answers the task when it came along with the handle; otherwise it has to be looked up.
 */
export type EnsureSubmitted = (call: ToSubmit) => Promise<GatedCallView | undefined>;

/** A tool as its upstream describes it, every member kept. */
export interface UpstreamTool {
  readonly upstream: string;
  readonly upstreamTool: string;
  /** Public name: prefix, two underscores, the upstream's name. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Digest over the definition: a tool whose meaning changed has another. */
  readonly digest: string;
  /** What is known of it, with the operator's word. */
  readonly facts: ToolFacts;
}

/** Whether a structured result is what the tool's output schema promises. In doubt it is not. */
export type ResultCheck = (tool: Pick<UpstreamTool, 'definition' | 'digest'>, structured: Json) => boolean;

/** How a request to an upstream ended without a result. */
export type Unanswered =
  /** The upstream answered with a JSON-RPC error: it was reached and refused or failed. */
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: Json }
  /** Provably nothing left this process. */
  | { readonly kind: 'not_sent'; readonly cause: string }
  /** It may have arrived; no answer was read. */
  | { readonly kind: 'no_answer'; readonly cause: string };

/** How one invocation of an upstream tool ended. */
export type InvocationResult =
  /** A `CallToolResult` arrived. */
  { readonly kind: 'result'; readonly isError: boolean; readonly result: JsonObject } | Unanswered;

/** How one request for something else than a tool ended. */
export type UpstreamAnswer = { readonly kind: 'result'; readonly result: JsonObject } | UpstreamRound | Unanswered;

/** What an upstream lists beside tools. */
export type ItemKind = 'prompt' | 'resource' | 'resource_template';

/** A prompt, a resource or a resource template as its upstream describes it, every member kept. */
export interface UpstreamItem {
  readonly kind: ItemKind;
  readonly upstream: string;
  /** The upstream's own name, address or template. */
  readonly upstreamName: string;
  /** Public name: a prompt has the prefix of its upstream; an address or a template is the upstream's own. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Digest over what of the definition describes the thing: one whose meaning changed has another. */
  readonly digest: string;
}

/** The methods that a caller may use on them. None of them can wait for an approval. */
export type ReadMethod = 'prompts/get' | 'resources/read' | 'completion/complete';

/** What the upstreams have beside tools. A name, address or template that two upstreams claim belongs to neither. */
export interface UpstreamItems {
  /** Whether an upstream has this capability, or may turn out to have it when it is reached. */
  mayHave(capability: 'prompts' | 'resources' | 'completions'): boolean;
  /** Everything of this kind that can be reached, sorted by name. */
  list(kind: ItemKind): Promise<readonly UpstreamItem[]>;
  find(kind: ItemKind, name: string): Promise<UpstreamItem | undefined>;
  /**
   * What one upstream lists under this address; else every template of it from which the address may have been made. Nothing
   * when none has it, or several do.
   */
  findResource(uri: string): Promise<readonly UpstreamItem[]>;
  /** Sends once, and never repeats. */
  ask(
    request: {
      upstream: string;
      method: ReadMethod;
      params: JsonObject;
      caller: Principal;
      /** Without it only a final answer is one. */
      conversation?: Conversation;
    },
    options: { signal: AbortSignal; timeoutMs?: number },
  ): Promise<UpstreamAnswer>;
}

/** How far a call has come, as its tool says. */
export interface Progress {
  /** Grows with every notice. */
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a tool writes down while it works, for whoever called it. */
export interface LogMessage {
  /** A severity of syslog. */
  readonly level: string;
  /** Which part of the tool says so. */
  readonly logger?: string;
  readonly data: Json;
}

/** The upstream MCP servers. */
export interface Upstreams {
  /** Every tool of every upstream that can be reached, under its public name. */
  tools(): Promise<readonly UpstreamTool[]>;
  /**
   * The tool with this public name, from the last answer its upstream gave. With `live`, from an upstream that is
   * reached now: throws `ERR_UPSTREAM_UNAVAILABLE` when it is not.
   */
  find(name: string, options?: { live?: boolean }): Promise<UpstreamTool | undefined>;
  /**
   * Connects first (so that a broken connection is `not_sent`), then sends once; never repeats. `timeoutMs` limits how
   * long the answer is waited for. After `sendBy`, an instant of `performance.now()`, nothing is sent any more. An idempotency key goes along in the header of that name where the upstream is reached
   * by HTTP, and so do the arguments that the tool has repeated there. A tool that is not described by `toolDigest` any more gets nothing.
   * An upstream that wants to know for whom it works is told the caller; a call without one is our own.
   * `onProgress` asks the tool to say how far it has come, and is called until the call has ended. `onLog` asks for what it
   * writes down, and is called with what provably belongs to this call: an upstream that is reached by HTTP says so, a program
   * does not. Only a final result is one: nothing is declared that the upstream could ask, or open a task for.
   */
  call(call: UpstreamCall, options: UpstreamCallOptions): Promise<InvocationResult>;
}

/** One call of an upstream's tool. */
export interface UpstreamCall {
  readonly upstream: string;
  readonly upstreamTool: string;
  /** Of the tool that the call is bound to. A call without one is bound to none. */
  readonly toolDigest?: string;
  readonly arguments: JsonObject;
  readonly caller?: Principal;
  readonly meta?: JsonObject;
  readonly idempotencyKey?: string;
}

export interface UpstreamCallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  readonly sendBy?: number;
  readonly onProgress?: (progress: Progress) => void;
  readonly onLog?: (message: LogMessage) => void;
}
