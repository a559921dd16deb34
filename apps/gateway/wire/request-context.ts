import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type RequestId,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { Conversation, InputRequest, LogMessage, Progress } from '../../../workflows/domain/upstream-ports.ts';
import type { Guarded } from './errors.ts';
import type { OpenedPage, OpenedRound } from '../extensions/sealed-state.ts';
import { APP_MIME_TYPE, APPS_EXTENSION, INPUT_METHODS, TASKS_EXTENSION } from './identifiers.ts';

/** Who sends a message, and the claims of the verified token. */
export interface Sender {
  readonly caller: Principal;
  readonly claims: JsonObject;
}

/** The facts about a request that are known before its message is read. */
export interface RequestContext extends Sender {
  /** Whether the request speaks the present revision, the only one with tasks. */
  readonly isModern: boolean;
  /** How the client called itself when its session began. */
  readonly clientName?: string | undefined;
  /** The session of a client of an earlier revision, if it has one. */
  readonly session?: SessionView | undefined;
  /** The pages of held calls that the client of the session was asked to open. */
  readonly pages?: PagesOfSession | undefined;
  readonly guarded: Guarded;
  /** Scopes of the verified token. */
  readonly scopes?: readonly string[] | undefined;
}

/** The facts about a request that a handler is registered for once, and serves many times. */
export type ContextOf = (ctx: ServerContext) => RequestContext;

/** Called when the wait of a request is over, with the held call as it is then. */
export type LeavePage = (last: GatedCallView) => Promise<void>;

export interface PagesOfSession {
  /**
   * Asks the client, on the stream of this request, to open the page of a held call. `undefined` where the call has no page, or the client
   * was asked before.
   *
   * @param owner The owner of the call.
   */
  show(ctx: ServerContext, owner: string, held: GatedCallView): LeavePage | undefined;
}

/** What handlers know of a session. It never says who the caller is: the token of each request does. */
export interface SessionView {
  /** No other session of this process has it. */
  readonly key: string;
  /** The agreed revision. */
  readonly revision: string;
  /** How the client called itself. It is not proved, so no right may depend on it. */
  readonly client: { readonly name: string; readonly version: string };
  /** The relayed capabilities that the client declared, as far as its revision has them. */
  readonly capabilities: JsonObject;
  /** The host shows pages of servers beside answers (MCP Apps). */
  readonly showsCards?: true | undefined;
  /** The client says when its roots have changed. */
  readonly changesRoots?: true | undefined;
  /** The lowest severity of log messages that the client wants. */
  readonly logLevel: string;
  /** Fires when a request has had no listener for ten seconds. The client may still come back for its answer. */
  goneOf(request: RequestId): AbortSignal;
  /** Whether the stream of a request has a connection now. */
  isListening(request: RequestId): boolean;
  /** Counts a question that the client has not answered yet. Answers how to end that; `undefined` above the limit. */
  enterQuestion(): (() => void) | undefined;
  /** Fires when the gateway stops or the session ends: no question is answered any more. */
  readonly closing: AbortSignal;
  /** Sends a notification that belongs to no request to a client that listens. */
  announce(method: string, params: Readonly<Record<string, unknown>>): void;
  /** Calls back when the client says that its roots have changed. Answers how to stop that. */
  onRootsChanged(listener: () => void): () => void;
}

/** How the client of a request can be asked, and the input that it brings. */
export interface Asked {
  /** As the gateway issued it. Untrusted until it is opened. */
  readonly requestState?: string;
  /** By the key of the input request. */
  readonly inputResponses: ReadonlyMap<string, unknown>;
  /** The relayed capabilities that the client declares. `undefined` for a client of an earlier revision without a session. */
  readonly capabilities: JsonObject | undefined;
}

/** Only the presence counts; settings of capabilities have no meaning here. */
const declared = z
  .looseObject({})
  .transform(() => ({}))
  .optional();

/**
 * Capabilities that upstreams' requests and tasks need. The gateway relays these; all others are between client and gateway. A malformed one
 * is not declared.
 */
const relayed = z.object({
  elicitation: z.object({ form: declared, url: declared }).optional().catch(undefined),
  sampling: z.object({ tools: declared, context: declared }).optional().catch(undefined),
  roots: declared.catch(undefined),
  extensions: z
    .object({ [TASKS_EXTENSION]: declared })
    .optional()
    .catch(undefined),
});

/** The relayed ones among the capabilities that a request declares or an upstream demands. */
export function relayedCapabilities(of: unknown): JsonObject {
  return (relayed.safeParse(of).data ?? {}) as JsonObject;
}

export const FORMS: JsonObject = { elicitation: { form: {} } };
/** The client opens addresses for the person who uses it. */
export const PAGES: JsonObject = { elicitation: { url: {} } };
export const TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

/** The part of these capabilities that is not declared; `undefined` if all are. */
export function undeclared(needed: JsonObject, has: JsonObject): JsonObject | undefined {
  const missing = Object.entries(needed).flatMap(([name, of]) => {
    const there = has[name] as JsonObject | undefined;
    if (there === undefined) return [[name, of] as const];
    // Without a mode, `elicitation` means forms. @see elicitation, capabilities
    const meant = name === 'elicitation' && Object.keys(there).length === 0 ? { form: {} } : there;
    const inner = undeclared(of as JsonObject, meant);
    return inner === undefined ? [] : [[name, inner] as const];
  });
  return missing.length > 0 ? Object.fromEntries(missing) : undefined;
}

/** The undeclared capabilities of the first request that has some. A client is never asked in a way that it does not know (MRTR-005). */
export function undeclaredIn(requests: Readonly<Record<string, InputRequest>> = {}, has: JsonObject) {
  for (const request of Object.values(requests)) {
    const missing = undeclared(neededFor(request), has);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function neededFor({ method, params }: InputRequest): JsonObject {
  const { mode, tools, toolChoice } = (params ?? {}) as JsonObject;
  if (method === INPUT_METHODS.elicitation) return mode === 'url' ? PAGES : FORMS;
  if (method === INPUT_METHODS.roots) return { roots: {} };
  return { sampling: tools === undefined && toolChoice === undefined ? {} : { tools: {} } };
}

/**
 * Whether the client of this request declares these capabilities: in the request itself, or in an earlier revision when its session began.
 * Without a session, a client of an earlier revision declares none.
 */
export const requestDeclares = (
  needed: JsonObject,
  { session }: Pick<RequestContext, 'session'>,
  ctx: ServerContext,
): boolean => undeclared(needed, session?.capabilities ?? capabilitiesOf(ctx)) === undefined;

function capabilitiesOf(ctx: ServerContext): JsonObject {
  const envelope: Readonly<Record<string, unknown>> = { ...ctx.mcpReq.envelope };
  return relayedCapabilities(envelope[CLIENT_CAPABILITIES_META_KEY]);
}

const apps = z.object({ extensions: z.object({ [APPS_EXTENSION]: z.object({ mimeTypes: z.array(z.unknown()) }) }) });

/** Whether these capabilities say that the host shows pages of servers. @see SEP-1865, capability negotiation */
export const declaresCards = (capabilities: unknown): boolean =>
  apps.safeParse(capabilities).data?.extensions[APPS_EXTENSION].mimeTypes.includes(APP_MIME_TYPE) === true;

/** The same of the client of this request, or of its session. */
export function showsCards({ session }: Pick<RequestContext, 'session'>, ctx: ServerContext): boolean {
  if (session !== undefined) return session.showsCards === true;
  const envelope: Readonly<Record<string, unknown>> = { ...ctx.mcpReq.envelope };
  return declaresCards(envelope[CLIENT_CAPABILITIES_META_KEY]);
}

const named = z.looseObject({ name: z.string() });
/** The name of the first product, such as `claude-code` in `claude-code/2.1.204 (cli)`. @see RFC 9110, section 10.1.5 */
const PRODUCT = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+/;

/**
 * How the client of a request calls itself: in the message, else when its session began, else in the header `User-Agent`. A hint about how
 * long its host waits. No right may depend on it, because anyone can send any name.
 */
export function clientNameOf(
  { clientName }: Pick<RequestContext, 'clientName'>,
  ctx: ServerContext,
): string | undefined {
  const envelope: Readonly<Record<string, unknown>> = { ...ctx.mcpReq.envelope };
  const info = named.safeParse(envelope[CLIENT_INFO_META_KEY]).data;
  return info?.name ?? clientName ?? PRODUCT.exec(ctx.http?.req?.headers.get('user-agent') ?? '')?.[0];
}

/**
 * What the client of a request can be asked, and the input that it brings. Requests of earlier revisions bring none: a client with a
 * session is asked while it waits. An entry that the SDK found malformed is `null`.
 */
export function askedBy(
  { isModern, session }: Pick<RequestContext, 'isModern' | 'session'>,
  ctx: ServerContext,
): Asked {
  if (!isModern) return { capabilities: session?.capabilities, inputResponses: new Map() };
  const { inputResponses = {}, droppedInputResponseKeys = [] } = ctx.mcpReq;
  const responses = [...Object.entries(inputResponses), ...droppedInputResponseKeys.map((key) => [key, null] as const)];
  const requestState: unknown = ctx.mcpReq.requestState();
  return {
    capabilities: capabilitiesOf(ctx),
    inputResponses: new Map<string, unknown>(responses),
    ...(typeof requestState === 'string' && { requestState }),
  };
}

/** The severities of syslog, from the lowest. @see RFC 5424, table 2 */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
/** Messages below it are for the authors of a tool. */
export const DEFAULT_LOG_LEVEL = 'info';

/** A severity that the list lacks counts as high enough: its message may matter. */
function isAtLeast(level: string, least: string): boolean {
  const rank = (of: string) => (LOG_LEVELS as readonly string[]).indexOf(of);
  return rank(level) === -1 || rank(level) >= rank(least);
}

/**
 * Sends progress and log messages to the client before the answer, on the stream of the answer. Logging is deprecated in the present
 * revision, so its clients get no log messages. A message that cannot be sent is lost: the client has gone, or has its answer.
 */
export function onItsWay(
  { isModern, session }: Pick<RequestContext, 'isModern' | 'session'>,
  { mcpReq }: ServerContext,
) {
  const send = (notification: Parameters<typeof mcpReq.notify>[0]) =>
    void mcpReq.notify(notification).catch(() => undefined);
  const progressToken = mcpReq._meta?.progressToken;
  const onProgress =
    progressToken === undefined
      ? undefined
      : (progress: Progress) => send({ method: 'notifications/progress', params: { ...progress, progressToken } });
  const logLevel = session?.logLevel ?? DEFAULT_LOG_LEVEL;
  const onLog = (message: LogMessage) => {
    if (isAtLeast(message.level, logLevel)) send({ method: 'notifications/message', params: { ...message } });
  };
  return { onProgress, onLog: isModern ? undefined : onLog, logLevel };
}

/**
 * The part of the exchange that the upstream gets. Answers go to the side that asked: answers to the gateway's own question stay here.
 * Answers without a state go to the upstream, because an upstream need not issue one.
 */
export function conversationOf(
  { capabilities = {}, inputResponses }: Asked,
  round?: OpenedRound | OpenedPage,
): Conversation {
  const isOurs = round !== undefined && round.kind !== 'relayed_round';
  const answers = isOurs ? [] : [...inputResponses].filter(([, response]) => response !== null);
  const state = round?.kind === 'relayed_round' ? round.state : undefined;
  return {
    capabilities,
    ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) as Record<string, Json> }),
    ...(state !== undefined && { requestState: state }),
  };
}
