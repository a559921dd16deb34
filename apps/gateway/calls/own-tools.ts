import type { CallToolResult } from '@modelcontextprotocol/server';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Enforce } from './enforce.ts';
import type { ToolCall } from './tool-call.ts';
import { accessRequestArguments, readOwnArguments, statusArguments } from '../wire/own-tools.ts';
import { renderAnswer } from '../wire/render-answer.ts';
import {
  renderInvalidArguments,
  withEmptyArguments,
  withRequest,
  renderRecent,
  renderRequest,
  renderUnknownRequest,
} from '../wire/render-request.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';

/**
 * `request_access`: takes the call that it is given all the way that the call itself would take, up to where it would wait.
 * A call that is allowed is not made: an approval was asked for, and no more.
 */
export async function requestAccess(
  { enforce, rendering }: { enforce: Enforce; rendering: Rendering },
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
  if ('problem' in asked) return renderInvalidArguments(asked.problem);
  const { reference } = asked.read;
  const owner = gatedCalls.ownerOf(caller);
  if (reference === undefined) return renderRecent(await gatedCalls.recent(owner, MAX_LISTED));
  const view = await gatedCalls.readTask(gatedCalls.taskIdOf(reference), owner);
  return view === undefined ? renderUnknownRequest() : withRequest(renderRequest(view, rendering), { view });
}
