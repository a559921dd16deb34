import type { Result, Server, ServerContext } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { cancelTask } from './cancel.ts';
import { getTask } from './get.ts';
import type { TaskRequest } from './own-task.ts';
import { updateTask } from './update.ts';
import type { Rendering } from '../wire/rendering.ts';
import { anyParams } from '../wire/schemas.ts';
import { askedBy, missingTasksCapability, requestDeclaresForms, requestDeclaresTasks } from '../wire/sdk-overlay.ts';
import type { Session } from '../session.ts';

export interface TaskMethodDeps {
  readonly gatedCalls: Pick<GatedCalls, 'findTask' | 'cancel' | 'answer'>;
  readonly rendering: Rendering;
}

type TaskMethod = (deps: TaskMethodDeps, request: TaskRequest) => Promise<Result>;
const TASK_METHODS: Readonly<Record<string, TaskMethod>> = {
  'tasks/get': getTask,
  'tasks/update': updateTask,
  'tasks/cancel': cancelTask,
};

/** The methods of the tasks extension. A request that does not declare it is told so, whatever else is wrong with it. */
export function registerTaskMethods(server: Server, deps: TaskMethodDeps, session: Session): void {
  const { caller, guarded } = session;
  for (const [method, handle] of Object.entries(TASK_METHODS)) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, ctx: ServerContext) =>
      guarded(method, async () => {
        if (!requestDeclaresTasks(ctx)) throw missingTasksCapability();
        const { inputResponses } = askedBy(session, ctx);
        return handle(deps, { caller, params, acceptsForms: requestDeclaresForms(ctx), inputResponses });
      }),
    );
  }
}
