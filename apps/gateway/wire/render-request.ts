import type { CallToolResult } from '@modelcontextprotocol/server';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import { NEXT_STEP_META, OWN_TOOLS } from './identifiers.ts';
import { REQUEST_POLL_MS } from './own-tools.ts';
import { refusal } from './render-denial.ts';
import { renderEnded, statusMessageOf } from './render-task.ts';
import type { Rendering } from './rendering.ts';

/**
 * A gated call for a client that asked for it with a plain tool: the final result once it has ended, else how it stands and
 * what to do next.
 */
export function renderRequest(view: GatedCallView, rendering: Rendering): CallToolResult {
  if (isTerminal(view.state)) return renderEnded(view, rendering);
  const { requestRef: reference, retainUntil: expiresAt } = view;
  const text =
    `${statusMessageOf(view.state)} The approval is requested; its request reference is ${reference}, which can be used ` +
    `until ${expiresAt}. Next step: call ${OWN_TOOLS.requestStatus} with this reference, every ` +
    `${REQUEST_POLL_MS / 1_000} seconds at most. The tool runs once when the approval is given, and the status then has its result.`;
  return {
    content: [{ type: 'text', text }],
    _meta: {
      [NEXT_STEP_META]: {
        kind: OWN_TOOLS.requestStatus,
        tool: OWN_TOOLS.requestStatus,
        arguments: { reference },
        expiresAt,
        pollIntervalMs: REQUEST_POLL_MS,
      },
    },
  };
}

/** Arguments of one of our own tools. It is asked about a call, and says nothing of whether that has run. */
export function renderInvalidQuestion(problem: string): CallToolResult {
  return refusal(`The arguments are not valid: ${problem}.`);
}

/** A request reference of somebody else, one whose call is no longer kept, and one that was never given: one answer. */
export function renderUnknownRequest(): CallToolResult {
  return refusal('There is no such request, or it is no longer kept.');
}

/** An approval that was asked for, for a call that is allowed as it is. */
export function renderNotNeeded(): CallToolResult {
  return {
    content: [
      { type: 'text', text: 'The tool did not run. The call needs no approval. Next step: call the tool itself.' },
    ],
  };
}
