/** A reference to the row of a call, and all that workflow history holds of it. */
export interface GatedCallRef {
  readonly gatedCallId: string;
}

export interface GatedCallStart extends GatedCallRef {
  /**
   * Given for a call that waits for a resolution: the generation of its access request, and the request deadline in
   * milliseconds since 1970. The workflow then sets its timer without a step. Without it, the workflow reads the row first.
   */
  readonly pending?: { readonly generation: number; readonly deadlineMs: number };
}

/** The access request is not resolved yet, or its resolution cannot be read now. Read again after this long, or at a signal. */
export interface StillOpen {
  readonly kind: 'open';
  readonly generation: number;
  readonly waitMs: number;
}
/** The access request was granted, and the approval is on the row. */
export interface Granted {
  readonly kind: 'granted';
}
export interface Ended {
  readonly kind: 'ended';
}
/** Nothing was decided, or nothing is known yet. Repeat the step after this long, or at a signal. */
export interface Retry {
  readonly kind: 'retry';
  readonly waitMs: number;
}
/** Execution is claimed; the tool may take this long from its permit on. */
export interface Claimed {
  readonly kind: 'claimed';
  readonly claimId: string;
  readonly executionTimeoutMs: number;
}
/** The claim was given up, because its permit to send was not given. After this long, the call is decided and claimed anew. */
export interface Released {
  readonly kind: 'released';
  readonly waitMs: number;
}
/** The policy wants one more approval, and the requester has to answer questions first. A signal comes with the last answer. */
export interface InputRequired {
  readonly kind: 'input_required';
  readonly waitMs: number;
}
/** The policy wants one more approval: its access request is the next generation. */
export interface NextGeneration {
  readonly kind: 'next_generation';
}

/**
 * The steps of a gated call's life. Each reads the row first, does at most the next thing, and answers what it found. So a step
 * that is repeated after a crash, a reset or a duplicate signal costs time and changes nothing.
 */
export interface ActivityPorts {
  /**
   * Reads the resolution of the access request at its service and records a grant on the row. A request that was denied, that
   * expired, was cancelled or failed ends the call, and so does the request deadline.
   */
  readResolution(call: GatedCallRef): Promise<Granted | StillOpen | Ended>;
  /**
   * Asks the PDP again with the approval as input, and exchanges a fresh "allow" for the claim. One step, because a decision is
   * fresh for seconds only.
   */
  decideAndClaim(call: GatedCallRef): Promise<Claimed | Retry | NextGeneration | InputRequired | Ended>;
  /** Sends the bound call to its upstream, once, if no permit to send was given before; stores what came back. */
  invokeTool(call: GatedCallRef): Promise<void>;
  /** Records the outcome of the execution under this claim; ends it at its deadline. Gives the claim up if no permit was given for it. */
  settle(call: GatedCallRef & Pick<Claimed, 'claimId'>): Promise<Ended | Retry | Released>;
}

/** How many tools one worker calls at once. It claims no call that it could not send within this number. */
export const INVOCATIONS_AT_ONCE = 100;
