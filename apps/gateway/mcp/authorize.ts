import { ProtocolError, type AuthInfo } from '@modelcontextprotocol/server';
import type { EvaluationRequest, Resource } from '../../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, objectOf, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import { READ_METHODS, TASK_METHODS } from '../../../workflows/domain/upstream-ports.ts';
import { mcpAudience } from '../../shared/auth/client-credentials.ts';
import { MappingError } from '../../shared/coaz/json-of.ts';
import { SUBJECT_TYPE } from '../../shared/coaz/resolve.ts';
import type { Config } from '../../shared/config/config.ts';
import { identityOf, withAgent } from '../calls/bind.ts';
import { errorResponse, type Guarded } from '../wire/errors.ts';
import { LISTEN, SIGNATURE } from '../wire/identifiers.ts';
import type { Sender } from '../wire/request-context.ts';
import { callerOf, claimsOf } from './authentication.ts';

/**
 * Asks the PDP about one message of any method except `tools/call`. Throws if it is not allowed: `ERR_READ_DENIED` also for a method
 * without a mapping, which is never allowed implicitly (COAZ-FW-18, COAZ-DF-16).
 */
export type Authorize = (sender: Sender, method: string, params: JsonObject) => Promise<void>;

interface AuthorizeDeps {
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly config: Pick<Config, 'gateway' | 'urls'>;
}

export function createAuthorize({ pdp, config }: AuthorizeDeps): Authorize {
  return async (sender, method, params) => {
    const request = evaluationRequestOf(config, sender, { method, params });
    if (request === undefined) throw new CountersignError('ERR_READ_DENIED', 'the method has no mapping');
    const decision = await pdp.evaluate(request, undefined, sender.claims);
    if (decision.kind === 'deny' && decision.unmet?.stepUps) {
      throw new CountersignError('ERR_STEP_UP_NEEDED', 'policy requires a stronger sign-in for this request');
    }
    if (decision.kind !== 'allow') throw new CountersignError('ERR_READ_DENIED', 'policy does not allow this request');
  };
}

/**
 * The evaluation request for a message, by the default mapping of its method; `undefined` for a method that has none. Throws a
 * `MappingError` if the message or the token lacks something that the mapping needs.
 */
export function evaluationRequestOf(
  config: AuthorizeDeps['config'],
  sender: Sender,
  { method, params }: { readonly method: string; readonly params: JsonObject },
): EvaluationRequest | undefined {
  const { coaz } = config.gateway;
  // A method that is not in the table is denied (COAZ-DF-16).
  const mapping = ownProperty(TABLE, method);
  if (mapping === undefined) return undefined;
  const { resource, context, details } = mapping;
  return {
    subject: { type: SUBJECT_TYPE, id: identityOf(sender, coaz.identityClaim) },
    action: { name: method },
    resource:
      resource === 'server'
        ? { type: 'mcp_server', id: coaz.serverId ?? audienceOf(sender, mcpAudience(config)) }
        : resource(params),
    context: { ...withAgent(sender, context?.(params) ?? {}), ...(coaz.callDetails && details?.(params)) },
  };
}

/** This server's audience in the token, never a list (COAZ-DF-11 to 13). */
function audienceOf({ claims }: Sender, own: string): string {
  const { aud } = claims;
  if (aud === own || (Array.isArray(aud) && aud.includes(own))) return own;
  throw new MappingError('the audience of the token does not include this server');
}

/** Checks messages before the protocol layer, and answers in its place if one is not allowed. */
export type MethodGate = (asked: unknown, auth: AuthInfo | undefined) => Promise<Response | undefined>;

/** Decided on later, when their tool or item is known, or the owner of their task (PRJ-21). */
const DECIDED_ON_LATER: readonly string[] = ['tools/call', ...READ_METHODS, ...TASK_METHODS];

/** Asks about every request that is not decided on later, even if its method is unknown. @see COAZ, PEP Behavior (COAZ-PP-01) */
export function createMethodGate(deps: {
  readonly authorize: Authorize;
  readonly guarded: Guarded;
  /** Whether `initialize` is not asked about (PRJ-19). */
  readonly initializePasses: boolean;
}): MethodGate {
  const passes = (method: string) =>
    needsNoDecision(method) || DECIDED_ON_LATER.includes(method) || (deps.initializePasses && method === 'initialize');
  return async (asked, auth) => {
    const messages: readonly unknown[] = Array.isArray(asked) ? asked : [asked];
    for (const message of messages) {
      const { id, method, params } = objectOf(message ?? null);
      // Anything else is not a request: the protocol layer refuses it.
      if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number') || passes(method)) continue;
      const sender = { caller: callerOf(auth), claims: claimsOf(auth) };
      try {
        await deps.guarded(method, () => deps.authorize(sender, method, objectOf(params)));
      } catch (error) {
        if (error instanceof ProtocolError) return errorResponse(id, error);
        throw error;
      }
    }
    return undefined;
  };
}

/** The parts of the evaluation request that depend on the method. The action is the method; subject and agent come from the token. */
interface DefaultMapping {
  /** `server`: always this server. */
  readonly resource: 'server' | ((params: JsonObject) => Resource);
  /** The context that the binding adds beside the agent. */
  readonly context?: (params: JsonObject) => JsonObject;
  /** The context that the gateway adds for policies that need more. */
  readonly details?: (params: JsonObject) => JsonObject;
}

const server: DefaultMapping = { resource: 'server' };
const resource: DefaultMapping = { resource: ({ uri }) => ({ type: 'resource', id: text(uri, 'uri') }) };
const task: DefaultMapping = { resource: ({ taskId }) => ({ type: 'task', id: text(taskId, 'taskId') }) };
const prompt = (name: Json | undefined, at: string): Resource => ({ type: 'prompt', id: text(name, at) });
const present = (name: string, value: Json | undefined): JsonObject => (value === undefined ? {} : { [name]: value });

/** The table of the binding. It has no expressions of other parties. @see COAZ, MCP Default Mappings */
const TABLE: Readonly<Record<string, DefaultMapping>> = {
  initialize: { resource: 'server', context: ({ protocolVersion }) => present('protocol_version', protocolVersion) },
  'tools/list': server,
  'resources/list': server,
  'prompts/list': server,
  'tasks/list': server,
  'tools/call': { resource: ({ name }) => ({ type: 'tool', id: text(name, 'name') }) },
  'resources/read': resource,
  'resources/subscribe': resource,
  'resources/unsubscribe': resource,
  'prompts/get': {
    resource: ({ name }) => prompt(name, 'name'),
    details: ({ arguments: args }) => present('arguments', args),
  },
  // By its intent: the published expression is not valid CEL.
  'completion/complete': {
    resource: ({ ref }) => {
      const { type, name, uri } = objectOf(ref);
      return type === 'ref/prompt' ? prompt(name, 'ref.name') : { type: 'resource', id: text(uri, 'ref.uri') };
    },
  },
  'logging/setLevel': { resource: 'server', context: ({ level }) => present('level', level) },
  'tasks/get': task,
  'tasks/result': task,
  'tasks/cancel': task,
  // Methods that are newer than the binding, as of MCP 2026-07-28, and our own. They are mapped like similar methods.
  'tasks/update': task,
  'resources/templates/list': server,
  'server/discover': server,
  [LISTEN]: server,
  [SIGNATURE]: server,
};

export const MAPPED_METHODS: readonly string[] = Object.keys(TABLE);

/** @see COAZ-DF-15 */
const needsNoDecision = (method: string): boolean => method === 'ping' || method.startsWith('notifications/');

function text(value: Json | undefined, member: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new MappingError(`params.${member} must be a string that is not empty`);
}
