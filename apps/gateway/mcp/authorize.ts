import { ProtocolError, type AuthInfo } from '@modelcontextprotocol/server';
import type { EvaluationRequest, Resource } from '../../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import { MappingError } from '../../shared/coaz/json-of.ts';
import { SUBJECT_TYPE } from '../../shared/coaz/resolve.ts';
import type { Config } from '../../shared/config/config.ts';
import { identityOf, withAgent } from '../calls/bind.ts';
import type { Sender } from '../calls/tool-call.ts';
import { errorResponse, type Guarded } from '../wire/errors.ts';
import { LISTEN, SIGNATURE } from '../wire/identifiers.ts';
import { callerOf, claimsOf } from './authentication.ts';

/**
 * Asks about one message of any method but `tools/call`. Resolves when it is allowed, and throws when it is not: `ERR_READ_DENIED`
 * also for a method without a mapping, which is never an implicit decision (COAZ-FW-18, COAZ-DF-16).
 */
export type Authorize = (sender: Sender, method: string, params: JsonObject) => Promise<void>;

interface AuthorizeDeps {
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly config: Pick<Config, 'gateway' | 'urls'>;
}

export function createAuthorize({ pdp, config }: AuthorizeDeps): Authorize {
  return async (sender, method, params) => {
    const request = evaluationRequestOf(config, sender, { method, params });
    if (request === undefined) throw new CountersignError('ERR_READ_DENIED', 'no mapping says what it would be');
    const decision = await pdp.evaluate(request, undefined, sender.claims);
    if (decision.kind === 'deny' && decision.unmet?.stepUps) {
      throw new CountersignError('ERR_STEP_UP_NEEDED', 'policy demands a stronger sign-in for this request');
    }
    if (decision.kind !== 'allow') throw new CountersignError('ERR_READ_DENIED', 'policy does not allow this request');
  };
}

/**
 * The evaluation request for a message of any method but `tools/call`, by its default mapping; `undefined` for a method that has
 * none. Throws a `MappingError` when the message or the token lacks what the mapping needs.
 */
export function evaluationRequestOf(
  { gateway: { coaz }, urls }: AuthorizeDeps['config'],
  sender: Sender,
  { method, params }: { readonly method: string; readonly params: JsonObject },
): EvaluationRequest | undefined {
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

/** The one audience of the token that is this server: never a list of them (COAZ-DF-11 to 13). */
function audienceOf({ claims }: Sender, own: string): string {
  const { aud } = claims;
  if (aud === own || (Array.isArray(aud) && aud.includes(own))) return own;
  throw new MappingError('the audience of the token does not include this server');
}

/** Looks at messages before the protocol layer does, and answers in its place what is not allowed. */
export type MethodGate = (asked: unknown, auth: AuthInfo | undefined) => Promise<Response | undefined>;

/** Decided on where it is known what they are about: tools and what else upstreams have; tasks, after it is certain whose they are (PRJ-21). */
const DECIDED_ON_LATER: readonly string[] = [
  ...['tools/call', 'prompts/get', 'resources/read', 'completion/complete'],
  ...['tasks/get', 'tasks/update', 'tasks/cancel'],
];

/** Asks about every request whose method is not decided on later, known or unknown. @see COAZ, PEP Behavior (COAZ-PP-01) */
export function createMethodGate(deps: {
  readonly authorize: Authorize;
  readonly guarded: Guarded;
  /** Whether `initialize` is not asked about (PRJ-19). */
  readonly initializePasses: boolean;
}): MethodGate {
  const isLeft = (method: string) =>
    passesThrough(method) || DECIDED_ON_LATER.includes(method) || (deps.initializePasses && method === 'initialize');
  return async (asked, auth) => {
    const messages: readonly unknown[] = Array.isArray(asked) ? asked : [asked];
    for (const message of messages) {
      const { id, method, params } = objectOf((message ?? null) as Json);
      // Anything else is no request: the protocol layer says so, and does nothing with it.
      if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number') || isLeft(method)) continue;
      const sender = { caller: callerOf(auth), claims: claimsOf(auth) };
      const refused = await errorOf(() =>
        deps.guarded(method, () => deps.authorize(sender, method, objectOf(params)), 'request'),
      );
      if (refused !== undefined) return errorResponse(id, refused);
    }
    return undefined;
  };
}

async function errorOf(run: () => Promise<void>): Promise<ProtocolError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
}

/** What the evaluation request for a message of one method is about. The action is the method; subject and agent are the token's. */
interface DefaultMapping {
  /** `server`: always this server. */
  readonly resource: 'server' | ((params: JsonObject) => Resource);
  /** What the binding puts into the context beside the agent. */
  readonly context?: (params: JsonObject) => JsonObject;
  /** What we put there for policies that want more. */
  readonly details?: (params: JsonObject) => JsonObject;
}

const server: DefaultMapping = { resource: 'server' };
const resource: DefaultMapping = { resource: ({ uri }) => ({ type: 'resource', id: text(uri, 'uri') }) };
const task: DefaultMapping = { resource: ({ taskId }) => ({ type: 'task', id: text(taskId, 'taskId') }) };
const prompt = (name: Json | undefined, at: string): Resource => ({ type: 'prompt', id: text(name, at) });
const present = (name: string, value: Json | undefined): JsonObject => (value === undefined ? {} : { [name]: value });

/** The table of the binding. Expressions of other parties play no part in it. @see COAZ, MCP Default Mappings */
const OF_THE_BINDING: Readonly<Record<string, DefaultMapping>> = {
  initialize: {
    resource: 'server',
    context: ({ protocolVersion }) => present('protocol_version', protocolVersion),
  },
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
  // As it was meant: the expression that was published for it is no CEL.
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
};

/** Methods that came after the binding, as of MCP 2026-07-28, and our own: mapped as their likes are. */
const SINCE_THEN: Readonly<Record<string, DefaultMapping>> = {
  'tasks/update': task,
  'resources/templates/list': server,
  'server/discover': server,
  [LISTEN]: server,
  [SIGNATURE]: server,
};

const TABLE: Readonly<Record<string, DefaultMapping>> = { ...OF_THE_BINDING, ...SINCE_THEN };

/** Every method that a default mapping is about. */
export const MAPPED_METHODS: readonly string[] = Object.keys(TABLE);

/** The default mapping of a method; `undefined` for one that is in no table, and that is denied therefore (COAZ-DF-16). */
const defaultMapping = (method: string): DefaultMapping | undefined =>
  Object.hasOwn(TABLE, method) ? TABLE[method] : undefined;

/** Whether messages of the method need no decision (COAZ-DF-15). */
const passesThrough = (method: string): boolean => method === 'ping' || method.startsWith('notifications/');

function text(value: Json | undefined, member: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new MappingError(`params.${member} must be a string that is not empty`);
}
