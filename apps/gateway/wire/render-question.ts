import type { Result } from '@modelcontextprotocol/server';
import { requestedSchema } from '../../../workflows/domain/submission-input/request-form.ts';
import type { Question } from '../tools/tool-call.ts';
import { authorizationMeta } from './authorization-envelope.ts';
import { ELICITATION } from './identifiers.ts';
import type { Rendering } from './rendering.ts';

const MESSAGE = 'This call needs an approval. The request for one needs some input; the tool has not run.';

/**
 * The answer to a call that needs input before it can become a task: no task, and nothing that could be stored.
 * @see SEP-2322, input required; SEP-2848, collecting submission input
 */
export function renderQuestion({ key, form, requestState }: Question, rendering: Rendering): Result {
  const message = form.purpose === undefined ? MESSAGE : `${MESSAGE}\n${form.purpose}`;
  return {
    resultType: 'input_required',
    inputRequests: {
      [key]: { method: ELICITATION, params: { mode: 'form', message, requestedSchema: requestedSchema(form) } },
    },
    requestState,
    _meta: authorizationMeta('asked', rendering),
  };
}
