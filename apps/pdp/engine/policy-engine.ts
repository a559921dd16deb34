import type { GrantBounds } from '../../../workflows/domain/access-request/access-request.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Obligation } from '../../../workflows/domain/authzen/obligation.ts';

/** The facts about an approval that policies see. The host has verified them, or a what-if assumes them. */
export interface ApprovalFacts {
  readonly verified: true;
  readonly template: string;
}

/** An approval that came with a request and is valid for it. */
export interface VerifiedApproval {
  readonly kind: 'verified';
  readonly id: string;
  /** ISO 8601. */
  readonly approvedUntil: string;
  readonly facts: ApprovalFacts;
}

/** What policies say about a request, before the host signs or records anything. */
export type PolicyAnswer = {
  /** What the answer demands of the enforcement point. Absent if it demands nothing. */
  readonly obligations?: readonly Obligation[];
} & (
  | { readonly kind: 'permit'; readonly policies: readonly string[] }
  | { readonly kind: 'deny'; readonly reason: string; readonly policies: readonly string[] }
  | Requestable
  /** The request could not be evaluated. It is denied, no access request cures the denial, and an operator has to act. */
  | { readonly kind: 'failed'; readonly reason: string; readonly cause: string }
);

/** A denial that an access request can cure. */
export interface Requestable {
  readonly kind: 'requestable';
  /** Template of the access request that would cure the denial. */
  readonly template: string;
  readonly reason: string;
  readonly title?: string;
  readonly description?: string;
  /** Policies that ask for the approval, sorted by id. */
  readonly policies: readonly string[];
  /** The greatest grant that an approver may give on the request: the smallest of all these policies. Absent: none. */
  readonly grantable?: GrantBounds;
  /** What the permit that an approval brings would demand, by the policies now in force. */
  readonly ifApproved?: readonly Obligation[];
}

/** What searches go through: every known name. Lists are sorted and have no duplicates. */
export interface Candidates {
  /** Ids of the known subjects of an AuthZEN type. Empty for an unknown type. */
  subjects(type: string): readonly string[];
  /** Ids of the known resources of an AuthZEN type. */
  resources(type: string): readonly string[];
  /** Names of all actions. */
  readonly actions: readonly string[];
}

/** One version of the policies. It never changes, and every decision names it. */
export interface PolicyVersion {
  /** `sha-256:` and 64 hexadecimal digits. Two versions with the same id decide alike. */
  readonly id: string;
  /**
   * What the policies say about a request. Throws if that cannot be known: then there is no decision.
   *
   * @param request Without `context.approval`: what a caller sends there has no meaning for policies (PRJ-27).
   * @param approval One more input, and no permission by itself.
   * @param at When the request is decided, in milliseconds since 1970. Default: now.
   */
  answer(request: EvaluationRequest, approval?: VerifiedApproval, at?: number): PolicyAnswer | Promise<PolicyAnswer>;
  /** Context members that may play a part in an answer about this action. */
  contextOf(action: string): Pick<ReadonlySet<string>, 'has'>;
  /** Path below the PDP's address of what access requests of this template need beside the call. Undefined if they need nothing. */
  requestSchemaPath(template: string): string | undefined;
  /** Whether the configuration of this version lists a template in `approvals.templates`. Absent if it lists none. */
  isListed?(template: string): boolean;
  /** What a search asks. Absent where the engine cannot be searched. */
  readonly searchable?: {
    readonly candidates: Candidates;
    /** Whether the policies permit a request without any approval. */
    permits(request: EvaluationRequest): boolean;
  };
}

/**
 * What decides here: the embedded Cedar, or another PDP. The host around it verifies approvals, and signs and records
 * requestable denials.
 */
export interface PolicyEngine {
  readonly canSearch: boolean;
  /** Does work with the version in force. The version stays usable until the work is done, even if another comes into force. */
  use<T>(work: (version: PolicyVersion) => Promise<T>): Promise<T>;
  /** Text of a request schema by the last part of its path. Includes earlier versions, since recorded denials still name those. */
  findRequestSchema(name: string): string | undefined;
  /** What operators see of the version in force. */
  status(): { readonly policy_version: string };
  /** Reads everything now, whether or not it seems to have changed. Reports problems in the log. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Enough of a version's id for people to tell versions apart. */
export function shortVersion(id: string): string {
  return id.slice(id.indexOf(':') + 1).slice(0, 12);
}
