import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  type Server,
  type ServerCapabilities,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { EnsureSubmitted, GatedCalls, PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { UpstreamItems, UpstreamRelay, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import { CALLBACK_PATH, type Config } from '../../shared/config/config.ts';
import type { LiveConfig } from '../../shared/config/live.ts';
import { createArgumentChecks } from '../../shared/schemas/schema-check.ts';
import { createAuthorize, createMethodGate, type Authorize } from './authorize.ts';
import { createMappedArguments } from '../extensions/mapped-arguments.ts';
import { createRelayedRounds } from '../extensions/relayed-rounds.ts';
import { createCard } from '../card/card.ts';
import { createPageRounds } from '../extensions/page-rounds.ts';
import { createPreviews, type Previews } from '../extensions/previews.ts';
import { createRequestInput, type RequestInputDeps } from '../extensions/request-forms.ts';
import { createEnforcement, type EnforcementDeps } from '../calls/enforce.ts';
import { createAdmission } from '../calls/admission.ts';
import { createRequestLimits } from './request-limits.ts';
import { guard } from '../wire/errors.ts';
import { createSubscriptions } from '../tasks/subscriptions.ts';
import type { TaskChanges } from '../tasks/watch.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from '../calls/concurrency-limit.ts';
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
import type { ContextOf, RequestContext } from '../wire/request-context.ts';
import { createAskableOf } from '../sessions/askable.ts';
import { createConverse } from '../sessions/converse.ts';
import {
  registerSubscriptions,
  ResourceSubscribers,
  type SubscriptionMethodDeps,
} from '../sessions/resource-subscriptions.ts';
import { Sessions } from '../sessions/sessions.ts';
import { EndWatch, ShownPages } from '../sessions/shown-pages.ts';
import type { SessionState } from '../sessions/session.ts';
import type { SealedStates } from '../extensions/sealed-state.ts';

export interface ProtocolPorts extends Pick<EnforcementDeps, 'requirements'>, RequestInputDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly gatedCalls: GatedCalls;
  readonly taskChanges: TaskChanges;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: Upstreams & UpstreamRelay & { readonly items: UpstreamItems };
  readonly accepted: AcceptedDescriptions;
  /** Changes of the configuration while the process runs. Default: it never changes. */
  readonly live?: LiveConfig | undefined;
  /** Seals the ids of sessions, each for its caller alone. */
  readonly sessionSeals: SealedStates;
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
  };
  const concurrency = createConcurrencyLimit({ perSubject: gateway.maxStreamsPerCaller, overall: gateway.maxStreams });
  const authorize = createAuthorize({ pdp: ports.pdp, config });
  const { everyMethod, initialize, denials } = gateway.coaz;
  const asking = { clock, answerMs: gateway.sessions.answerSeconds * 1_000 };
  const served = {
    ...ports,
    ...(everyMethod && { authorize }),
    ...createEnforcements(config, ports, { settings, concurrency, authorize }),
    subscribers: new ResourceSubscribers(ports.upstreams.items),
    ends: new EndWatch(ports),
    readCard: createCard(),
    authorizeRead: authorize,
    converse: createConverse(asking),
    askableOf: createAskableOf(asking),
    ...{ concurrency, rendering: { ...gateway, gatewayUrl: urls.gateway }, settings, holding: gateway },
  };
  const handler = createMcpHandler((context) => createServer(served, context), {
    maxRequestBodySize: gateway.maxBodyBytes,
    // Our own concurrency limit applies, for each caller too.
    maxSubscriptions: Infinity,
    onerror: (error) => log.debug({ err: error }, 'a request was refused by the protocol layer'),
  });
  const serveSubscription = createSubscriptions(served);
  const sessions = new Sessions({
    ...{ config, clock, log, seals: ports.sessionSeals },
    createServer: (state) => createSessionServer(served, state),
  });
  const gate = createMethodGate({ authorize, guarded: guard(log, denials), initializePasses: initialize === 'pass' });
  return {
    endpoint: createRequestLimits({
      ...{ ...limitsOfCallers(gateway), admission: createAdmission(ports), clock, limits },
      ...{ handler, sessions, serveSubscription, completeTaskHeader: completesTaskHeaders(log) },
      ...(everyMethod && { gate }),
    }),
    ...lifeOf({ ...served, handler, sessions }),
  };
}

const limitsOfCallers = ({ maxPollsPerSecond, maxCallsPerSecond }: Config['gateway']) => ({
  polls: createRateLimit({ count: maxPollsPerSecond, seconds: 1 }),
  calls: createRateLimit({ count: maxCallsPerSecond, seconds: 1 }),
});

/** How the endpoint hears of changes, and how it ends; and the previews that it takes. */
const lifeOf = ({
  handler,
  sessions,
  concurrency,
  previews,
  subscribers,
}: {
  readonly handler: McpHttpHandler;
  readonly sessions: Sessions;
  readonly concurrency: ConcurrencyLimit;
  readonly previews: Previews;
  readonly subscribers: ResourceSubscribers;
}) => ({
  previews,
  /** Notifies the clients that listen that a list has changed. */
  notify(what: 'tools' | 'prompts' | 'resources'): void {
    handler.notify[`${what}Changed`]();
    sessions.notify(what);
  },
  endStreams(): void {
    concurrency.close();
    sessions.endStreams();
  },
  async close(): Promise<void> {
    await sessions.close();
    subscribers.stop();
    await handler.close();
  },
});

/** The enforcement points for calls and for reads, and the previews of calls. */
function createEnforcements(
  config: Config,
  ports: Parameters<typeof createProtocol>[1],
  shared: Pick<EnforcementDeps, 'settings' | 'concurrency'> & { readonly authorize: Authorize },
) {
  const { gateway } = config;
  const { clock, limits, log } = ports;
  const argumentChecks = createArgumentChecks(limits);
  const openings = { count: gateway.maxSubmissionsPerMinute ?? gateway.maxOpenPerCaller, seconds: 60 };
  const previews = createPreviews({ ...ports, config, argumentChecks, rate: createRateLimit(openings) });
  const enforce = createEnforcement({
    ...ports,
    ...shared,
    mappedArguments: createMappedArguments({ config, clock, limits, log }),
    relayedRounds: createRelayedRounds(ports),
    requestInput: createRequestInput(ports),
    pageRounds: createPageRounds(ports),
    ...{ config, coaz: gateway.coaz, inForce: () => ports.live?.inForce() ?? config },
    ...{ previews, argumentChecks },
    submissions: createRateLimit(openings),
  });
  return { enforce, enforceRead: createReadEnforcement({ ...ports, ...shared }), previews };
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
  const { items } = deps.upstreams;
  const server = newServer(deps, items, { isModern, isSession: false });
  registerAll(server, deps, items, () => context);
  if (isModern) registerTaskMethods(server, deps, context);
  return server;
}

/** Builds the MCP server of one session. Who calls is in the token of each request. */
function createSessionServer(
  deps: McpServerDeps & SubscriptionMethodDeps & { readonly ends: EndWatch },
  state: SessionState,
): Server {
  const { view: session, setLogLevel, rootsChanged } = state;
  const server = newServer(deps, EVERYTHING, { isModern: false, isSession: true });
  const guarded = guard(deps.log, deps.rendering.coaz.denials);
  const pages = new ShownPages(state, deps.ends);
  const contextOf: ContextOf = ({ http }) => ({
    caller: callerOf(http?.authInfo),
    claims: claimsOf(http?.authInfo),
    scopes: http?.authInfo?.scopes,
    ...{ isModern: false, guarded, session, pages, clientName: session.client.name },
  });
  registerAll(server, deps, EVERYTHING, contextOf);
  registerSubscriptions(server, deps, contextOf, state);
  server.setRequestHandler('logging/setLevel', ({ params }) => {
    setLogLevel(params.level);
    return {};
  });
  server.setNotificationHandler('notifications/roots/list_changed', () => rootsChanged());
  server.onerror = (error) => deps.log.debug({ err: error }, 'a message was refused by the protocol layer');
  return server;
}

/** What clients may be told of: what the upstreams may turn out to have. */
type Offers = Pick<UpstreamItems, 'mayHave'>;

/** A session outlives changes of the configuration, which may bring upstreams with anything. */
const EVERYTHING: Offers = { mayHave: () => true };

interface Kind {
  readonly isModern: boolean;
  readonly isSession: boolean;
}

const newServer = (deps: McpServerDeps, offers: Offers, has: Kind) =>
  new VerbatimServer(SERVER_INFO, {
    instructions: instructionsFor({ ...deps, isModern: has.isModern }),
    // The SDK would ask with its own words and clock.
    inputRequired: { legacyShim: false },
    capabilities: {
      ...capabilities(offers, has),
      ...SIGNATURE_CAPABILITY,
      ...(has.isModern && { extensions: declaredExtensions(deps.rendering) }),
    },
  });

/** The methods of every revision. */
function registerAll(server: Server, deps: McpServerDeps, offers: Offers, contextOf: ContextOf): void {
  registerToolList(server, deps, contextOf);
  registerToolCalls(server, deps, contextOf);
  registerSignatureMethod(server, deps.readDocument, contextOf);
  if (offers.mayHave('prompts')) registerPromptMethods(server, deps, contextOf);
  registerResourceMethods(server, deps, contextOf);
  if (offers.mayHave('completions')) registerCompletionMethods(server, deps, contextOf);
}

function capabilities({ mayHave }: Offers, { isModern, isSession }: Kind): ServerCapabilities {
  // Without a session, a client of an earlier revision has no stream of change notifications.
  const listed = isModern || isSession ? { listChanged: true } : {};
  // Clients of the present revision name resources in the filter of their stream, which is not offered.
  const resources = { ...listed, ...(isSession && { subscribe: true }) };
  return {
    tools: listed,
    ...(mayHave('prompts') && { prompts: listed }),
    // The card of a held call is always there.
    resources,
    ...(mayHave('completions') && { completions: {} }),
    // Makes the SDK accept `logging/setLevel`. Without a session the level is forgotten, and messages of `info` and above are sent.
    ...(!isModern && { logging: {} }),
  };
}

/** A capability that the SDK does not know. It has no settings. */
const SIGNATURE_CAPABILITY: object = { [SIGNATURE]: {} };
