import {
  createMcpHandler,
  type McpRequestContext,
  type Server,
  type ServerCapabilities,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { EnsureSubmitted, GatedCalls, PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { UpstreamItems, UpstreamRelay, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import { CALLBACK_PATH, type Config } from '../../shared/config/config.ts';
import type { LiveConfig } from '../../shared/config/live.ts';
import { createArgumentCheck } from '../../shared/schemas/schema-check.ts';
import { createAuthorize, createMethodGate } from './authorize.ts';
import { createMappedArguments } from '../extensions/mapped-arguments.ts';
import { createRelayedRounds } from '../extensions/relayed-rounds.ts';
import { createRequestInput, type RequestInputDeps } from '../extensions/request-forms.ts';
import { createEnforcement, type EnforcementDeps } from '../calls/enforce.ts';
import { createRequestLimits } from './request-limits.ts';
import { guard } from '../wire/errors.ts';
import { createSubscriptions } from '../tasks/subscriptions.ts';
import type { TaskChanges } from '../tasks/watch.ts';
import { createConcurrencyLimit } from '../calls/concurrency-limit.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { type ReadDocument, registerSignatureMethod } from '../extensions/signature.ts';
import type { AcceptedDescriptions } from '../offers/accepted-descriptions.ts';
import { completesTaskHeaders } from '../wire/headers.ts';
import { callerOf, claimsOf } from './authentication.ts';
import {
  createReadEnforcement,
  type ItemMethodDeps,
  registerCompletionMethods,
  registerPromptMethods,
  registerResourceMethods,
  registerToolList,
  type ToolListDeps,
} from '../offers/items.ts';
import { registerTaskMethods, type TaskMethodDeps } from '../tasks/methods.ts';
import { registerToolCalls, type ToolCallDeps } from '../calls/register.ts';
import { declaredExtensions } from '../wire/rendering.ts';
import { SERVER_INFO, SIGNATURE } from '../wire/identifiers.ts';
import { instructionsFor } from '../wire/own-tools.ts';
import { VerbatimServer } from '../wire/sdk-overlay.ts';
import type { RequestContext } from '../wire/request-context.ts';

export interface ProtocolPorts extends Pick<EnforcementDeps, 'requirements'>, RequestInputDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly gatedCalls: GatedCalls;
  readonly taskChanges: TaskChanges;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: Upstreams & UpstreamRelay & { readonly items: UpstreamItems };
  readonly accepted: AcceptedDescriptions;
  /** Changes of the configuration while the process runs. Default: it never changes. */
  readonly live?: LiveConfig | undefined;
  readonly log: Logger;
}

/** The MCP endpoint behind its authentication. */
export function createProtocol(
  config: Config,
  ports: ProtocolPorts & { readonly redaction: Redaction; readonly readDocument: ReadDocument },
) {
  const { gateway, urls } = config;
  const { clock, limits, log } = ports;
  const settings = {
    callbackUrl: `${urls.gateway}${CALLBACK_PATH}`,
    executionTimeoutMs: gateway.executionTimeoutSeconds * 1_000,
    waitMs: gateway.waitSeconds * 1_000,
  };
  const concurrency = createConcurrencyLimit({ perSubject: gateway.maxStreamsPerCaller, overall: gateway.maxStreams });
  const authorize = createAuthorize({ pdp: ports.pdp, config });
  const enforce = createEnforcement({
    ...ports,
    mappedArguments: createMappedArguments({ config, clock, limits, log }),
    relayedRounds: createRelayedRounds(ports),
    requestInput: createRequestInput(ports),
    concurrency,
    ...{ config, coaz: gateway.coaz, inForce: () => ports.live?.inForce() ?? config },
    checkArguments: createArgumentCheck(limits),
    submissions: createRateLimit({ count: gateway.maxSubmissionsPerMinute ?? gateway.maxOpenPerCaller, seconds: 60 }),
    settings,
  });
  const enforceRead = createReadEnforcement({ ...ports, authorize, settings });
  const { everyMethod, initialize, denials } = gateway.coaz;
  const ofTasks = everyMethod ? { authorize } : {};
  const served = { ...ports, ...ofTasks, enforce, enforceRead, rendering: gateway, settings, holding: gateway };
  const handler = createMcpHandler((context) => createServer(served, context), {
    maxRequestBodySize: gateway.maxBodyBytes,
    // Our own concurrency limit applies, for each caller too.
    maxSubscriptions: Infinity,
    onerror: (error) => log.debug({ err: error }, 'a request was refused by the protocol layer'),
  });
  const serveSubscription = createSubscriptions({ ...served, concurrency });
  const polls = createRateLimit({ count: gateway.maxPollsPerSecond, seconds: 1 });
  const calls = createRateLimit({ count: gateway.maxCallsPerSecond, seconds: 1 });
  const gate = createMethodGate({ authorize, guarded: guard(log, denials), initializePasses: initialize === 'pass' });
  return {
    endpoint: createRequestLimits({
      ...{ handler, serveSubscription, polls, calls, completeTaskHeader: completesTaskHeaders(log) },
      ...(everyMethod && { gate }),
    }),
    /** Notifies subscribed clients that a list has changed. */
    notify: handler.notify,
    endStreams: () => concurrency.close(),
    close: () => handler.close(),
  };
}

type McpServerDeps = ItemMethodDeps &
  ToolListDeps &
  ToolCallDeps &
  TaskMethodDeps & {
    readonly readDocument: ReadDocument;
    readonly upstreams: { readonly items: UpstreamItems };
    readonly log: Logger;
  };

/** Builds the MCP server that answers one request. Tasks exist in the present revision only. */
function createServer(deps: McpServerDeps, { era, authInfo }: McpRequestContext): Server {
  const isModern = era === 'modern';
  const context: RequestContext = {
    caller: callerOf(authInfo),
    claims: claimsOf(authInfo),
    scopes: authInfo?.scopes,
    isModern,
    guarded: guard(deps.log, deps.rendering.coaz.denials),
  };
  const server = new VerbatimServer(SERVER_INFO, {
    instructions: instructionsFor({ ...deps, isModern }),
    capabilities: {
      ...capabilities(deps.upstreams.items, isModern),
      ...SIGNATURE_CAPABILITY,
      ...(isModern && { extensions: declaredExtensions(deps.rendering) }),
    },
  });
  registerToolList(server, deps, context);
  registerToolCalls(server, deps, context);
  registerSignatureMethod(server, deps.readDocument, context);
  const { items } = deps.upstreams;
  if (items.mayHave('prompts')) registerPromptMethods(server, deps, context);
  if (items.mayHave('resources')) registerResourceMethods(server, deps, context);
  if (items.mayHave('completions')) registerCompletionMethods(server, deps, context);
  if (isModern) registerTaskMethods(server, deps, context);
  return server;
}

/** Every capability that an upstream may turn out to have. Only the present revision has a stream of change notifications. */
function capabilities(items: UpstreamItems, isModern: boolean): ServerCapabilities {
  const listed = isModern ? { listChanged: true } : {};
  return {
    tools: listed,
    ...(items.mayHave('prompts') && { prompts: listed }),
    ...(items.mayHave('resources') && { resources: listed }),
    ...(items.mayHave('completions') && { completions: {} }),
    // Makes the SDK accept `logging/setLevel`. There are no sessions, so the level is forgotten, and messages of `info` and above are sent.
    ...(!isModern && { logging: {} }),
  };
}

/** A capability that the SDK does not know. It has no settings. */
const SIGNATURE_CAPABILITY: object = { [SIGNATURE]: {} };
