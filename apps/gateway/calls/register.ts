import type { CallToolResult, Server, ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { Clock } from '../../shared/clock.ts';
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
  askedBy,
  FORMS,
  forwardedMeta,
  onItsWay,
  requestDeclares,
  type RequestContext,
  TASKS,
} from '../wire/request-context.ts';
import type { Enforce } from './enforce.ts';
import { type HoldSettings, onHoldFor } from './hold.ts';
import type { ToolCall } from './tool-call.ts';

export interface ToolCallDeps {
  readonly rendering: Rendering;
  readonly enforce: Enforce;
  readonly gatedCalls: Pick<GatedCalls, 'taskIdOf' | 'readTask' | 'recent' | 'ownerOf'>;
  readonly holding: HoldSettings;
  readonly clock: Clock;
}

/** The newest requests that one answer lists. A model reads the list. */
const MAX_LISTED = 20;

/** `tools/call`. */
export function registerToolCalls(server: Server, deps: ToolCallDeps, context: RequestContext): void {
  const { guarded, isModern } = context;
  const { enforce, rendering } = deps;
  server.setRequestHandler('tools/call', ({ params }, ctx) => {
    const { name: tool, arguments: args } = params;
    const of = commonOf(context, ctx, deps.clock);
    if (rendering.requestTools && tool === OWN_TOOLS.requestStatus) {
      return guarded('tools/call', () => requestStatus(deps, of.caller, args));
    }
    if (rendering.requestTools && tool === OWN_TOOLS.requestAccess) {
      return guarded('tools/call', () => requestAccess(deps, of, args), 'call');
    }
    const onHold = onHoldFor({ isModern, declaresTasks: requestDeclares(TASKS, ctx), tool }, deps.holding);
    const given = (args ?? {}) as JsonObject;
    const checkHeaders = isModern ? headerCheck(ctx.http?.req, given) : undefined;
    const call = { ...of, ...onItsWay(context, ctx), onHold, checkHeaders, tool, arguments: given };
    return guarded(
      'tools/call',
      async () =>
        renderAnswer(await enforce({ ...call, meta: forwardedMeta(params._meta) }), rendering) as CallToolResult,
      // A call that waits may run, so its failure must not say that the tool did not run.
      onHold === 'wait' ? 'request' : 'call',
    );
  });
}

/** Who calls, how the client can be asked, and the input that it brings. */
function commonOf(context: RequestContext, ctx: ServerContext, clock: Clock) {
  const { caller, claims, scopes } = context;
  const { signal } = ctx.mcpReq;
  const acceptsForm = requestDeclares(FORMS, ctx);
  return { ...askedBy(context, ctx), caller, claims, scopes, signal, acceptsForm, cameAt: clock.monotonicMs() };
}

/** `request_access`: handles the given call like a call of its own, up to the point where it would wait. An allowed call is not made. */
async function requestAccess(
  { enforce, rendering }: ToolCallDeps,
  of: Omit<ToolCall, 'tool' | 'arguments' | 'onHold'>,
  params: unknown,
): Promise<CallToolResult> {
  const wanted = readOwnArguments(accessRequestArguments, params);
  if ('problem' in wanted) return renderInvalidArguments(wanted.problem);
  const { tool, arguments: args } = wanted.read;
  try {
    const answer = await enforce({ ...of, tool, arguments: args, onHold: 'reference' });
    const rendered = renderAnswer(answer, rendering) as CallToolResult;
    if (answer.kind === 'held') return withRequest(rendered, answer);
    const isUnfit = answer.kind === 'refused' && answer.refusal.reason === 'unfit';
    return isUnfit && Object.keys(args).length === 0 ? withEmptyArguments(rendered) : rendered;
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'ERR_TOOL_NOT_FOUND') throw error;
    return renderInvalidArguments('no tool has this name');
  }
}

/**
 * `get_request_status`: the caller's own call, as `tasks/get` reads it. Another caller's reference and an unknown reference get the same
 * answer. Without a reference: the caller's newest requests.
 */
async function requestStatus(
  { gatedCalls, rendering }: ToolCallDeps,
  caller: Principal,
  params: unknown,
): Promise<CallToolResult> {
  const asked = readOwnArguments(statusArguments, params);
  if ('problem' in asked) return renderInvalidArguments(asked.problem);
  const { reference } = asked.read;
  const owner = gatedCalls.ownerOf(caller);
  if (reference === undefined) return renderRecent(await gatedCalls.recent(owner, MAX_LISTED));
  const view = await gatedCalls.readTask(gatedCalls.taskIdOf(reference), owner);
  return view === undefined ? renderUnknownRequest() : withRequest(renderRequest(view, rendering), { view });
}
