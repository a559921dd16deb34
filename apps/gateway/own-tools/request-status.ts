import type { CallToolResult } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { readOwnArguments, statusArguments } from '../wire/own-tools.ts';
import {
  renderInvalidQuestion,
  renderRecent,
  renderRequest,
  renderUnknownRequest,
  withRequest,
} from '../wire/render-request.ts';
import type { Rendering } from '../wire/rendering.ts';

/** A list is read by a model. */
const MAX_LISTED = 20;

/**
 * `get_request_status`: a caller's own call, as `tasks/get` reads it. Another caller's reference and an unknown one are one answer.
 * Without a reference: the caller's newest requests.
 */
export async function requestStatus(
  {
    gatedCalls,
    rendering,
  }: { gatedCalls: Pick<GatedCalls, 'taskIdOf' | 'readTask' | 'recent' | 'ownerOf'>; rendering: Rendering },
  caller: Principal,
  params: unknown,
): Promise<CallToolResult> {
  const asked = readOwnArguments(statusArguments, params);
  if ('problem' in asked) return renderInvalidQuestion(asked.problem);
  const { reference } = asked.read;
  const owner = gatedCalls.ownerOf(caller);
  if (reference === undefined) return renderRecent(await gatedCalls.recent(owner, MAX_LISTED));
  const view = await gatedCalls.readTask(gatedCalls.taskIdOf(reference), owner);
  return view === undefined ? renderUnknownRequest() : withRequest(renderRequest(view, rendering), { view });
}
