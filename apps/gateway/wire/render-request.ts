import type { CallToolResult } from '@modelcontextprotocol/server';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView, RecentRequest } from '../../../workflows/domain/ports.ts';
import { authorizationMeta, textResult, toolError, type Rendering } from './rendering.ts';
import { NEXT_STEP_META, OWN_TOOLS, REQUEST_MEMBER } from './identifiers.ts';
import { POLLED, REQUEST_POLL_MS } from './own-tools.ts';
import { renderEnded, statementOf, statusMessageOf, statusOf } from './render-task.ts';

/** A gated call for a client without tasks: its final result once it has ended, otherwise its status and the next step. */
export function renderRequest(view: GatedCallView, rendering: Rendering): CallToolResult {
  if (isTerminal(view.state)) return renderEnded(view, rendering);
  const { text, meta } = nextStep(view, rendering);
  const { requestRef: reference, retainUntil: expiresAt } = view;
  const what = isUndecided(view) ? 'The approval is requested; its' : 'The';
  const request = `${what} request reference is ${reference}, which can be used until ${expiresAt}.`;
  return { ...textResult(`${statusMessageOf(view.state)} ${request} ${text}`), _meta: { [NEXT_STEP_META]: meta } };
}

/** The outcome of an earlier identical call. Without the added text, its caller could take it for the result of a second run. */
export function renderEarlier(view: GatedCallView, rendering: Rendering): CallToolResult {
  const ended = renderEnded(view, rendering);
  return { ...ended, content: [...ended.content, { type: 'text', text: earlierOf(view) }] };
}

const earlierOf = ({ createdAt }: GatedCallView) =>
  `This is the outcome of an identical call, made at ${createdAt}, which you had not read. The tool did not run again. Next step: ` +
  'repeat the call only if the tool should run once more; that needs a new approval.';

/**
 * The answer of one of the gateway's own tools. Some hosts show a model only the structured result, so the statement about the request is
 * added to it. The answer to the call itself does not get this member, because the output schema of its tool does not have it.
 */
export function withRequest(
  answer: CallToolResult,
  { view, isEarlier = false }: { readonly view: GatedCallView; readonly isEarlier?: boolean },
): CallToolResult {
  const { structuredContent: structured } = answer;
  if (!isTerminal(view.state) || typeof structured !== 'object' || structured === null || Array.isArray(structured))
    return answer;
  const statusMessage = [statementOf(view), ...(isEarlier ? [earlierOf(view)] : [])].join(' ');
  const request = { reference: view.requestRef, status: statusOf(view.state), statusMessage };
  return { ...answer, structuredContent: { ...structured, [REQUEST_MEMBER]: request } };
}

export function renderRecent(requests: readonly RecentRequest[]): CallToolResult {
  const listed = requests.map(({ requestRef: reference, tool, state, createdAt, ageSeconds }) => ({
    ...{ reference, tool, createdAt, ageSeconds },
    ...{ status: statusOf(state), statusMessage: statusMessageOf(state) },
  }));
  const lines = listed.map(
    ({ reference, tool, ageSeconds, statusMessage }) => `${reference}  ${tool}, ${ageSeconds} s ago: ${statusMessage}`,
  );
  const text =
    lines.length === 0
      ? 'You have no requests on record.'
      : `Your newest requests, newest first. Next step: call ${OWN_TOOLS.requestStatus} with a reference to read its outcome.`;
  return { ...textResult([text, ...lines].join('\n')), structuredContent: { requests: listed } };
}

/** A call that did not end while a client without tasks waited for it. */
export function renderStillHeld(view: GatedCallView, rendering: Rendering): CallToolResult {
  const { content, _meta } = renderRequest(view, rendering);
  // The tool of a claimed call may be running, so that is not a denial (DENIAL-014).
  const denial = view.state === 'claimed' ? {} : authorizationMeta('requestable', rendering);
  return { isError: true, content, _meta: { ..._meta, ...denial } };
}

function nextStep(view: GatedCallView, { requestTools }: Rendering) {
  const { requestRef: reference, retainUntil: expiresAt } = view;
  const pollIntervalMs = REQUEST_POLL_MS;
  if (view.state === 'input_required')
    return { text: ANSWER_THE_TASK, meta: { kind: 'answer_task', reference, expiresAt } };
  const once = isUndecided(view) ? ' The tool runs once when the approval is given.' : '';
  if (!requestTools) {
    const text = `Next step: repeat the same call. While the request is open, the call joins it and opens no new one.${once}`;
    return { text, meta: { kind: 'repeat_call', reference, expiresAt, pollIntervalMs } };
  }
  const tool = OWN_TOOLS.requestStatus;
  const text = `Next step: call ${tool} with this reference, ${POLLED}, until it returns the result of the tool.${once}`;
  return { text, meta: { kind: tool, tool, arguments: { reference }, expiresAt, pollIntervalMs } };
}

/** Whether the call still waits for an approval. */
const isUndecided = ({ state }: Pick<GatedCallView, 'state'>) => state !== 'granted' && state !== 'claimed';

/** Only a task shows forms, and a client of the plain tools has no task. */
const ANSWER_THE_TASK =
  'You cannot give the information here. Next step: the client that holds the task of this call reads the questions with ' +
  'tasks/get and answers them with tasks/update. A client that declares tasks and elicitation (form) gets that task by repeating ' +
  'the same call.';

/** For arguments of the gateway's own tools. It does not say whether the call that is asked about has run. */
export const renderInvalidArguments = (problem: string) => toolError(`The arguments are not valid: ${problem}.`);

/** The refusal of a call with empty arguments: some clients cannot send members that no schema names. */
export function withEmptyArguments(refused: CallToolResult): CallToolResult {
  const text =
    'The member arguments is empty. Next step: put the arguments of the call in it. If your client drops them, send the member ' +
    'arguments as the JSON text of the object.';
  return { ...refused, content: [...refused.content, { type: 'text', text }] };
}

/** The same answer for another caller's reference, for a reference whose call is no longer kept, and for an unknown reference. */
export const renderUnknownRequest = () => toolError('There is no such request, or it is no longer kept.');
