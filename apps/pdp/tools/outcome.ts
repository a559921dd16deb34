import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Obligation } from '../../../workflows/domain/authzen/obligation.ts';
import type { Policy } from '../engine/cedar/policies.ts';
import type { CedarVersion } from '../engine/cedar/version.ts';
import { answerByPolicy } from '../offer/requestable.ts';

/** The members of a determining policy that people see. */
const SHOWN = ['id', 'effect', 'file', 'line', 'template', 'reason', 'title', 'description', 'obligations'] as const;
/** A determining policy, with its place in the policy folder. */
export type Determining = Pick<Policy, (typeof SHOWN)[number]>;

/** What policies say about a request, for people. */
export interface Outcome {
  /** `deny` is final, an approval can cure `requestable`, and `failed` could not be evaluated and is denied. */
  readonly outcome: 'permit' | 'deny' | 'requestable' | 'failed';
  readonly reason?: string;
  /** Template of the approval that would cure it: the same request with such an approval is permitted. */
  readonly template?: string;
  /** What could not be evaluated. Names places and policies, never values. */
  readonly cause?: string;
  /** What the answer demands of the enforcement point. Absent if it demands nothing. */
  readonly obligations?: readonly Obligation[];
  readonly policies: readonly Determining[];
}

/**
 * @param request Its `context.approval` is ignored.
 * @param approvedFor Template of an approval that is assumed to be verified.
 * @param at When the request is decided, in milliseconds since 1970. Default: now.
 */
export function outcomeOf(
  { evaluator }: CedarVersion,
  request: EvaluationRequest,
  approvedFor?: string,
  at?: number,
): Outcome {
  const { approval: _presented, ...context } = request.context;
  const facts = approvedFor === undefined ? undefined : ({ verified: true, template: approvedFor } as const);
  const answer = answerByPolicy(evaluator, { ...request, context }, facts, at);
  const ids = answer.kind === 'failed' ? [] : answer.policies;
  return {
    outcome: answer.kind,
    ...(answer.kind !== 'permit' && { reason: answer.reason }),
    ...(answer.kind === 'requestable' && { template: answer.template }),
    ...(answer.kind === 'failed' && { cause: answer.cause }),
    ...(answer.obligations && { obligations: answer.obligations }),
    policies: ids.flatMap((id) => evaluator.policies.get(id) ?? []).map(determining),
  };
}

const determining = (policy: Policy) =>
  Object.fromEntries(SHOWN.map((member) => [member, policy[member]])) as Determining;
