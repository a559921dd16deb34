import type { Problem } from '../cedar/problems.ts';
import { loadVersion, problemsOf, readPolicyTexts, type PolicyPlaces } from '../versions/version.ts';

/** What there is to say about a policy folder before it is put in force. */
export interface PolicyCheck {
  /** Why it cannot be put in force; empty when it can. */
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Absent when there are errors. */
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

/** Loads everything as the decision point would, and tells all that is wrong with it. Changes nothing. */
export async function checkPolicies(places: PolicyPlaces): Promise<PolicyCheck> {
  try {
    const texts = await readPolicyTexts(places);
    const { id, engine, requestSchemas, warnings, people } = await loadVersion(texts, places);
    const all = [...engine.policies.values()];
    const asking = all.flatMap(({ template }) => template ?? []);
    engine.release();
    return {
      errors: [],
      warnings,
      found: {
        version: id,
        files: texts.files.policies.length,
        policies: all.length,
        requestable: asking.length,
        templates: [...new Set(asking)].sort(),
        requestSchemas: requestSchemas.texts.size,
        obligations: [...engine.obligations.values()].map(({ id: name, type }) => ({ id: name, type })),
        people,
      },
    };
  } catch (error) {
    const errors = problemsOf(error, places);
    if (!errors) throw error;
    return { errors, warnings: [] };
  }
}
