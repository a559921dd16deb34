import { readPolicyTexts, type PolicyPlaces } from '../engine/cedar/policy-folder.ts';
import type { PolicyProblem } from '../engine/cedar/problems.ts';
import { loadVersion, problemsOf } from '../engine/cedar/version.ts';

/** What `policy check` says about a policy folder. */
export interface PolicyCheck {
  /** Why it cannot be put in force. Empty if it can. */
  readonly errors: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
  /** Absent if there are errors. */
  readonly found?: {
    readonly version: string;
    readonly files: number;
    readonly policies: number;
    readonly requestable: number;
    /** Templates of access requests that policies ask for. */
    readonly templates: readonly string[];
    readonly requestSchemas: number;
    /** What policies may oblige to: id and type. */
    readonly obligations: readonly { readonly id: string; readonly type: string }[];
    readonly people: number;
  };
}

/** Loads everything as the decision point does, and returns every error and warning. Changes nothing. */
export async function checkPolicies(places: PolicyPlaces): Promise<PolicyCheck> {
  try {
    const texts = await readPolicyTexts(places);
    const { id, evaluator, requestSchemas, people } = await loadVersion(texts, places);
    const all = [...evaluator.policies.values()];
    const asking = all.flatMap(({ template }) => template ?? []);
    evaluator.release();
    return {
      errors: [],
      warnings: evaluator.warnings,
      found: {
        version: id,
        files: texts.files.policies.length,
        policies: all.length,
        requestable: asking.length,
        templates: [...new Set(asking)].sort(),
        requestSchemas: requestSchemas.texts.size,
        obligations: [...evaluator.obligations.values()].map(({ id: name, type }) => ({ id: name, type })),
        people,
      },
    };
  } catch (error) {
    const errors = problemsOf(error, places);
    if (!errors) throw error;
    return { errors, warnings: [] };
  }
}
