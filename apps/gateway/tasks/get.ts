import type { Result } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { renderTask } from '../wire/render-task.ts';
import type { Rendering } from '../wire/rendering.ts';
import { missingFormsCapability } from '../wire/sdk-overlay.ts';
import { ownTask, type TaskRequest } from './own-task.ts';

/**
 * `tasks/get`: a pure read of a caller's own task. One that asks something is shown to those alone who declare that they can be
 * asked it: it could not be shown without its questions (MRTR-005, TASK-031).
 */
export async function getTask(
  deps: { gatedCalls: Pick<GatedCalls, 'readTask' | 'ownerOf'>; rendering: Rendering },
  { caller, params, acceptsForms }: TaskRequest,
): Promise<Result> {
  const view = await ownTask({ findTask: deps.gatedCalls.readTask, ownerOf: deps.gatedCalls.ownerOf }, caller, params);
  if (view.state === 'input_required' && !acceptsForms) throw missingFormsCapability();
  return renderTask(view, deps.rendering);
}
