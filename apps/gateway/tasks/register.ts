import type { Result, Server, ServerContext } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import type { TaskMethod } from '../../../workflows/domain/relay-port.ts';
import { findRelayedTask, type RelayedTaskDeps } from '../relay/relayed-tasks.ts';
import type { Authorize } from '../coaz/authorize.ts';
import { cancelTask } from './cancel.ts';
import { getTask } from './get.ts';
import { ownTask, type TaskRequest } from './own-task.ts';
import { relayTaskMethod } from './relayed.ts';
import { updateTask } from './update.ts';
import type { Rendering } from '../wire/rendering.ts';
import { anyParams, taskParams } from '../wire/schemas.ts';
import { askedBy, missingTasksCapability, requestDeclaresForms, requestDeclaresTasks } from '../wire/sdk-overlay.ts';
import type { Session } from '../session.ts';

export interface TaskMethodDeps extends RelayedTaskDeps {
  readonly gatedCalls: Pick<GatedCalls, 'findTask' | 'readTask' | 'ownerOf' | 'cancel' | 'answer'>;
  readonly rendering: Rendering;
  /** Missing where whose a task is decides alone, so that reading one needs no decision point to be up. */
  readonly authorize?: Authorize;
}

type OwnTaskMethod = (deps: TaskMethodDeps, request: TaskRequest) => Promise<Result>;
const TASK_METHODS: Readonly<Record<TaskMethod, OwnTaskMethod>> = {
  'tasks/get': getTask,
  'tasks/update': updateTask,
  'tasks/cancel': cancelTask,
};

/** The methods of the tasks extension. A request that does not declare it is told so, whatever else is wrong with it. */
export function registerTaskMethods(server: Server, deps: TaskMethodDeps, session: Session): void {
  const { caller, guarded } = session;
  for (const [method, handle] of Object.entries(TASK_METHODS) as [TaskMethod, OwnTaskMethod][]) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, ctx: ServerContext) =>
      guarded(method, async () => {
        if (!requestDeclaresTasks(ctx)) throw missingTasksCapability();
        const asked = askedBy(session, ctx);
        const { taskId } = taskParams.safeParse(params).data ?? {};
        const relayed = taskId === undefined ? undefined : await findRelayedTask(deps.handles, caller, taskId);
        if (deps.authorize !== undefined) {
          // Whose it is comes first: what is not the caller's does not exist for it, and is not asked about (PRJ-21).
          if (relayed === undefined) await ownTask(deps.gatedCalls, caller, params);
          await deps.authorize(session, method, { taskId: taskId ?? '' });
        }
        if (relayed !== undefined) {
          return relayTaskMethod(deps, relayed, method, { ...asked, caller, signal: ctx.mcpReq.signal });
        }
        const { inputResponses } = asked;
        return handle(deps, { caller, params, acceptsForms: requestDeclaresForms(ctx), inputResponses });
      }),
    );
  }
}
