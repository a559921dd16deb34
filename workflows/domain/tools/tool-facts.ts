import type { JsonObject } from '../canonical-json.ts';
import { declaredRequirements } from './requirements.ts';

/** What the operator says of one tool. */
export interface ToolSettings {
  /** Beside those that the upstream declares. */
  readonly requirements?: readonly string[] | undefined;
}

/** What is known of a tool: what its upstream says, and what the operator says. Everything that asks about a tool asks here. */
export interface ToolFacts {
  /** What has to be the case for a call to be carried out, from whomever it comes; each once. */
  readonly requirements: readonly string[];
}

/** Throws a `RangeError` when the definition has no canonical form. */
export function toolFacts(definition: JsonObject, settings: ToolSettings = {}): ToolFacts {
  return {
    // A union: neither side can take away what the other demands.
    requirements: [...new Set([...declaredRequirements(definition), ...(settings.requirements ?? [])])],
  };
}
