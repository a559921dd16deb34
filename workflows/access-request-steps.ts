import type { Ended, Wait } from './activity-ports.ts';

/** The only thing workflow history holds about an access request: a reference to its row. */
export interface AccessRequestRef {
  readonly accessRequestId: string;
}

/**
 * The steps of an open access request's life. Each looks at the row first and does at most what is next, so that one which
 * is repeated after a crash, a reset or a duplicate signal changes nothing but time.
 */
export interface AccessRequestSteps {
  /**
   * Carries out a deadline that has passed, or records the reminder that is due; says when the next of either is, or that the
   * resolver of the stage is to be asked before.
   */
  advanceAccessRequest(request: AccessRequestRef): Promise<Wait | Ended | { readonly kind: 'consult' }>;
  /** Asks the resolver of the open stage, unless it has answered, and keeps what it says or that it said nothing. */
  consultResolver(request: AccessRequestRef): Promise<{ readonly kind: 'consulted' }>;
}
