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

/**
 * The steps of a gated call's life. Each looks at the row first, does at most what is next for it, and answers what it
 * found, so that a step repeated after a crash, a reset or a duplicate signal changes nothing but time.
 */
export interface ActivityPorts {
  /**
   * Takes the call as far towards its execution as it may go now: reads the resolution, asks the PDP again with the
   * approval as input, and exchanges a fresh "allow" for the claim.
   */
  claimExecution(call: GatedCallRef): Promise<Claimed | Wait | Ended>;
  /** Sends the bound call to its upstream, once, if no permit to send was given before; stores what came back. */
  invokeTool(call: GatedCallRef): Promise<void>;
  /** Says what is known of the execution; ends it at its deadline. `invoke`: provably no permit was given yet. */
  settle(call: GatedCallRef): Promise<Ended | Wait | { readonly kind: 'invoke' }>;
}
