import type { CallToolRequest, CallToolResult, Server, ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Enforce } from './enforce.ts';
import { rungOf, type LadderSettings } from './hold.ts';
import { requestAccess, requestStatus } from './own-tools.ts';
import { listTools, type ToolListDeps } from '../offers/tools.ts';
import { OWN_TOOLS } from '../wire/identifiers.ts';
import { headerCheck } from '../wire/headers.ts';
import { renderAnswer } from '../wire/render-answer.ts';
import { FORMS, undeclared, forwardedMeta, type Session } from '../wire/request-context.ts';
import { askedBy, requestDeclaresTasks } from '../wire/sdk-overlay.ts';
import { onItsWay } from '../wire/on-its-way.ts';
import type { ToolCall } from './tool-call.ts';
import type { Asked } from '../extensions/relayed-rounds/conversation.ts';

export interface ToolMethodDeps extends ToolListDeps {
  readonly enforce: Enforce;
  readonly gatedCalls: Pick<GatedCalls, 'taskIdOf' | 'readTask' | 'recent' | 'ownerOf'>;
  readonly ladder: LadderSettings;
  readonly clock: Clock;
}

/** What a call has, whichever tool it is of. */
type CommonPart = Asked & Pick<ToolCall, 'caller' | 'claims' | 'signal' | 'acceptsForm' | 'cameAt'>;

/** `tools/list` and `tools/call`. */
export function registerToolMethods(server: Server, deps: ToolMethodDeps, session: Session): void {
  const { guarded } = session;
  server.setRequestHandler('tools/list', () =>
    guarded('tools/list', async () => ({ tools: (await listTools(deps)) as never })),
  );
  server.setRequestHandler('tools/call', ({ params }, ctx) => {
    const { name, arguments: args } = params;
    const of = commonOf(session, ctx, deps.clock);
    if (deps.rendering.requestTools && name === OWN_TOOLS.requestStatus) {
      return guarded('tools/call', () => requestStatus(deps, of.caller, args));
    }
    if (deps.rendering.requestTools && name === OWN_TOOLS.requestAccess) {
      return guarded('tools/call', () => requestAccess(deps, of, args), 'call');
    }
    const client = { isModern: session.isModern, declaresTasks: requestDeclaresTasks(ctx) };
    const rung = rungOf({ ...client, tool: name }, deps.ladder);
    // Of a call that is waited for, a failure must not say that its tool did not run.
    const failureOf = rung === 'wait' ? 'request' : 'call';
    const checkHeaders = session.isModern ? headerCheck(ctx.http?.req, (args ?? {}) as JsonObject) : undefined;
    return guarded(
      'tools/call',
      () => callTool(deps, { ...of, ...onItsWay(session, ctx), rung, checkHeaders }, params),
      failureOf,
    );
  });
}

/** A call of an upstream's tool. */
async function callTool(
  { enforce, rendering }: ToolMethodDeps,
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
function commonOf(session: Session, ctx: ServerContext, clock: Clock): CommonPart {
  const { caller, claims } = session;
  const asked = askedBy(session, ctx);
  const acceptsForm = asked.capabilities !== undefined && undeclared(FORMS, asked.capabilities) === undefined;
  return { ...asked, caller, claims, signal: ctx.mcpReq.signal, acceptsForm, cameAt: clock.monotonicMs() };
}
