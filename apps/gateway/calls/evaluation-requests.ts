import type { Logger } from 'pino';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ownMember } from '../../../workflows/domain/own-member.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { ToolMapping } from '../../../workflows/domain/tools/tool-facts.ts';
import { compileMapping, type Mapping } from '../../shared/coaz/mapping.ts';
import { MappingError } from '../../shared/coaz/mapping-error.ts';
import { resolveMapping, SUBJECT_TYPE, type MappingTime } from '../../shared/coaz/resolve.ts';
import { createSlowMappings } from '../../shared/coaz/slow-mappings.ts';
import type { Config } from '../../shared/config/config.ts';
import type { Timing } from '../../shared/limits.ts';
import { defaultMapping, MAPPED_METHODS } from '../mcp/default-mappings.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { expressionsIn } from '../../shared/coaz/template.ts';

export type QuestionsOfCall = readonly [EvaluationRequest, ...EvaluationRequest[]];

/** What messages ask of the policy decision point. Throws a `MappingError` when that cannot be said; then nothing is asked. */
export interface Questions {
  /** Of a tool call: those of the tool's mapping, else the one of the default. */
  ofCall(sender: Sender, tool: UpstreamTool, call: Call): QuestionsOfCall;
  /** Of a message of any other method, by its default mapping; `undefined` for a method that has none. */
  ofRequest(sender: Sender, method: string, params: JsonObject): EvaluationRequest | undefined;
}

interface QuestionsDeps extends Timing {
  readonly config: Pick<Config, 'gateway' | 'mcpServers' | 'urls'>;
  readonly log: Logger;
}

/** One call of a tool. */
interface Call {
  readonly arguments: JsonObject;
  readonly callDigest: string;
}

export function createQuestions(given: QuestionsDeps): Questions {
  const deps = { ...given, slow: createSlowMappings(given.limits.mappingMs) };
  return {
    ofRequest: (sender, method, params) => questionOfRequest(deps, sender, { method, params }),
    ofCall(sender, tool, call) {
      try {
        const { mapping } = tool.facts;
        return mapping === undefined
          ? [questionByDefault(deps, sender, { tool, call })]
          : questionsByMapping(deps, sender, { tool, mapping, call });
      } catch (error) {
        if (error instanceof MappingError) {
          deps.log.warn({ tool: tool.name, problem: error.message }, 'a call is refused because its mapping failed');
        }
        throw error;
      }
    },
  };
}

function questionOfRequest(
  { config: { gateway, urls } }: QuestionsDeps,
  sender: Sender,
  { method, params }: { method: string; params: JsonObject },
): EvaluationRequest | undefined {
  const { coaz } = gateway;
  const mapping = defaultMapping(method);
  if (mapping === undefined) return undefined;
  const { resource, context, details } = mapping;
  return {
    subject: { type: SUBJECT_TYPE, id: identityOf(sender, coaz.identityClaim) },
    action: { name: method },
    resource:
      resource === 'server'
        ? { type: 'mcp_server', id: coaz.serverId ?? audienceOf(sender, urls.mcp) }
        : resource(params),
    context: { ...withAgent(sender, context?.(params) ?? {}), ...(coaz.callDetails && details?.(params)) },
  };
}

/** What the binding asks, and, unless that is switched off, what the embedded decision point goes by (PRJ-17). */
function questionByDefault(
  { config }: QuestionsDeps,
  sender: Sender,
  { tool, call }: { tool: UpstreamTool; call: Call },
): EvaluationRequest {
  const { identityClaim, callDetails } = config.gateway.coaz;
  // As the upstream gave them. What hints make of them is for clients to read, and no part of any decision (HINT-004).
  const annotations = tool.definition['annotations'];
  const isTold = callDetails && annotations !== undefined;
  return {
    subject: { type: SUBJECT_TYPE, id: identityOf(sender, identityClaim) },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool.name, ...(isTold && { properties: { annotations } }) },
    context: {
      ...withAgent(sender, {}),
      ...(callDetails && { arguments: call.arguments, call_digest: call.callDigest }),
    },
  };
}

function questionsByMapping(
  deps: QuestionsDeps & MappingTime,
  sender: Sender,
  { tool, mapping, call }: { tool: UpstreamTool; mapping: ToolMapping; call: Call },
): QuestionsOfCall {
  const { identityClaim, callDetails } = deps.config.gateway.coaz;
  const identity = identityOf(sender, identityClaim);
  const form = compiled(mapping);
  const params = { name: tool.name, arguments: call.arguments };
  const questions = resolveMapping(form, { params, token: sender.claims, identity }, deps);
  const { type, id } = questions[0].subject;
  // Under another type the caller would be nobody that policies know anything of, and nothing that they hold against it would count.
  const isCaller = id === identity && (type === SUBJECT_TYPE || mapping.by === 'operator');
  if (!isCaller) allowOtherSubject(deps, tool, form);
  const anchored = (question: EvaluationRequest): EvaluationRequest => {
    if (mapping.by === 'upstream') checkVocabulary(question, tool.name);
    if (Object.hasOwn(question.context, 'approval')) {
      throw new MappingError('context.approval is not for mappings to say');
    }
    return {
      ...question,
      context: {
        ...withAgent(sender, question.context),
        // Approvers see the whole call, whatever the mapping tells policies of it.
        ...(callDetails && { arguments: call.arguments, call_digest: call.callDigest, tool: tool.name }),
      },
    };
  };
  const [first, ...others] = questions;
  return [anchored(first), ...others.map(anchored)];
}

/** The agent is the token's, whatever a mapping says of it (COAZ-SE-04). */
function withAgent({ caller }: Sender, context: JsonObject): JsonObject {
  const { agent: _agent, ...others } = context;
  return caller.clientId === undefined ? others : { agent: caller.clientId, ...others };
}

/** Throws unless the operator takes this upstream's word for whom calls are made. @see COAZ-SU-04 */
function allowOtherSubject({ config, log }: QuestionsDeps, tool: UpstreamTool, mapping: Mapping): void {
  const { mcpServers, gateway } = config;
  if (ownMember(mcpServers, tool.upstream)?.mappingsMayNameSubject !== true) {
    throw new MappingError(
      `subject is not of the type ${SUBJECT_TYPE}, or its id is not what the token says of its ${gateway.coaz.identityClaim}`,
    );
  }
  const from = sourceOf(mapping);
  log.warn({ audit: 'subject_override', tool: tool.name, from }, 'a mapping asks about another subject');
}

/** What was made of mappings, and what is wrong with them: each is read once. */
const known = new WeakMap<ToolMapping, Mapping | MappingError>();

function compiled(mapping: ToolMapping): Mapping {
  const found = known.get(mapping) ?? compile(mapping.content);
  known.set(mapping, found);
  if (found instanceof MappingError) throw found;
  return found;
}

function compile(content: Json): Mapping | MappingError {
  try {
    return compileMapping(content);
  } catch (error) {
    if (error instanceof MappingError) return error;
    throw error;
  }
}

/** Who sends a message, and what the verified token says. */
export interface Sender {
  readonly caller: Principal;
  readonly claims: JsonObject;
}

/** The subject of a verified token, or what takes its place by agreement with the issuer (COAZ-IM-05, COAZ-IM-06). */
export function identityOf({ caller, claims }: Sender, claim: string): string {
  if (claim === 'sub') return caller.subject;
  const identity = ownMember(claims, claim);
  if (typeof identity === 'string' && identity !== '') return identity;
  throw new MappingError(`the token has no claim "${claim}", which says on whose behalf it is used`);
}

/** The one audience of the token that is this server: never a list of them (COAZ-DF-11 to 13). */
export function audienceOf({ claims }: Sender, own: string): string {
  const { aud } = claims;
  if (aud === own || (Array.isArray(aud) && aud.includes(own))) return own;
  throw new MappingError('the token names no audience that is this server');
}

/** Where a subject comes from that is not the token's: from the message is worse (COAZ-SU-05). */
export function sourceOf({ shared, questions: [first] }: Mapping): 'token' | 'message' {
  const { subject } = shared.subject === undefined ? (first ?? {}) : shared;
  if (subject === undefined) return 'token';
  const reads = expressionsIn(subject).flatMap(({ expression }) => expression.reads);
  return reads.length > 0 && reads.every(({ root }) => root === 'token') ? 'token' : 'message';
}

const TOOLS_CALL = 'tools/call';
const TOOL = 'tool';
/** Those that nobody has another use for. */
const PROTOCOL_WORDS = MAPPED_METHODS.filter((method) => method.includes('/') || method === 'initialize');

/**
 * Keeps an upstream from speaking in the words of the default mappings about anything but its own tool. Whoever writes a policy
 * about `tools/call` and another tool means that tool: a mapping that asked about it instead would borrow its permissions. Other
 * words are the upstream's own. Throws a `MappingError`.
 *
 * @param own Public name of the tool that is called. @see COAZ, Trust-Anchored (COAZ-FW-19)
 */
export function checkVocabulary({ action, resource }: EvaluationRequest, own: string): void {
  if (action.name !== TOOLS_CALL && PROTOCOL_WORDS.includes(action.name)) {
    throw new MappingError('action.name is a method of the protocol, which is not what is called');
  }
  const isOwn = resource.type === TOOL && resource.id === own;
  if ((action.name === TOOLS_CALL || resource.type === TOOL) && !isOwn) {
    throw new MappingError('resource is not this tool under its public name, though it speaks of tools');
  }
}
