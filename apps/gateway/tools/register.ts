import type { CallToolResult, Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Enforce } from '../enforce.ts';
import { listTools, type ToolListDeps } from './list-tools.ts';
import { renderAnswer } from '../wire/render-answer.ts';
import type { Rendering } from '../wire/rendering.ts';
import { broughtInput, requestDeclaresForms, requestDeclaresTasks } from '../wire/sdk-overlay.ts';
import { progressTo } from '../wire/progress.ts';
import { forwardedMeta } from '../wire/trace-context.ts';
import type { Session } from '../session.ts';
import type { BroughtInput } from './tool-call.ts';

export interface ToolMethodDeps extends ToolListDeps {
  readonly enforce: Enforce;
  readonly rendering: Rendering;
}

/** Earlier revisions have no calls that are repeated to answer questions. */
const NO_INPUT: BroughtInput = { inputResponses: new Map() };

/** `tools/list` and `tools/call`. */
export function registerToolMethods(
  server: Server,
  deps: ToolMethodDeps,
  { caller, claims, isModern, guarded }: Session,
): void {
  server.setRequestHandler('tools/list', () =>
    guarded('tools/list', async () => ({ tools: (await listTools(deps)) as never })),
  );
  server.setRequestHandler('tools/call', ({ params }, ctx) =>
    guarded('tools/call', async () => {
      const answer = await deps.enforce({
        caller,
        claims,
        tool: params.name,
        arguments: (params.arguments ?? {}) as JsonObject,
        meta: forwardedMeta(params._meta),
        acceptsTask: isModern && requestDeclaresTasks(ctx),
        acceptsForm: isModern && requestDeclaresForms(ctx),
        ...(isModern ? broughtInput(ctx) : NO_INPUT),
        signal: ctx.mcpReq.signal,
        onProgress: progressTo(ctx),
      });
      return renderAnswer(answer, deps.rendering) as CallToolResult;
    }),
  );
}
