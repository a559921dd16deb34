import type { EvaluationRequest } from '../authzen/evaluation.ts';
import { canonicalJson, type JsonObject } from '../canonical-json.ts';
import type { Principal } from '../principal.ts';
import type { Additions } from '../submission-input/answers.ts';

/**
 * The call that was made: captured once, never changed, and the only thing execution is run from.
 * @see SEP-2848, The task handle is not authority
 */
export interface CallBinding {
  /** Name the agent called: upstream prefix and tool name. */
  readonly tool: string;
  readonly upstream: string;
  readonly upstreamTool: string;
  /** Complete arguments as RFC 8785 text: the bytes the approver sees are the bytes the tool gets. */
  readonly arguments: string;
  readonly callDigest: string;
  /** Digest of the tool's description and schemas as they stood when the call was made. */
  readonly toolDigest: string;
  /** Digest of the mapping that made the evaluation requests of the call; missing for the default mapping. */
  readonly mappingDigest?: string;
  readonly caller: Principal;
  /** Claims of the caller's token, at the time of the call, that requirements of tools and obligations of policy are about. */
  readonly claims?: JsonObject;
  /** The evaluation request without any approval; sent again unchanged at re-evaluation. */
  readonly evaluation: EvaluationRequest;
  /** Further evaluation requests of a mapping with several decisions. Each has to be allowed, and no approval is for any of them. */
  readonly others?: readonly EvaluationRequest[];
  /** The requester's input for the access request. No part of the call, and never shown to the PDP or the tool. */
  readonly input?: RequesterInput;
}

/** Answers of a requester, and the schema that they were given to. */
export interface RequesterInput {
  readonly schemaUrl: string;
  readonly additions: Additions;
  /** Whether values of it were chosen from catalogs. */
  readonly isFromCatalogs?: true;
}

/** SHA-256 of UTF-8 text, in lower-case hex. Handed in because the domain has no cryptography of its own. */
export type Sha256 = (text: string) => string;

/** Names one exact call: SHA-256 over the RFC 8785 form of tool and arguments. Equal calls have equal digests. */
export function callDigest(call: { tool: string; arguments: JsonObject }, sha256: Sha256): string {
  return `sha-256:${sha256(canonicalJson({ tool: call.tool, arguments: call.arguments }))}`;
}

/** Whether the stored arguments still are those that were bound. False means the record was altered. */
export function isIntact(binding: Pick<CallBinding, 'tool' | 'arguments' | 'callDigest'>, sha256: Sha256): boolean {
  try {
    const parsed = JSON.parse(binding.arguments) as JsonObject;
    return callDigest({ tool: binding.tool, arguments: parsed }, sha256) === binding.callDigest;
  } catch {
    return false;
  }
}
