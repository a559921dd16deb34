import { canonicalJson, type Json, type JsonObject, objectOf } from '../canonical-json.ts';
import type { Principal } from '../principal.ts';

/** Which requirements are asked about, for whom, and for which tool. */
export interface RequirementQuery {
  readonly requirements: readonly string[];
  readonly tool: string;
  readonly caller: Principal;
  /** Claims of the caller's token as they were when the call was made. */
  readonly claims: JsonObject;
}

/** A requirement that is in neither list is met. */
export interface RequirementVerdict {
  /** Those that are known not to be met, and those that are unknown. */
  readonly unmet: readonly string[];
  /** Those that cannot be checked now. They are not met either, but may turn out to be. */
  readonly undecided: readonly string[];
}

/**
 * Says whether requirements of tools are met now. Never rejects. An unknown requirement is not met: texts are equal or different,
 * and mean nothing beyond that.
 * @see SEP-2487 (REQ-003, REQ-004)
 */
export interface RequirementChecks {
  /** The claims of tokens that are checked. A call that waits keeps them, because there is no token at its execution. */
  readonly claimNames: readonly string[];
  check(question: RequirementQuery): Promise<RequirementVerdict>;
}

/**
 * The requirements that an upstream declares for its tool. A member that is no text counts as the text of its JSON: it was
 * declared, so it is enforced, and no configuration meets it by accident.
 */
export function declaredRequirements({ execution }: JsonObject): readonly string[] {
  const declared = objectOf(execution)['requirements'] ?? [];
  const each: readonly Json[] = Array.isArray(declared) ? (declared as readonly Json[]) : [declared];
  return each.map((one) => (typeof one === 'string' ? one : canonicalJson(one)));
}
