import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Enforce } from '../enforce.ts';
import type { ToolCall } from '../tools/tool-call.ts';
import { accessRequestArguments } from '../wire/own-tools.ts';
import { renderAnswer } from '../wire/render-answer.ts';
import { renderInvalidQuestion } from '../wire/render-request.ts';
import type { Rendering } from '../wire/rendering.ts';

/**
 * `request_access`: takes the call that it is given all the way that the call itself would take, up to where it would wait.
 * A call that is allowed is not made: an approval was asked for, and no more.
 */
export async function requestAccess(
  { enforce, rendering }: { enforce: Enforce; rendering: Rendering },
  of: Omit<ToolCall, 'tool' | 'arguments' | 'rung'>,
  params: unknown,
): Promise<CallToolResult> {
  const wanted = accessRequestArguments.safeParse(params);
  if (!wanted.success)
    return renderInvalidQuestion('the name of a tool and its arguments are needed, and nothing else');
  const { tool, arguments: args } = wanted.data;
  try {
    const answer = await enforce({ ...of, tool, arguments: args as JsonObject, rung: 'reference' });
    return renderAnswer(answer, rendering) as CallToolResult;
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'ERR_TOOL_NOT_FOUND') throw error;
    return renderInvalidQuestion('there is no tool of this name');
  }
}
