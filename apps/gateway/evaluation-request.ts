import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { ReadMethod, UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../workflows/domain/principal.ts';

/** Action name and subject type of the default mapping. @see COAZ, MCP default mappings */
const ACTION = 'tools/call';
const SUBJECT_TYPE = 'identity';
const RESOURCE_TYPE = 'tool';

/**
 * The question that a tool call puts to the PDP: the default mapping, the arguments, and a digest of the whole call, so
 * that an approval holds for these arguments and no others (PRJ-17).
 */
export function evaluationRequest(
  caller: Principal,
  tool: UpstreamTool,
  call: { arguments: JsonObject; callDigest: string },
): EvaluationRequest {
  // As the upstream gave them. What hints make of them is for clients to read, and no part of any decision (HINT-004).
  const annotations = tool.definition['annotations'];
  return {
    subject: { type: SUBJECT_TYPE, id: caller.subject },
    action: { name: ACTION },
    resource: {
      type: RESOURCE_TYPE,
      id: tool.name,
      ...(annotations !== undefined && { properties: { annotations } }),
    },
    context: {
      ...(caller.clientId !== undefined && { agent: caller.clientId }),
      arguments: call.arguments,
      call_digest: call.callDigest,
    },
  };
}

/**
 * The question that any other request puts to the PDP: the default mapping, and the arguments of a prompt. Nothing is bound,
 * because nothing of it is ever kept. @see COAZ-DF-06, COAZ-DF-07, COAZ-DF-08
 */
export function readEvaluation(
  caller: Principal,
  method: ReadMethod,
  { type, id, arguments: args }: { type: 'prompt' | 'resource'; id: string; arguments?: JsonObject },
): EvaluationRequest {
  return {
    subject: { type: SUBJECT_TYPE, id: caller.subject },
    action: { name: method },
    resource: { type, id },
    context: {
      ...(caller.clientId !== undefined && { agent: caller.clientId }),
      ...(args !== undefined && { arguments: args }),
    },
  };
}
