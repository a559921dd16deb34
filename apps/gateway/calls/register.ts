import type { CallToolRequest, CallToolResult, Server, ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Enforce } from './enforce.ts';
import { onHoldFor, type HoldSettings } from './hold.ts';
import { requestAccess, requestStatus } from './own-tools.ts';
import { OWN_TOOLS } from '../wire/identifiers.ts';
import { headerCheck } from '../wire/headers.ts';
import { renderAnswer } from '../wire/render-answer.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { ToolCall } from './tool-call.ts';
import {
  FORMS,
  undeclared,
  forwardedMeta,
  askedBy,
  requestDeclaresTasks,
  onItsWay,
  type RequestContext,
  type Asked,
} from '../wire/request-context.ts';

export interface ToolCallDeps {
  readonly rendering: Rendering;
  readonly enforce: Enforce;
  readonly gatedCalls: Pick<GatedCalls, 'taskIdOf' | 'readTask' | 'recent' | 'ownerOf'>;
  readonly holding: HoldSettings;
  readonly clock: Clock;
}

/** What a call has, whichever tool it is of. */
type CommonPart = Asked & Pick<ToolCall, 'caller' | 'claims' | 'signal' | 'acceptsForm' | 'cameAt'>;

/** `tools/call`. */
export function registerToolCalls(server: Server, deps: ToolCallDeps, context: RequestContext): void {
  const { guarded } = context;
  server.setRequestHandler('tools/call', ({ params }, ctx) => {
    const { name, arguments: args } = params;
    const of = commonOf(context, ctx, deps.clock);
    if (deps.rendering.requestTools && name === OWN_TOOLS.requestStatus) {
      return guarded('tools/call', () => requestStatus(deps, of.caller, args));
    }
    if (deps.rendering.requestTools && name === OWN_TOOLS.requestAccess) {
      return guarded('tools/call', () => requestAccess(deps, of, args), 'call');
    }
    const client = { isModern: context.isModern, declaresTasks: requestDeclaresTasks(ctx) };
    const onHold = onHoldFor({ ...client, tool: name }, deps.holding);
    // Of a call that is waited for, a failure must not say that its tool did not run.
    const failureOf = onHold === 'wait' ? 'request' : 'call';
    const checkHeaders = context.isModern ? headerCheck(ctx.http?.req, (args ?? {}) as JsonObject) : undefined;
    return guarded(
      'tools/call',
      () => callTool(deps, { ...of, ...onItsWay(context, ctx), onHold, checkHeaders }, params),
      failureOf,
    );
  });
}

/** A call of an upstream's tool. */
async function callTool(
  { enforce, rendering }: ToolCallDeps,
  of: Omit<ToolCall, 'tool' | 'arguments' | 'meta'>,
  params: CallToolRequest['params'],
): Promise<CallToolResult> {
  const answer = await enforce({
    ...of,
    tool: params.name,
    arguments: (params.arguments ?? {}) as JsonObject,
    meta: forwardedMeta(params._meta),
  });
  return renderAnswer(answer, rendering) as CallToolResult;
}

/** Who calls, what the request can be answered with, and what it brings in answer. */
function commonOf(context: RequestContext, ctx: ServerContext, clock: Clock): CommonPart {
  const { caller, claims } = context;
  const asked = askedBy(context, ctx);
  const acceptsForm = asked.capabilities !== undefined && undeclared(FORMS, asked.capabilities) === undefined;
  return { ...asked, caller, claims, signal: ctx.mcpReq.signal, acceptsForm, cameAt: clock.monotonicMs() };
}
