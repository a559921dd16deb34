import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Policy } from '../cedar/policies.ts';
import { answerByPolicy } from '../cedar/requestable.ts';
import type { Obligation } from '../../../workflows/domain/authzen/obligation.ts';
import type { PolicyVersion } from '../versions/version.ts';

/** What is shown of a determining policy. */
const SHOWN = ['id', 'effect', 'file', 'line', 'template', 'reason', 'title', 'description', 'obligations'] as const;
/** A determining policy, with the place where its author finds it. */
export type Determining = Pick<Policy, (typeof SHOWN)[number]>;

/** What policies say of a request, for people. */
export interface Outcome {
  /** `deny` is final, `requestable` can be cured by an approval, `failed` could not be evaluated and is denied. */
  readonly outcome: 'permit' | 'deny' | 'requestable' | 'failed';
  readonly reason?: string;
  /** Template of the approval that would cure it: the same request was tried with one, and permitted. */
  readonly template?: string;
  /** What could not be evaluated. Names places and policies, never values. */
  readonly cause?: string;
  /** What the answer demands of the enforcement point; absent where it demands nothing. */
  readonly obligations?: readonly Obligation[];
  readonly policies: readonly Determining[];
}

/**
 * @param request Whatever it has as `context.approval` is left aside.
 * @param approvedFor Template of an approval that is assumed to be verified.
 */
export function outcomeOf({ engine }: PolicyVersion, request: EvaluationRequest, approvedFor?: string): Outcome {
  const { approval: _presented, ...context } = request.context;
  const facts = approvedFor === undefined ? undefined : ({ verified: true, template: approvedFor } as const);
  const answer = answerByPolicy(engine, { ...request, context }, facts);
  const ids = answer.kind === 'failed' ? [] : answer.policies;
  return {
    outcome: answer.kind,
    ...(answer.kind !== 'permit' && { reason: answer.reason }),
    ...(answer.kind === 'requestable' && { template: answer.template }),
    ...(answer.kind === 'failed' && { cause: answer.cause }),
    ...(answer.obligations && { obligations: answer.obligations }),
    policies: ids.flatMap((id) => engine.policies.get(id) ?? []).map(determining),
  };
}

const determining = (policy: Policy) =>
  Object.fromEntries(SHOWN.map((member) => [member, policy[member]])) as Determining;
