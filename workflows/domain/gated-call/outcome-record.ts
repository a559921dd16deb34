import type { RecordedStatement } from '../access-request/statement.ts';
import type { PolicyBasis } from '../authzen/evaluation.ts';
import type { ObligationOutcome } from '../authzen/obligation.ts';
import type { JsonObject } from '../canonical-json.ts';
import type { Principal } from '../principal.ts';
import type { RecordedPreview } from '../tools/preview.ts';
import { type EndReason, GATED_CALL_STATES, type GatedCallState, isTerminal } from './gated-call.ts';

/** The role that reads outcome records. */
export const AUDITOR_ROLE = 'auditor';

/** The states a gated call can end in, and so the states a record can have. */
export type TerminalState = Extract<
  GatedCallState,
  'executed' | 'execution_error' | 'outcome_unknown' | 'denied' | 'cancelled' | 'failed'
>;
export const TERMINAL_STATES = GATED_CALL_STATES.filter((state): state is TerminalState => isTerminal(state));

/** One answer of the PDP about the call, and the basis that it states. */
export interface RecordedDecision extends PolicyBasis {
  readonly id: string;
  readonly generation: number;
  readonly kind: 'requestable' | 'allow' | 'deny' | 'retry';
  readonly reason?: string;
  /** The PDP's own name for this answer, where it gave one. */
  readonly evaluationId?: string;
  /** Its obligations, each with its outcome by then. */
  readonly obligations?: readonly ObligationOutcome[];
  readonly evaluatedAt: string;
}

/** One access request that was opened for the call; approved when it has an `approvalId`. */
export interface RecordedAccessRequest {
  readonly generation: number;
  readonly accessRequestId?: string;
  readonly approvalId?: string;
  readonly approvedAt?: string;
  /** Who resolved it, as its service states; absent without a statement, and when none was read before the call ended. */
  readonly statement?: RecordedStatement;
}

/** One change of state. `seq` grows within a gated call, so the order does not rest on clocks. */
export interface RecordedTransition {
  readonly seq: number;
  readonly to: GatedCallState;
  readonly cause: string;
  readonly at: string;
}

/**
 * The record that was sealed when a gated call ended. It names the call by digests and never holds arguments or results.
 * Instants are in UTC with one fixed number of digits, so that they can be compared as text.
 */
export interface OutcomeRecord {
  readonly outcomeRef: string;
  readonly taskId: string;
  readonly state: TerminalState;
  readonly reason?: EndReason;
  readonly recordedAt: string;
  readonly tool: string;
  readonly callDigest: string;
  readonly toolDigest: string;
  readonly requester: Principal;
  readonly subject?: JsonObject;
  readonly action?: JsonObject;
  readonly resource?: JsonObject;
  readonly createdAt: string;
  readonly generation: number;
  readonly requestDeadline: string;
  readonly approvalExpiresAt?: string;
  readonly decisions: readonly RecordedDecision[];
  readonly accessRequests: readonly RecordedAccessRequest[];
  /** What approvers were shown as the server's word of what would happen. A preview is no call. */
  readonly previews?: readonly RecordedPreview[];
  readonly claim?: { readonly claimedAt: string; readonly decisionId: string; readonly generation: number };
  readonly invocation?: { readonly beganAt: string; readonly notSentAt?: string };
  readonly result?: { readonly isError: boolean; readonly digest: string };
  readonly transitions: readonly RecordedTransition[];
}

/** Another gated call for the same tool with the same arguments. */
export interface SiblingCall {
  readonly taskId: string;
  readonly state: GatedCallState;
  /** Absent while the call is open. */
  readonly outcomeRef?: string;
}

/** The present tables, read beside the record so that both can be compared. */
export interface Evidence {
  /** Whether the record's text still has the digest that was stored with it. */
  readonly sealIntact: boolean;
  /** Whether tool and state as they are searched for are those of the sealed text. */
  readonly indexMatches: boolean;
  /** Whether the call, as long as it is kept, is bound to the recorded tool and digest. */
  readonly bindingMatches: boolean;
  /** Rows that give the right to execute; the primary key allows one. */
  readonly claimCount: number;
  /** Rows that give the permit to send; the primary key allows one. */
  readonly invocationCount: number;
  readonly transitions: readonly Pick<RecordedTransition, 'seq' | 'to'>[];
  readonly siblings: readonly SiblingCall[];
}

/** All contradictions, in words. Empty for a record that can be relied on. */
export function contradictionsOf(record: OutcomeRecord, evidence: Evidence): readonly string[] {
  const found: [boolean, string][] = [
    [!evidence.sealIntact, 'The text of the record was changed after it was written.'],
    [!evidence.indexMatches, 'The columns beside the record do not say what its text says.'],
    [!evidence.bindingMatches, 'The call is bound to another tool or digest than the record names.'],
    [!sameOrder(record.transitions, evidence.transitions), 'The stored transitions are not those of the record.'],
    [evidence.claimCount !== (record.claim ? 1 : 0), 'The number of execution claims is not the recorded one.'],
    [
      evidence.invocationCount !== (record.invocation ? 1 : 0),
      'The number of permits to send is not the recorded one.',
    ],
    [!endsIn(record), 'The last transition is not the state of the record, or transitions are out of order.'],
    [!fitsState(record), 'Claim, permit and result do not fit the state of the record.'],
  ];
  return found.filter(([holds]) => holds).map(([, words]) => words);
}

function sameOrder(a: readonly Pick<RecordedTransition, 'seq' | 'to'>[], b: typeof a): boolean {
  return a.length === b.length && a.every((one, i) => one.seq === b[i]?.seq && one.to === b[i]?.to);
}

function endsIn({ state, transitions }: OutcomeRecord): boolean {
  const ordered = transitions.every((one, i) => i === 0 || one.seq > (transitions[i - 1]?.seq ?? 0));
  return ordered && transitions.at(-1)?.to === state;
}

/** Whether claim, permit and result are there exactly where the state demands them. */
function fitsState({ state, reason, claim, invocation, result }: OutcomeRecord): boolean {
  // A restore may have taken the rows of claim and permit.
  if (reason === 'restored' && state !== 'denied') return state === 'outcome_unknown' && result === undefined;
  const sent = invocation !== undefined && invocation.notSentAt === undefined;
  switch (state) {
    case 'executed':
      return claim !== undefined && sent && result?.isError === false;
    case 'execution_error':
      return claim !== undefined && (sent ? result?.isError === true : result === undefined);
    case 'outcome_unknown':
      return claim !== undefined && sent && result === undefined;
    case 'denied':
    case 'cancelled':
    case 'failed':
      return claim === undefined && invocation === undefined && result === undefined;
  }
}
