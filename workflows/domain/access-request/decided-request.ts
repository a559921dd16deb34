import type { EvaluationRequest } from '../authzen/evaluation.ts';
import type { Effect } from '../tools/tool-facts.ts';

/** A request that ended: what the decision point was asked, and how the request was decided. */
export interface DecidedRequest {
  readonly request: EvaluationRequest;
  /** What the enforcement point said that the tool does, where the denial binds it. */
  readonly effect: Effect | undefined;
  /**
   * `approved`: by people alone, without a vote against it. `refused`: it was denied, expired, cancelled or failed, a person spoke against it,
   * or a person took its approval back. `other`: approved by a grant, a program or an emergency grant.
   */
  readonly verdict: 'approved' | 'refused' | 'other';
  /** Subjects of the people who voted. */
  readonly people: readonly string[];
  /** Whether one approval by a person at any time was enough, so that a grant could approve it. */
  readonly suitsGrants: boolean;
  /** When it ended, in milliseconds since 1970. */
  readonly endedAt: number;
}
