import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { SIGN_IN_CLAIMS } from '../../../workflows/domain/authzen/obligation.ts';
import { callDigest, type CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { ArgumentCheck, CallFault } from '../../shared/schemas/schema-check.ts';
import { sha256 } from '../../shared/sha256.ts';
import { mappingDigest } from '../../../workflows/domain/tools/tool-facts.ts';
import type { Questions } from './evaluation-requests.ts';
import type { ToolCall } from './tool-call.ts';

/** Deeper arguments are refused here, with a reason, before a service that follows them less far fails over them. */
const MAX_DEPTH = 64;

/** What a call is captured with. */
interface Binding {
  readonly checkArguments: ArgumentCheck;
  readonly claimNames: readonly string[];
  readonly questions: Pick<Questions, 'ofCall'>;
}

/** Captures the call before anything is asked about it: what is decided on is what will run. Throws a `MappingError`. */
export function bindCall(
  call: Pick<ToolCall, 'caller' | 'claims' | 'arguments'>,
  tool: UpstreamTool,
  { checkArguments, claimNames, questions }: Binding,
): CallBinding | CallFault {
  let text: string;
  if (!isNestedWithin(call.arguments, MAX_DEPTH))
    return { problem: `they are nested more than ${MAX_DEPTH} levels deep` };
  try {
    text = canonicalJson(call.arguments);
  } catch {
    return { problem: 'they have no canonical JSON form (a number out of range or a broken character)' };
  }
  const fault = checkArguments(tool, call.arguments);
  if (fault !== undefined) return fault;
  const digest = callDigest({ tool: tool.name, arguments: call.arguments }, sha256);
  const mappedBy = mappingDigest(tool.facts.mapping, sha256);
  const [evaluation, ...others] = questions.ofCall(call, tool, { arguments: call.arguments, callDigest: digest });
  return {
    tool: tool.name,
    upstream: tool.upstream,
    upstreamTool: tool.upstreamTool,
    arguments: text,
    callDigest: digest,
    toolDigest: tool.digest,
    ...(mappedBy !== undefined && { mappingDigest: mappedBy }),
    caller: call.caller,
    ...keptClaims(call.claims, [...SIGN_IN_CLAIMS, ...claimNames]),
    evaluation,
    ...(others.length > 0 && { others }),
  };
}

/** Of what the token says, no more is kept than will be looked at. */
function keptClaims(claims: JsonObject, names: readonly string[]): { readonly claims?: JsonObject } {
  const kept = names.flatMap((name) => (Object.hasOwn(claims, name) ? [[name, claims[name] ?? null] as const] : []));
  return kept.length > 0 ? { claims: Object.fromEntries(kept) } : {};
}

function isNestedWithin(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return levels > 0 && Object.values(value).every((member: Json) => isNestedWithin(member, levels - 1));
}
