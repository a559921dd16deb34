/** The only thing workflow history holds about a call: a reference to its row. */
export interface GatedCallRef {
  readonly gatedCallId: string;
}

/** Look again after this many milliseconds, or when woken. */
export interface Wait {
  readonly kind: 'wait';
  readonly waitMs: number;
}
/** The call is over; there is nothing left to do. */
export interface Ended {
  readonly kind: 'ended';
}
/** Execution is claimed; the tool may take this long. */
export interface Claimed {
  readonly kind: 'claimed';
  readonly executionTimeoutMs: number;
}
export interface Granted {
  readonly kind: 'granted';
}

/**
 * The steps of a gated call's life. Each looks at the row first, does at most what is next for it, and answers what it
 * found, so that a step repeated after a crash, a reset or a duplicate signal changes nothing but time.
 */
export interface ActivityPorts {
  /** Asks the access request service how the current generation stands. `look` counts from 1 and stretches the pause. */
  readResolution(call: GatedCallRef, look: number): Promise<Wait | Granted | Claimed | Ended>;
  /**
   * Asks the PDP again, with the approval as input, and exchanges a fresh "allow" for the claim. `attempt` counts from 1
   * and stretches the pause while neither an "allow" nor a denial can be had.
   */
  claimExecution(call: GatedCallRef, attempt: number): Promise<Claimed | Wait | Ended>;
  /** Sends the bound call to its upstream, once, if no permit to send was given before; stores what came back. */
  invokeTool(call: GatedCallRef): Promise<void>;
  /** Says what is known of the execution; ends it at its deadline. `invoke`: provably no permit was given yet. */
  settle(call: GatedCallRef): Promise<Ended | Wait | { readonly kind: 'invoke' }>;
}
