import type { Result } from '@modelcontextprotocol/server';
import { requestedSchema, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { Question } from '../tools/tool-call.ts';
import { authorizationMeta } from './authorization-envelope.ts';
import { INPUT_METHODS } from './identifiers.ts';
import type { Rendering } from './rendering.ts';

/** What leads to a question, in fixed words. */
const BEFORE_A_TASK = 'This call needs an approval. The request for one needs some input; the tool has not run.';

export const WITHIN_A_TASK =
  'This call needs one more approval. The request for it needs some input; the tool has not run.';

/** A form as it is put to a person. @see MCP elicitation, form mode */
export const renderForm = (lead: string, form: RequestForm) => ({
  method: INPUT_METHODS.elicitation,
  params: {
    mode: 'form',
    message: form.purpose === undefined ? lead : `${lead}\n${form.purpose}`,
    requestedSchema: requestedSchema(form),
  },
});

/**
 * The answer to a call that needs input before it can become a task: no task, and nothing that could be stored.
 * @see SEP-2322, input required; SEP-2848, collecting submission input
 */
export function renderQuestion({ key, form, requestState }: Question, rendering: Rendering): Result {
  return {
    resultType: 'input_required',
    inputRequests: { [key]: renderForm(BEFORE_A_TASK, form) },
    requestState,
    _meta: authorizationMeta('asked', rendering),
  };
}
