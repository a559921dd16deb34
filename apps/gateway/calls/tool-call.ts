import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { StepUp } from '../../../workflows/domain/authzen/obligation.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import type { InvocationResult, LogMessage, Progress } from '../../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { UpstreamTask } from '../../../workflows/domain/relay.ts';
import type { MirroredArgument } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import type { RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { CallFault } from '../../shared/schemas/schema-check.ts';
import type { Asked, RelayedRound, Undeclared } from '../extensions/relayed-rounds/conversation.ts';

/** What a caller gets for a call that an approval could cure: how far up the ladder its client comes. */
export type Rung =
  /** A task. */
  | 'task'
  /** A request reference. The caller asks for the approval and for nothing else: the call is not forwarded, even if it may be. */
  | 'reference'
  /** The result, if the call ends soon; else a request reference. */
  | 'wait'
  /** Words. Nothing is opened. */
  | 'words'
  /** The error of a missing capability. Nothing is opened. */
  | 'error';

/** One `tools/call` of an authenticated caller. */
export interface ToolCall extends Asked {
  readonly caller: Principal;
  /** Of the caller's token. */
  readonly claims: JsonObject;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Throws when a header of the request does not repeat one of these. Missing where headers repeat nothing. */
  readonly checkHeaders?: ((mirrored: readonly MirroredArgument[]) => void) | undefined;
  /** What of the call's metadata the upstream may see. */
  readonly meta?: JsonObject | undefined;
  /** Whether this request can be answered with a form. */
  readonly acceptsForm: boolean;
  readonly rung: Rung;
  /** When the call came, by the monotonic clock. */
  readonly cameAt: number;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
  /** Called as the tool comes on, if the caller wants to know. Never for a call that became a task. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called with what the tool writes down, if the caller can read that. Never for a call that became a task. */
  readonly onLog?: ((message: LogMessage) => void) | undefined;
}

/** A form, and what the client sends back with the answer. */
export interface Question {
  readonly key: string;
  readonly form: RequestForm;
  readonly requestState: string;
}

/** What became of a call. */
export type ToolCallAnswer =
  | InvocationResult
  /** `isEarlier`: an identical call that was carried out before, whose caller is told only now how it ended. Nothing was opened. */
  | { readonly kind: 'task'; readonly view: GatedCallView; readonly isEarlier?: true }
  /** The call is on hold, or has ended by now. Whoever cannot have a task knows it by its request reference. */
  | { readonly kind: 'requested'; readonly view: GatedCallView; readonly isEarlier?: true }
  /** The call is on hold still, after a wait. */
  | { readonly kind: 'still_held'; readonly view: GatedCallView }
  /** An approval was asked for, and the call needs none. Nothing was forwarded. */
  | { readonly kind: 'not_needed' }
  /** `not_permitted`: no policy permits it, and none refuses it; it may have been forgotten. */
  | { readonly kind: 'denied'; readonly why?: 'not_permitted' }
  /** Policy demands that the caller signs in otherwise, and that is all that it demands. Nothing was opened. */
  | { readonly kind: 'step_up'; readonly stepUps: readonly StepUp[] }
  | { readonly kind: 'too_many' }
  /** An approval could be requested, but the client cannot hold a task. Nothing was opened. */
  | { readonly kind: 'needs_tasks' }
  /** The tool is not described as the operator accepted it, or not accepted yet. Nothing was asked about the call. */
  | { readonly kind: 'not_accepted' }
  /** An approval could be requested, but the client cannot ask for what the request needs. Nothing was opened. */
  | { readonly kind: 'needs_forms' }
  /** Somebody has to be asked first. Nothing was opened. */
  | ({ readonly kind: 'input_required' } & Question)
  /** What was asked for was not given, or is chosen from catalogs that cannot be used. Nothing was opened. */
  | { readonly kind: 'not_requested'; readonly why: 'not_given' | 'nothing_to_choose' }
  /** The upstream asks. The call is allowed, and has not ended. */
  | RelayedRound
  /** The upstream opened a task, which its owner knows by this id. */
  | { readonly kind: 'relayed_task'; readonly taskId: string; readonly task: UpstreamTask }
  /** The upstream needs to ask, or to open a task, and the client did not declare that it can be asked. */
  | Undeclared
  /** What the upstream had asked was answered, and by now the call needs an approval. Nothing was sent or opened. */
  | { readonly kind: 'not_continued' }
  /** The same, for a client that has to declare tasks. */
  | { readonly kind: 'demands_tasks' }
  /** Nothing was asked about the call: it cannot be made. */
  | { readonly kind: 'unfit'; readonly fault: CallFault }
  /** Nothing was asked about the call: these are not the case, or nobody can tell whether they are. */
  | { readonly kind: 'requirements_unmet'; readonly requirements: readonly string[] };
