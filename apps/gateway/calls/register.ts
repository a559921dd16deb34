import type { CallToolRequest, CallToolResult, Result, Server, ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import type { Config } from '../../shared/config/config.ts';
import { withCard } from '../card/card.ts';
import { earlierRevisionOf, inEarlierRevision } from '../wire/earlier-result.ts';
import { forwardedMeta } from '../wire/forwarded-meta.ts';
import { headerCheck } from '../wire/headers.ts';
import { OWN_TOOLS } from '../wire/identifiers.ts';
import { accessRequestArguments, readOwnArguments, statusArguments } from '../wire/own-tools.ts';
import { renderAnswer } from '../wire/render-answer.ts';
import {
  renderInvalidArguments,
  renderRecent,
  renderRequest,
  renderUnknownRequest,
  withEmptyArguments,
  withRequest,
} from '../wire/render-request.ts';
import type { Rendering } from '../wire/rendering.ts';
import {
  type Asked,
  askedBy,
  clientNameOf,
  type ContextOf,
  FORMS,
  onItsWay,
  PAGES,
  requestDeclares,
  type RequestContext,
  showsCards,
  TASKS,
} from '../wire/request-context.ts';
import { waitingProgress } from '../wire/waiting-progress.ts';
import type { Enforce } from './enforce.ts';
import { type HoldSettings, onHoldFor } from './hold.ts';
import { isHeldAnErrorFor, waitsFor } from './host-waits.ts';
import type { AskableOf } from '../sessions/askable.ts';
import type { Converse } from '../sessions/converse.ts';
import type { ToolCall, ToolCallAnswer } from './tool-call.ts';
import { waitForEnd, type WaitDeps } from './wait.ts';

export interface ToolCallDeps extends WaitDeps {
  readonly rendering: Rendering;
  readonly enforce: Enforce;
  readonly converse: Converse;
  readonly askableOf: AskableOf;
  readonly gatedCalls: Pick<GatedCalls, 'taskIdOf' | 'recent'> & WaitDeps['gatedCalls'];
  readonly holding: HoldSettings & Pick<Config['gateway'], 'waitSeconds' | 'heldIsError'>;
}

/**
 * An end that comes as the answer of the call does not count as told: its client may have given up, or may reject it. So an identical call
 * is answered with it once more, marked as the earlier one's, before the tool can run again.
 */
const ANSWER_OF_A_CALL = { isTold: () => false };

/** The newest requests that one answer lists. A model reads the list. */
const MAX_LISTED = 20;

/** `tools/call`. */
export function registerToolCalls(server: Server, deps: ToolCallDeps, contextOf: ContextOf): void {
  server.setRequestHandler('tools/call', async (request, ctx) => {
    const context = contextOf(ctx);
    const result = await answerCall(deps, context, request, ctx);
    return context.isModern ? result : inEarlierRevision(result, earlierRevisionOf(context, ctx));
  });
}

function answerCall(
  deps: ToolCallDeps,
  context: RequestContext,
  { params }: CallToolRequest,
  ctx: ServerContext,
): Promise<CallToolResult> {
  const { rendering } = deps;
  const { guarded, isModern } = context;
  const { name: tool, arguments: args } = params;
  const of = commonOf(context, ctx, deps);
  if (rendering.requestTools && tool === OWN_TOOLS.requestStatus) {
    return guarded('tools/call', () => requestStatus(deps, of, args));
  }
  if (rendering.requestTools && tool === OWN_TOOLS.requestAccess) {
    return guarded('tools/call', () => requestAccess(deps, { context, ctx, of }, args), 'call');
  }
  const wait = { ...of.wait, ...ANSWER_OF_A_CALL, showPage: showPage(deps, context, ctx) };
  const acceptsPage = isModern && requestDeclares(PAGES, context, ctx);
  const onHold = onHoldFor({ isModern, declaresTasks: requestDeclares(TASKS, context, ctx), tool }, deps.holding);
  const given = (args ?? {}) as JsonObject;
  const checkHeaders = isModern ? headerCheck(ctx.http?.req, given) : undefined;
  const meta = forwardedMeta(params._meta);
  const heldIsError = isHeldAnErrorFor(clientNameOf(context, ctx), deps.holding.heldIsError);
  const held = { onHold, acceptsPage, wait, heldIsError };
  const call = { ...of, ...onItsWay(context, ctx), ...held, checkHeaders, tool, arguments: given, meta };
  return guarded(
    'tools/call',
    async () => {
      const asking = { context, ctx, of: 'call' } as const;
      return (await deps.converse(asking, (asked) => oneRound(deps, call, asked))) as CallToolResult;
    },
    // A call that waits may run, so its failure must not say that the tool did not run.
    onHold === 'wait' ? 'request' : 'call',
  );
}

/** One round of a call: the call with the input that it has so far. Each round is decided anew. */
async function oneRound(
  { enforce, rendering, clock }: Pick<ToolCallDeps, 'enforce' | 'rendering' | 'clock'>,
  call: ToolCall & ForHost,
  asked: Asked,
) {
  const answer = await enforce({ ...call, ...asked, cameAt: clock.monotonicMs() });
  const isOurs = answer.kind === 'asks' && answer.round.kind !== 'relayed_round';
  const result = renderAnswer(answer, rendering);
  const isInWords = answer.kind === 'held' && answer.as !== 'task';
  return { result: isInWords ? call.forHost(result as CallToolResult, answer.view) : result, isOurs };
}

interface ForHost {
  /** Adds the card of a held call to the answer about it, for a host that shows cards. */
  readonly forHost: (answer: CallToolResult, view: GatedCallView) => CallToolResult;
}

/** How the client of a session is asked to open the page of its held call. `undefined` for a client that opens no addresses. */
function showPage({ gatedCalls }: Pick<ToolCallDeps, 'gatedCalls'>, context: RequestContext, ctx: ServerContext) {
  const { pages, caller } = context;
  if (pages === undefined || !requestDeclares(PAGES, context, ctx)) return undefined;
  return (view: GatedCallView) => pages.show(ctx, gatedCalls.ownerOf(caller), view);
}

/** Who calls, how the client can be asked, the input that it brings, and how it waits. */
function commonOf(context: RequestContext, ctx: ServerContext, { clock, holding, askableOf }: ToolCallDeps) {
  const { caller, claims, scopes, session } = context;
  const { signal: cancelled, id } = ctx.mcpReq;
  const signal = session === undefined ? cancelled : eitherOf(cancelled, session.goneOf(id));
  const acceptsForm = requestDeclares(FORMS, context, ctx);
  const { onProgress } = onItsWay(context, ctx);
  const waits = waitsFor(clientNameOf(context, ctx), holding.waitSeconds);
  const wait = {
    ...{ seconds: waits.call, nextSeconds: waits.status },
    onWaiting: waitingProgress(onProgress, () => clock.now()),
    isTold: session && (() => session.isListening(id)),
  };
  const who = { caller, claims, scopes, askable: askableOf({ context, ctx }) };
  const forHost: ForHost['forHost'] = (answer, view) =>
    showsCards(context, ctx) ? withCard(answer, view, clock.now()) : answer;
  const asked = { ...askedBy(context, ctx), acceptsForm, cameAt: clock.monotonicMs() };
  return { ...asked, ...who, signal, cancelled, wait, forHost };
}

/** Both live as long as the request, so that no listener is left behind. */
function eitherOf(...signals: readonly AbortSignal[]): AbortSignal {
  const either = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) either.abort();
    else signal.addEventListener('abort', () => either.abort(), { once: true });
  }
  return either.signal;
}

/** `request_access`: handles the given call like a call of its own, up to the point where it would wait. An allowed call is not made. */
async function requestAccess(
  deps: ToolCallDeps,
  {
    of,
    ...asking
  }: {
    readonly context: RequestContext;
    readonly ctx: ServerContext;
    readonly of: Omit<ToolCall, 'tool' | 'arguments' | 'onHold'> & ForHost;
  },
  params: unknown,
): Promise<CallToolResult> {
  const wanted = readOwnArguments(accessRequestArguments, params);
  if ('problem' in wanted) return renderInvalidArguments(wanted.problem);
  const { tool, arguments: args } = wanted.read;
  try {
    const call = { ...of, tool, arguments: args, onHold: 'reference' } as const;
    return (await deps.converse({ ...asking, of: 'call' }, async (asked) => {
      const answer = await deps.enforce({ ...call, ...asked, cameAt: deps.clock.monotonicMs() });
      const result = renderAccess(answer, args, deps.rendering);
      const isOurs = answer.kind === 'asks';
      return { result: answer.kind === 'held' ? of.forHost(result as CallToolResult, answer.view) : result, isOurs };
    })) as CallToolResult;
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'ERR_TOOL_NOT_FOUND') throw error;
    return renderInvalidArguments('no tool has this name');
  }
}

function renderAccess(answer: ToolCallAnswer, args: JsonObject, rendering: Rendering): Result {
  const rendered = renderAnswer(answer, rendering);
  if (answer.kind === 'held') return withRequest(rendered as CallToolResult, answer);
  const isUnfit = answer.kind === 'refused' && answer.refusal.reason === 'unfit';
  return isUnfit && Object.keys(args).length === 0 ? withEmptyArguments(rendered as CallToolResult) : rendered;
}

/**
 * `get_request_status`: the caller's own call, as `tasks/get` reads it, after a wait for its end. Another caller's reference and an unknown reference get the same
 * answer. Without a reference: the caller's newest requests.
 */
async function requestStatus(
  deps: ToolCallDeps,
  { caller, signal, wait, forHost }: Pick<ReturnType<typeof commonOf>, 'caller' | 'signal' | 'wait' | 'forHost'>,
  params: unknown,
): Promise<CallToolResult> {
  const { gatedCalls, rendering } = deps;
  const asked = readOwnArguments(statusArguments, params);
  if ('problem' in asked) return renderInvalidArguments(asked.problem);
  const { reference } = asked.read;
  const owner = gatedCalls.ownerOf(caller);
  if (reference === undefined) return renderRecent(await gatedCalls.recent(owner, MAX_LISTED));
  const found = await gatedCalls.readTask(gatedCalls.taskIdOf(reference), owner);
  if (found === undefined) return renderUnknownRequest();
  const waited = await waitForEnd(deps, found, { ...wait, seconds: wait.nextSeconds, caller, signal });
  return forHost(withRequest(renderRequest({ ...waited, isAsked: true }, rendering), waited), waited.view);
}
