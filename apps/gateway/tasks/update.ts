import type { Result } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { GatedCalls, TaskAnswer, TaskQuestion } from '../../../workflows/domain/ports.ts';
import { answerTo } from '../../../workflows/domain/submission-input/answers.ts';
import { inputResponse } from '../wire/schemas.ts';
import { ownTask, type TaskRequest } from './own-task.ts';

/**
 * `tasks/update`: hands the owner's answers in. Those to questions that are not outstanding are ignored, so a repeated or late
 * update is acknowledged like the first. One that does not fit its question is refused together with all that came with it.
 * @see SEP-2663, Task update (TASK-044 to TASK-050)
 */
export async function updateTask(
  deps: { gatedCalls: Pick<GatedCalls, 'findTask' | 'ownerOf' | 'answer'> },
  { caller, params, inputResponses }: TaskRequest,
): Promise<Result> {
  const { gatedCallId, questions = [] } = await ownTask(deps.gatedCalls, caller, params);
  const answers = answersTo(questions, inputResponses);
  if (answers.length > 0) await deps.gatedCalls.answer(gatedCallId, answers);
  return { resultType: 'complete' };
}

function answersTo(questions: readonly TaskQuestion[], responses: TaskRequest['inputResponses']): TaskAnswer[] {
  return questions.flatMap(({ key, form }): TaskAnswer[] => {
    if (!responses.has(key)) return [];
    const response = inputResponse.safeParse(responses.get(key));
    if (!response.success) throw misfit();
    const { action, content = {} } = response.data;
    if (action !== 'accept') return [{ key, content: 'declined' }];
    const fitting = answerTo(form, content as JsonObject);
    if (fitting === undefined) throw misfit();
    return [{ key, content: fitting }];
  });
}

const misfit = () => new CountersignError('ERR_INPUT_INVALID', 'an answer does not fit its question');
