import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { StepUp } from '../../../workflows/domain/authzen/obligation.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import type {
  InvocationResult,
  LogMessage,
  Progress,
  UpstreamRound,
  UpstreamTask,
} from '../../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { MirroredArgument } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import type { RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { CallFault } from '../../shared/schemas/schema-check.ts';
import type { Asked } from '../wire/request-context.ts';

/** What a caller gets for a call that an approval could cure. */
export type OnHold =
  /** A task. */
  | 'task'
  /** A request reference. The caller asks for the approval only: the call is not forwarded, even if policy allows it. */
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
  readonly onHold: OnHold;
  /** When the call came, by the monotonic clock. */
  readonly cameAt: number;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
  /** Gets the progress of the tool, if the caller asked for it. Never called for a call that became a task. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Gets what the tool logs, if the caller can read that. Never called for a call that became a task. */
  readonly onLog?: ((message: LogMessage) => void) | undefined;
}

/** The call was allowed and went to its upstream. */
export interface Ran {
  readonly kind: 'ran';
  readonly outcome:
    | InvocationResult
    /** The upstream opened a task, which its owner knows by this id. */
    | { readonly kind: 'task'; readonly taskId: string; readonly task: UpstreamTask };
}

/** The call is on hold, or was and has ended by now. */
export interface Held {
  readonly kind: 'held';
  readonly view: GatedCallView;
  /** `reference`: the caller cannot have a task, and knows the call by its request reference. `waited`: it is on hold still, after a wait. */
  readonly as: 'task' | 'reference' | 'waited';
  /** An identical call ran before, and its caller is told only now how it ended. Nothing was opened. */
  readonly isEarlier?: true;
}

/** A form, and what the client sends back with the answer. */
export interface FormRound {
  readonly kind: 'form';
  readonly key: string;
  readonly form: RequestForm;
  readonly requestState: string;
}

/** What an upstream asks, as its client gets it. */
export interface RelayedRound extends Omit<UpstreamRound, 'kind' | 'requestState'> {
  readonly kind: 'relayed_round';
  /** Ours: it holds the upstream's. */
  readonly requestState: string;
}

/** What only a client can be told that declares more. */
export interface Undeclared {
  readonly kind: 'undeclared';
  readonly requiredCapabilities: JsonObject;
}

/** The client is asked first: for what an access request needs, or for what the upstream of an allowed call needs. Nothing was opened. */
export interface Asks {
  readonly kind: 'asks';
  readonly round: FormRound | RelayedRound;
}

/** Why nothing ran and nothing is on hold. */
export type Refusal =
  /** `not_permitted`: no policy permits the call, and none forbids it; the operator may have forgotten it. */
  | { readonly reason: 'denied'; readonly why?: 'not_permitted' }
  /** Policy demands that the caller signs in otherwise, and that is all that it demands. */
  | { readonly reason: 'step_up'; readonly stepUps: readonly StepUp[] }
  | { readonly reason: 'too_many' }
  /** An approval was asked for, and the call needs none. */
  | { readonly reason: 'not_needed' }
  /** An approval could be requested, but the client cannot hold a task. */
  | { readonly reason: 'needs_tasks' }
  /** The same, where the operator demands tasks of clients that can declare them. */
  | { readonly reason: 'demands_tasks' }
  /** An approval could be requested, but the client cannot show a form for what the request needs. */
  | { readonly reason: 'needs_forms' }
  /** The access request lacks input: the caller gave none, or its catalogs cannot be used. */
  | { readonly reason: 'not_requested'; readonly why: 'not_given' | 'nothing_to_choose' }
  /** The tool is not described as the operator accepted it, or not accepted yet. The PDP was not asked. */
  | { readonly reason: 'not_accepted' }
  /** The upstream needs to ask, or to open a task, and the client did not declare that it can be asked. */
  | { readonly reason: 'undeclared'; readonly requiredCapabilities: Undeclared['requiredCapabilities'] }
  /** The client answers what the upstream asked, but by now the call needs an approval. Nothing was sent. */
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
