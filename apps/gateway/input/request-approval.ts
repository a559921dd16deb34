import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { RequestForms } from '../../../workflows/domain/ports.ts';
import { additionsOf, type Additions } from '../../../workflows/domain/submission-input/answers.ts';
import { formDigest, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import { randomText } from '../../shared/random-text.ts';
import { sha256 } from '../../shared/sha256.ts';
import { joinTask, openTask, type Requestable, type TaskOpeningDeps } from '../open-task.ts';
import type { ToolCall, ToolCallAnswer } from '../tools/tool-call.ts';
import { inputResponse } from '../wire/schemas.ts';
import { callScope, sealRound, type OpenedRound } from '../relay/rounds.ts';
import type { Handles } from '../handles.ts';

/** A client that answers badly five times is not asked a sixth time. */
const MAX_ROUNDS = 5;
const KEY_BYTES = 8;

export interface ApprovalRequestDeps extends TaskOpeningDeps {
  readonly requestForms: RequestForms;
  readonly handles: Handles;
}

/** A round of questions of ours that came back. */
export type AskedRound = Extract<OpenedRound, { kind: 'question' }>;

/** A call that policy denies and offers to request an approval for. */
export interface RequestableCall {
  readonly binding: CallBinding;
  readonly decision: Requestable;
  /** The round of questions that the call comes back from. */
  readonly asked: AskedRound | undefined;
}

/**
 * Requests an approval: the call becomes a task. Where the request needs more than the call, that is asked for first, and as
 * long as it is not there nothing is opened and nothing is kept. `undefined` when the decision has to be taken again.
 * @see SEP-2848, collecting submission input (APPR-090 to APPR-093)
 */
export async function requestApproval(
  deps: ApprovalRequestDeps,
  call: ToolCall,
  requestable: RequestableCall,
): Promise<ToolCallAnswer | undefined> {
  const { binding, decision, asked } = requestable;
  const { requestSchemaUrl: schemaUrl } = decision.offer;
  if (schemaUrl === undefined) return openTask(deps, call, { binding, decision });
  // Who repeats a call that is open already has answered before.
  const open = asked === undefined ? await deps.gatedCalls.findOpen(binding) : undefined;
  if (open !== undefined) return joinTask(deps, binding, open);
  const form = await deps.requestForms.at(schemaUrl);
  if (form === undefined) return { kind: 'denied' };
  const given = inputOf(call, form, asked);
  if (given === 'refused') return { kind: 'not_requested' };
  if (given === undefined) return ask(deps, call, { binding, form, asked });
  const bound = { ...binding, input: { schemaUrl, additions: given } };
  return openTask(deps, call, { binding: bound, decision, ...(asked !== undefined && { redemption: asked }) });
}

/**
 * What the requester said; `undefined` when that is still to be asked. Whoever cannot be asked says nothing, where nothing has
 * to be said. An answer counts for the form that it was given to.
 */
function inputOf(call: ToolCall, form: RequestForm, asked: AskedRound | undefined): Additions | 'refused' | undefined {
  if (asked === undefined || !call.inputResponses.has(asked.key)) {
    return form.fields.length === 0 || !call.acceptsForm ? additionsOf(form, {}) : undefined;
  }
  const answer = inputResponse.safeParse(call.inputResponses.get(asked.key));
  if (!answer.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'an answer to a question has another form');
  if (answer.data.action !== 'accept') return 'refused';
  return asked.form === digestOf(form) ? additionsOf(form, (answer.data.content ?? {}) as JsonObject) : undefined;
}

async function ask(
  { handles }: Pick<ApprovalRequestDeps, 'handles'>,
  { acceptsForm }: ToolCall,
  { binding, form, asked }: { binding: CallBinding; form: RequestForm; asked: AskedRound | undefined },
): Promise<ToolCallAnswer> {
  if (!acceptsForm) return { kind: 'needs_forms' };
  const round = (asked?.round ?? 0) + 1;
  if (round > MAX_ROUNDS) return { kind: 'not_requested' };
  // Another one each time: no key ever stands for two questions.
  const key = `request-${round}-${randomText(KEY_BYTES)}`;
  const requestState = await sealRound(handles, callScope(binding), {
    kind: 'question',
    key,
    form: digestOf(form),
    round,
  });
  return { kind: 'input_required', key, form, requestState };
}

const digestOf = (form: RequestForm): string => formDigest(form, sha256);
