import type { CallToolResult, Result } from '@modelcontextprotocol/server';
import type { EndReason, GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { AskedAgain, GatedCallView } from '../../../workflows/domain/ports.ts';
import { authorizationMeta, dispositionMeta, type Rendering } from './rendering.ts';
import {
  APPROVER_MESSAGES_META,
  IMMEDIATE_RESPONSE_META,
  INTERNAL_ERROR,
  OUTCOME_REF_META,
  INPUT_METHODS,
  PAGE_QUESTION,
} from './identifiers.ts';
import { HELD_CALL_PATH } from '../../shared/config/config.ts';
import { pageQuestion } from './page-question.ts';
import { storedResult } from './schemas.ts';
import { withoutForged, withoutReserved } from './upstream-result.ts';
import { requestedSchema, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { FormRound } from '../calls/tool-call.ts';

type TaskStatus = 'working' | 'input_required' | 'completed' | 'cancelled' | 'failed';

/** The wire status of each state, and its status message. No message of a waiting task suggests that the tool has run. */
const STATUS = {
  preparing: ['working', 'Waiting for an authorization decision. The tool has not run.'],
  pending: ['working', 'Waiting for an authorization decision. The tool has not run.'],
  input_required: ['input_required', 'More information is needed before a decision. The tool has not run.'],
  granted: ['working', 'A decision has arrived and is being checked. The tool has not run.'],
  claimed: ['working', 'The call is being carried out. Its outcome is not known yet.'],
  executed: ['completed', 'Finished.'],
  execution_error: ['completed', 'Finished with an error.'],
  outcome_unknown: ['completed', 'Ended with an unknown outcome. The tool may have run.'],
  denied: ['completed', 'The request was refused. The tool did not run.'],
  cancelled: ['cancelled', 'Cancelled before the tool was started. The tool did not run.'],
  failed: ['failed', 'The approval service could not be used. The tool did not run. The call may be repeated later.'],
} as const satisfies Record<GatedCallState, readonly [TaskStatus, string]>;

const NOT_APPROVED = 'The tool did not run: the request was not approved. No change was made.';

/** Why a denied call did not run. Fixed texts: they quote nothing that an approver or a policy wrote. */
const DENIED: Partial<Record<EndReason, string>> = {
  policy_denied: 'The tool did not run: policy does not allow this call. No change was made.',
  request_expired: 'The tool did not run: no approver decided on the request in time. No change was made.',
  approval_expired: 'The tool did not run: the approval expired before it could be used. No change was made.',
  approval_used: 'The tool did not run: the approval was given for another call. No change was made.',
  chain_limit: 'The tool did not run: it needs more approvals than can be requested. No change was made.',
  binding_integrity: 'The tool did not run: the recorded call failed its integrity check. No change was made.',
  tool_changed: 'The tool did not run: the tool has changed since the call was made. No change was made.',
  input_missing: 'The tool did not run: a further approval needs input that was not given. No change was made.',
  input_declined: 'The tool did not run: the input that a further approval needs was declined. No change was made.',
  requirement_unmet:
    'The tool did not run: a requirement of the tool was not met when it was time to run. No change was made.',
  obligation_unmet:
    'The tool did not run: policy allows this call under a condition that was not met. No change was made.',
};

const RAN = 'The tool ran once, after approval.';
const RAN_WITH_ERROR =
  'The tool ran once, after approval, and its result is an error. A change may have been made; check before trying again.';
const NOT_SENT =
  'The tool did not run: the approved call could not be delivered to it. It will not be delivered again for this request.';
const MAY_HAVE_RUN =
  'The tool may have run; its outcome is unknown. It will not be run again for this request. ' +
  'Check the target system before you repeat the call.';
const IMMEDIATE_RESPONSE =
  'The tool has not run. The call waits for a decision and may still be refused. ' +
  'Continue with other work and check the task later.';

/** The answer to a call that became a task. @see SEP-2848, Denied but requestable */
export function renderCreatedTask(view: GatedCallView, rendering: Rendering): Result {
  const isOpen = STATUS[view.state][0] === 'working' || STATUS[view.state][0] === 'input_required';
  const page = pageOf(view, rendering);
  const immediate = page === undefined ? IMMEDIATE_RESPONSE : `${IMMEDIATE_RESPONSE} ${TELL_YOUR_USER} ${page}`;
  return {
    resultType: 'task',
    ...commonOf(view, rendering),
    pollIntervalMs: pollIntervalOf(view, rendering),
    ...(isOpen && { _meta: { ...authorizationMeta('held', rendering), [IMMEDIATE_RESPONSE_META]: immediate } }),
  };
}

/** The result of an ended call, for clients without its task: the result within an ended task. */
export function renderEnded(view: GatedCallView, rendering: Rendering): CallToolResult {
  const [status, statusMessage] = STATUS[view.state];
  const { resultType: _resultType, ...result } =
    status === 'completed'
      ? finalResult(view, rendering)
      : withStatement(undefined, { text: statusMessage, isError: true, meta: {} });
  const outcome = view.outcomeRef !== undefined && { [OUTCOME_REF_META]: view.outcomeRef };
  return { ...result, _meta: { ...result._meta, ...outcome } } as CallToolResult;
}

export const statusOf = (state: GatedCallState): TaskStatus => STATUS[state][0];

export const statusMessageOf = (state: GatedCallState): string => STATUS[state][1];

/** What the gateway says of an ended call: whether the tool ran, and why it did not. */
export function statementOf({ state, reason }: Pick<GatedCallView, 'state' | 'reason'>): string {
  if (state === 'executed') return RAN;
  if (state === 'execution_error') return reason === 'not_sent' ? NOT_SENT : RAN_WITH_ERROR;
  if (state === 'denied') return (reason && DENIED[reason]) ?? NOT_APPROVED;
  return state === 'outcome_unknown' ? MAY_HAVE_RUN : statusMessageOf(state);
}

/** The client of a request for a task. */
interface TaskReader {
  /** It opens addresses for the person who uses it. */
  readonly opensPages: boolean;
}

const NO_PAGES: TaskReader = { opensPages: false };

/** The answer to `tasks/get`. Default: its reader opens no pages. @see SEP-2848, Lifecycle */
export function renderTask(view: GatedCallView, rendering: Rendering, reader = NO_PAGES): Result {
  const pollIntervalMs = pollIntervalOf(view, rendering);
  const common = { resultType: 'complete', ...commonOf(view, rendering) };
  const page = asksForPage(view, rendering, reader) ? pageOf(view, rendering) : undefined;
  const outcome = view.outcomeRef === undefined ? {} : { _meta: { [OUTCOME_REF_META]: view.outcomeRef } };
  const held = { _meta: authorizationMeta('held', rendering) };
  switch (common.status) {
    case 'working':
      if (page === undefined) return { ...common, pollIntervalMs, ...held };
      return {
        ...{ ...common, status: 'input_required', pollIntervalMs },
        inputRequests: { [PAGE_QUESTION]: pageQuestion(page) },
        ...held,
      };
    case 'input_required':
      return { ...common, pollIntervalMs, inputRequests: inputRequestsOf(view), ...held };
    case 'completed':
      return { ...common, result: finalResult(view, rendering), ...outcome };
    case 'cancelled':
      return { ...common, ...outcome };
    case 'failed':
      return {
        ...common,
        error: { code: INTERNAL_ERROR, message: 'Internal error: approval service unavailable' },
        ...outcome,
      };
  }
}

/** Every open question, by its key. @see TASK-031 */
const inputRequestsOf = ({ questions = [] }: GatedCallView) =>
  Object.fromEntries(questions.map(({ key, form, again }) => [key, renderForm(WITHIN_A_TASK, form, again)]));

/** Whether the task asks its client to open the page of the call. It is asked once: the client's answer ends the question, and decides nothing. */
export const asksForPage = (
  view: Pick<GatedCallView, 'state' | 'approvalPage' | 'isPageAnswered'>,
  { heldCallPage }: Pick<Rendering, 'heldCallPage'>,
  { opensPages }: TaskReader,
): boolean =>
  heldCallPage === 'ask' &&
  opensPages &&
  view.state === 'pending' &&
  view.approvalPage !== undefined &&
  view.isPageAnswered !== true;

/** The gateway's own page of a call that people can decide now. A task shows no address of the access request service (APPR-215). */
const pageOf = (
  { state, approvalPage, requestRef }: GatedCallView,
  { heldCallPage, gatewayUrl }: Rendering,
): string | undefined =>
  heldCallPage === 'off' || state !== 'pending' || approvalPage === undefined
    ? undefined
    : `${gatewayUrl}${HELD_CALL_PATH}/${requestRef}`;

const TELL_YOUR_USER = 'Tell your user that a person has to approve this call, on the page';

/** People take minutes to days: a client that follows the pause to the letter would ask a hundred thousand times. */
const LONGEST_PAUSE_MS = 30_000;
/** The pause is this part of the time that the call has been in its state. */
const PAUSE_PART = 10;

/** In whole seconds beyond the first, so that it does not change with every look at the task. */
const pollIntervalOf = ({ inStateMs }: Pick<GatedCallView, 'inStateMs'>, { pollIntervalMs: first }: Rendering) =>
  Math.max(first, Math.min(LONGEST_PAUSE_MS, Math.floor(inStateMs / PAUSE_PART / 1_000) * 1_000));

function commonOf(view: GatedCallView, rendering: Rendering) {
  const [status, message] = STATUS[view.state];
  const page = pageOf(view, rendering);
  return {
    taskId: view.taskId,
    status,
    statusMessage: page === undefined ? message : `${message} A person decides on the page ${page}`,
    createdAt: view.createdAt,
    lastUpdatedAt: view.lastUpdatedAt,
    // From the creation (TASK-014) until the end of its retention: an open task can wait for its whole time and then be read.
    ttlMs: Date.parse(view.retainUntil) - Date.parse(view.createdAt),
  };
}

/** The result of a completed task, and after it what approvers wrote for the agent. */
function finalResult(view: GatedCallView, rendering: Rendering): Result {
  const result = ownResult(view, rendering);
  const { approverMessages: messages } = view;
  if (messages === undefined) return result;
  const quoted = messages.map((text) => ({ type: 'text', text: `${LEAD} ${JSON.stringify(text)}` }));
  const { content, _meta } = result as CallToolResult;
  return { ...result, content: [...content, ...quoted], _meta: { ..._meta, [APPROVER_MESSAGES_META]: messages } };
}

/** The words after it are those of a person, and come as a JSON string, so they cannot end the quotation. */
const LEAD = 'An approver of this call wrote these words to you; they are not a statement of this gateway:';

/** It always says in words whether the tool ran, in agreement with the disposition. */
function ownResult(view: GatedCallView, rendering: Rendering): Result {
  const meta = dispositionMeta(view.state, rendering);
  const text = statementOf(view);
  if (view.state === 'executed') return withStatement(view.result, { text, isError: false, meta });
  const failed = (stored?: string, more: Record<string, unknown> = {}) =>
    withStatement(stored, { text, isError: true, meta: { ...meta, ...more } });
  if (view.state === 'execution_error' && view.reason !== 'not_sent') return failed(view.result);
  return failed(undefined, view.state === 'denied' ? authorizationMeta('final', rendering) : {});
}

/** The tool's content, unchanged, then one block with the gateway's statement. */
function withStatement(
  stored: string | undefined,
  statement: { text: string; isError: boolean; meta: Record<string, unknown> },
): Result {
  const { content, _meta, ...rest } = storedResult.parse(stored === undefined ? {} : JSON.parse(stored));
  return {
    ...rest,
    resultType: 'complete',
    isError: statement.isError,
    content: [...withoutForged(content), { type: 'text', text: statement.text }],
    _meta: { ...withoutReserved(_meta), ...statement.meta },
  };
}

const BEFORE_A_TASK = 'This call needs an approval, and the request for it needs some input. The tool has not run.';
const WITHIN_A_TASK =
  'This call needs one more approval, and the request for it needs some input. The tool has not run.';

/** @see MCP elicitation, form mode */
const renderForm = (lead: string, form: RequestForm, again?: AskedAgain) => ({
  method: INPUT_METHODS.elicitation,
  params: {
    mode: 'form',
    message: [lead, again && wordsOf(again), form.purpose].filter((part) => part !== undefined).join('\n'),
    requestedSchema: requestedSchema(form),
  },
});

/** What was wrong with the last answer. It quotes titles of the form, and nothing of the answer. */
function wordsOf(again: AskedAgain): string {
  if (again.why === 'declined')
    return 'This form was closed or declined. Without its answers the call does not run. To give the call up, cancel its task.';
  const { fields } = again;
  return `The last answers do not fit this form.${fields.length === 0 ? '' : ` Check: ${fields.join(', ')}.`}`;
}

/**
 * The answer to a call that needs input before it can become a task. Nothing is stored.
 * @see SEP-2322, input required; SEP-2848, collecting submission input
 */
export function renderFormRound({ key, form, requestState }: FormRound, rendering: Rendering): Result {
  return {
    resultType: 'input_required',
    inputRequests: { [key]: renderForm(BEFORE_A_TASK, form) },
    requestState,
    _meta: authorizationMeta('asked', rendering),
  };
}
