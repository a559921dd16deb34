import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { ApprovalVerdict } from './cedar/facts.ts';
import type { PolicyAnswer } from './cedar/requestable.ts';

/** An approval that was presented and holds for the request it came with. */
export type VerifiedApproval = Extract<ApprovalVerdict, { kind: 'verified' }>;

/** What decides here. The host around it verifies approvals, and signs and records what makes a denial requestable. */
export interface PolicyEngine {
  /**
   * What policy says of a request. Throws when that cannot be told: then there is no decision.
   *
   * @param request Without `context.approval`; what the caller sent there has no meaning for policies (PRJ-27).
   * @param approval One more input, and no permission by itself.
   */
  answer(request: EvaluationRequest, approval?: VerifiedApproval): PolicyAnswer | Promise<PolicyAnswer>;
  /** Context members that may play a part in an answer about this action. */
  contextOf(action: string): Pick<ReadonlySet<string>, 'has'>;
}
