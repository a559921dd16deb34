import type { Logger } from 'pino';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { SIGN_IN_CLAIMS } from '../../../workflows/domain/authzen/obligation.ts';
import { canonicalJson, type Json, type JsonObject, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { type CallBinding, callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { RequirementChecks } from '../../../workflows/domain/tools/requirements.ts';
import { type Effect, mappingDigest, statedEffect } from '../../../workflows/domain/tools/tool-facts.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { rolesIn } from '../../shared/auth/principal-of.ts';
import { MappingError } from '../../shared/coaz/json-of.ts';
import { SUBJECT_TYPE } from '../../shared/coaz/resolve.ts';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { Sender } from '../wire/request-context.ts';
import type { MappedArguments, MappedCall, ToolCall } from './tool-call.ts';

/** Deeper arguments are refused here, with a reason, before a service with a lower limit fails on them. */
const MAX_DEPTH = 64;

export interface BindingDeps {
  readonly requirements: Pick<RequirementChecks, 'claimNames'>;
  readonly mappedArguments: Pick<MappedArguments, 'evaluationRequests'>;
  readonly coaz: Pick<Config['gateway']['coaz'], 'identityClaim' | 'callDetails'>;
  readonly config: Pick<Config, 'tools' | 'signature' | 'identity'>;
  readonly log: Logger;
}

/** The arguments as a binding has them, or why no call can have them. */
export function argumentsText(args: JsonObject): { readonly text: string } | { readonly problem: string } {
  if (!isNestedWithin(args, MAX_DEPTH)) return { problem: `they are nested more than ${MAX_DEPTH} levels deep` };
  try {
    return { text: canonicalJson(args) };
  } catch {
    return { problem: 'they have no canonical JSON form (a number out of range or a broken character)' };
  }
}

/**
 * Captures the call before the PDP is asked: the call that is decided on is the call that runs. Throws a `MappingError`.
 *
 * @param text The arguments, from `argumentsText`.
 */
export function bindCall(
  deps: BindingDeps,
  call: Pick<ToolCall, 'caller' | 'claims' | 'arguments'>,
  { tool, text }: { readonly tool: UpstreamTool; readonly text: string },
): CallBinding {
  const digest = callDigest({ tool: tool.name, arguments: call.arguments }, sha256);
  const mappedBy = mappingDigest(tool.facts.mapping, sha256);
  const mapped = { tool, arguments: call.arguments, callDigest: digest };
  const [evaluation, ...others] = withFacts(evaluationRequests(deps, call, mapped), factsOf(deps, call.claims, tool));
  return {
    tool: tool.name,
    upstream: tool.upstream,
    upstreamTool: tool.upstreamName,
    arguments: text,
    callDigest: digest,
    toolDigest: tool.digest,
    ...(mappedBy !== undefined && { mappingDigest: mappedBy }),
    caller: call.caller,
    ...keptClaims(call.claims, [...SIGN_IN_CLAIMS, ...deps.requirements.claimNames]),
    evaluation,
    ...(others.length > 0 && { others }),
  };
}

/** Keeps only the claims that a later check reads. */
function keptClaims(claims: JsonObject, names: readonly string[]): { readonly claims?: JsonObject } {
  const kept = names.flatMap((name) => (Object.hasOwn(claims, name) ? [[name, claims[name] ?? null] as const] : []));
  return kept.length > 0 ? { claims: Object.fromEntries(kept) } : {};
}

function isNestedWithin(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return levels > 0 && Object.values(value).every((member: Json) => isNestedWithin(member, levels - 1));
}

/** The evaluation requests for the call: by the tool's own mapping if it has one, otherwise the default request. */
function evaluationRequests(
  deps: BindingDeps,
  sender: Sender,
  call: Omit<MappedCall, 'mapping'>,
): ReturnType<MappedArguments['evaluationRequests']> {
  const { tool } = call;
  const { mapping } = tool.facts;
  try {
    return mapping === undefined
      ? [evaluationRequestByDefault(deps, sender, call)]
      : deps.mappedArguments.evaluationRequests(sender, { ...call, mapping });
  } catch (error) {
    if (error instanceof MappingError) {
      deps.log.warn({ tool: tool.name, problem: error.message }, 'a call is refused because its mapping failed');
    }
    throw error;
  }
}

/** The facts about a call that rules are about. Undefined if the PDP gets no details of calls. */
function factsOf(
  { coaz, config }: Pick<BindingDeps, 'coaz' | 'config'>,
  claims: JsonObject,
  tool: UpstreamTool,
): JsonObject | undefined {
  if (!coaz.callDetails) return undefined;
  const effect = effectOf(config, tool);
  return {
    ...{ tool: tool.name, server: tool.upstream },
    // A grant is for the tool as it was described when the grant was given.
    tool_digest: tool.digest,
    ...(effect !== undefined && { effect }),
    roles: rolesIn(claims, config.identity.rolesClaim),
  };
}

/** The operator's word, or that of a description which an operator accepted. A description that was only seen first grants nothing (HINT-004). */
function effectOf({ tools, signature }: BindingDeps['config'], { name, facts }: UpstreamTool): Effect | undefined {
  const own = ownProperty(tools, name)?.effect;
  return own ?? (signature.pinning === 'accepted' ? statedEffect(facts) : undefined);
}

/** A mapping cannot set these facts: they are the gateway's word about the call that will run. */
function withFacts(
  [first, ...others]: ReturnType<MappedArguments['evaluationRequests']>,
  facts: JsonObject | undefined,
): ReturnType<MappedArguments['evaluationRequests']> {
  const stated = (request: EvaluationRequest): EvaluationRequest => {
    const { call: _call, ...context } = request.context;
    return { ...request, context: { ...context, ...(facts !== undefined && { call: facts }) } };
  };
  return [stated(first), ...others.map(stated)];
}

/** The request of the binding. Unless `coaz.callDetails` is off, it has the details that the embedded PDP decides by (PRJ-17). */
function evaluationRequestByDefault(
  { coaz: { identityClaim, callDetails } }: Pick<BindingDeps, 'coaz'>,
  sender: Sender,
  { tool, ...call }: Omit<MappedCall, 'mapping'>,
): EvaluationRequest {
  // The upstream's own annotations. Hints change them for clients only, never for a decision (HINT-004).
  const annotations = tool.definition['annotations'];
  return {
    subject: { type: SUBJECT_TYPE, id: identityOf(sender, identityClaim) },
    action: { name: 'tools/call' },
    resource: {
      type: 'tool',
      id: tool.name,
      ...(callDetails && annotations !== undefined && { properties: { annotations } }),
    },
    context: {
      ...withAgent(sender, {}),
      ...(callDetails && { arguments: call.arguments, call_digest: call.callDigest }),
    },
  };
}

/** The subject of a verified token, or the claim that replaces it by agreement with the issuer (COAZ-IM-05, COAZ-IM-06). */
export function identityOf({ caller, claims }: Sender, claim: string): string {
  if (claim === 'sub') return caller.subject;
  const identity = ownProperty(claims, claim);
  if (typeof identity === 'string' && identity !== '') return identity;
  throw new MappingError(`the token has no claim "${claim}", which says on whose behalf it is used`);
}

/** The agent is always the token's client. A mapping cannot change it (COAZ-SE-04). */
export function withAgent({ caller }: Sender, context: JsonObject): JsonObject {
  const { agent: _agent, ...others } = context;
  return caller.clientId === undefined ? others : { agent: caller.clientId, ...others };
}
