import type { Logger } from 'pino';
import { type EvaluationRequest, joinDecisions } from '../../../workflows/domain/authzen/evaluation.ts';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { ToolMapping } from '../../../workflows/domain/tools/tool-facts.ts';
import { compileMapping, expressionsIn, type Mapping } from '../../shared/coaz/mapping.ts';
import { MappingError } from '../../shared/coaz/json-of.ts';
import { createSlowMappings, type MappingTime, resolveMapping, SUBJECT_TYPE } from '../../shared/coaz/resolve.ts';
import type { Config } from '../../shared/config/config.ts';
import type { Timing } from '../../shared/limits.ts';
import { identityOf, withAgent } from '../calls/bind.ts';
import type { MappedArguments, MappedCall } from '../calls/tool-call.ts';
import { MAPPED_METHODS } from '../mcp/authorize.ts';
import type { Sender } from '../wire/request-context.ts';

interface MappedArgumentsDeps extends Timing {
  readonly config: Pick<Config, 'gateway' | 'mcpServers'>;
  readonly log: Logger;
}

/** The mappings that operators and upstreams declare for tools. @see COAZ, declared mappings */
export function createMappedArguments(given: MappedArgumentsDeps): MappedArguments {
  const deps = { ...given, slow: createSlowMappings(given.limits.mappingMs) };
  return {
    evaluationRequests: (sender, call) => evaluationRequests(deps, sender, call),
    async decide(pdp, binding) {
      const requests = [binding.evaluation, ...binding.others];
      const { decision, about } = joinDecisions(await pdp.evaluateAll(requests, binding.claims));
      return {
        decision,
        binding: {
          ...binding,
          evaluation: requests[about] ?? binding.evaluation,
          others: requests.filter((_request, index) => index !== about),
        },
      };
    },
  };
}

function evaluationRequests(
  deps: MappedArgumentsDeps & MappingTime,
  sender: Sender,
  { tool, mapping, ...call }: MappedCall,
): ReturnType<MappedArguments['evaluationRequests']> {
  const { identityClaim, callDetails } = deps.config.gateway.coaz;
  const identity = identityOf(sender, identityClaim);
  const form = compiled(mapping);
  const params = { name: tool.name, arguments: call.arguments };
  const requests = resolveMapping(form, { params, token: sender.claims, identity }, deps);
  const { type, id } = requests[0].subject;
  // Under another type, policies would not know the caller, and a forbid for the caller would not apply.
  const isCaller = id === identity && (type === SUBJECT_TYPE || mapping.by === 'operator');
  if (!isCaller) allowOtherSubject(deps, tool, form);
  const anchored = (request: EvaluationRequest): EvaluationRequest => {
    if (mapping.by === 'upstream') checkVocabulary(request, tool.name);
    if (Object.hasOwn(request.context, 'approval')) {
      throw new MappingError('a mapping must not set context.approval');
    }
    return {
      ...request,
      context: {
        ...withAgent(sender, request.context),
        // Approvers see the whole call, even if the mapping passes less to policies.
        ...(callDetails && { arguments: call.arguments, call_digest: call.callDigest, tool: tool.name }),
      },
    };
  };
  const [first, ...others] = requests;
  return [anchored(first), ...others.map(anchored)];
}

/** Throws unless the operator lets this upstream name the subject. @see COAZ-SU-04 */
function allowOtherSubject({ config, log }: MappedArgumentsDeps, tool: UpstreamTool, mapping: Mapping): void {
  const { mcpServers, gateway } = config;
  if (ownProperty(mcpServers, tool.upstream)?.mappingsMayNameSubject !== true) {
    throw new MappingError(
      `subject must have the type ${SUBJECT_TYPE}, and the ${gateway.coaz.identityClaim} of the token as its id`,
    );
  }
  const from = sourceOf(mapping);
  log.warn({ audit: 'subject_override', tool: tool.name, from }, 'a mapping asks about another subject');
}

/** Compiled mappings, and the errors of others: each is compiled once. */
const known = new WeakMap<ToolMapping, Mapping | MappingError>();

function compiled(mapping: ToolMapping): Mapping {
  const found = known.get(mapping);
  if (found instanceof MappingError) throw found;
  if (found !== undefined) return found;
  try {
    const made = compileMapping(mapping.content);
    known.set(mapping, made);
    return made;
  } catch (error) {
    if (error instanceof MappingError) known.set(mapping, error);
    throw error;
  }
}

/** The source of a subject that is not the token's. A subject from the message is worse (COAZ-SU-05). */
function sourceOf({ shared, evaluations: [first] }: Mapping): 'token' | 'message' {
  const { subject } = shared.subject === undefined ? (first ?? {}) : shared;
  if (subject === undefined) return 'token';
  const reads = expressionsIn(subject).flatMap(({ expression }) => expression.reads);
  return reads.length > 0 && reads.every(({ root }) => root === 'token') ? 'token' : 'message';
}

const TOOLS_CALL = 'tools/call';
const TOOL = 'tool';
/** Method names that have no other meaning. */
const PROTOCOL_WORDS = MAPPED_METHODS.filter((method) => method.includes('/') || method === 'initialize');

/**
 * Allows an upstream's mapping to use the words of the default mappings only for its own tool. A mapping that asked about `tools/call` and
 * another tool would borrow that tool's permissions. Other words are the upstream's own. Throws a `MappingError`.
 *
 * @param own Public name of the called tool. @see COAZ, Trust-Anchored (COAZ-FW-19)
 */
function checkVocabulary({ action, resource }: EvaluationRequest, own: string): void {
  if (action.name !== TOOLS_CALL && PROTOCOL_WORDS.includes(action.name)) {
    throw new MappingError('action.name must not be a method of the protocol other than tools/call');
  }
  const isOwn = resource.type === TOOL && resource.id === own;
  if ((action.name === TOOLS_CALL || resource.type === TOOL) && !isOwn) {
    throw new MappingError('a mapping about tools must name this tool, by its public name, as its resource');
  }
}
