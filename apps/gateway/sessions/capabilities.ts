import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { relayedCapabilities } from '../wire/request-context.ts';

/** The first revisions with a part of a capability. */
const ELICITATION = '2025-06-18';
const MODES = '2025-11-25';

/**
 * The relayed ones among the capabilities that a client declared in `initialize`, as far as its revision has them. Extensions are left
 * out: tasks of an earlier revision are other tasks (TASK-105).
 */
export function capabilitiesIn(revision: string, declared: unknown): JsonObject {
  const { elicitation, sampling, roots } = relayedCapabilities(declared);
  const hasModes = revision >= MODES;
  return {
    ...(elicitation !== undefined &&
      revision >= ELICITATION && { elicitation: hasModes ? modesOf(elicitation) : FORM }),
    ...(sampling !== undefined && { sampling: hasModes ? sampling : {} }),
    ...(roots !== undefined && { roots }),
  };
}

const FORM: JsonObject = { form: {} };

/** Without a mode, `elicitation` means forms. @see elicitation, capabilities */
const modesOf = (elicitation: unknown): JsonObject => {
  const modes = elicitation as JsonObject;
  return Object.keys(modes).length === 0 ? FORM : modes;
};
