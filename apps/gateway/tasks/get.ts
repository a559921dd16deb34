import type { Result } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { renderTask } from '../wire/render-task.ts';
import type { Rendering } from '../wire/rendering.ts';
import { ownTask } from './own-task.ts';

/** `tasks/get`: a pure read of a caller's own task. */
export async function getTask(
  deps: { gatedCalls: Pick<GatedCalls, 'findTask'>; rendering: Rendering },
  caller: Principal,
  params: unknown,
): Promise<Result> {
  return renderTask(await ownTask(deps.gatedCalls, caller, params), deps.rendering);
}
