import type { CallToolResult } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { readOwnArguments, statusArguments } from '../wire/own-tools.ts';
import { renderInvalidQuestion, renderRequest, renderUnknownRequest } from '../wire/render-request.ts';
import type { Rendering } from '../wire/rendering.ts';

/** `get_request_status`: a caller's own call, as `tasks/get` reads it. Somebody else's reference and none are one answer. */
export async function requestStatus(
  {
    gatedCalls,
    rendering,
  }: { gatedCalls: Pick<GatedCalls, 'taskIdOf' | 'findTask' | 'ownerOf'>; rendering: Rendering },
  caller: Principal,
  params: unknown,
): Promise<CallToolResult> {
  const asked = readOwnArguments(statusArguments, params);
  if ('problem' in asked) return renderInvalidQuestion(asked.problem);
  const view = await gatedCalls.findTask(gatedCalls.taskIdOf(asked.read.reference), gatedCalls.ownerOf(caller));
  return view === undefined ? renderUnknownRequest() : renderRequest(view, rendering);
}
