import type { Result, Server, ServerContext } from '@modelcontextprotocol/server';
import type { GatedCalls, GatedCallView, TaskAnswer, TaskQuestion } from '../../../workflows/domain/ports.ts';
import type { TaskMethod } from '../../../workflows/domain/relay-port.ts';
import { findRelayedTask, relayTaskMethod, type RelayedTaskDeps } from '../extensions/relayed-rounds.ts';
import type { Authorize } from '../mcp/authorize.ts';
import type { Rendering } from '../wire/rendering.ts';
import { anyParams, taskParams, inputResponse } from '../wire/schemas.ts';
import { missingTasksCapability, missingFormsCapability } from '../wire/sdk-overlay.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { renderTask } from '../wire/render-task.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { answerTo } from '../../../workflows/domain/submission-input/answers.ts';
import { askedBy, requestDeclaresForms, requestDeclaresTasks, type RequestContext } from '../wire/request-context.ts';

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

/** The methods of the tasks extension. A request that does not declare it is told so first, before anything else that is wrong with it. */
export function registerTaskMethods(server: Server, deps: TaskMethodDeps, context: RequestContext): void {
  const { caller, guarded } = context;
  for (const [method, handle] of Object.entries(TASK_METHODS) as [TaskMethod, OwnTaskMethod][]) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, ctx: ServerContext) =>
      guarded(method, async () => {
        if (!requestDeclaresTasks(ctx)) throw missingTasksCapability();
        const asked = askedBy(context, ctx);
        const { taskId } = taskParams.safeParse(params).data ?? {};
        const relayed = taskId === undefined ? undefined : await findRelayedTask(deps.sealedStates, caller, taskId);
        if (deps.authorize !== undefined) {
          // Whose it is comes first: what is not the caller's does not exist for it, and is not asked about (PRJ-21).
          if (relayed === undefined) await ownTask(deps.gatedCalls, caller, params);
          await deps.authorize(context, method, { taskId: taskId ?? '' });
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

/** One request about a task. */
export interface TaskRequest {
  readonly caller: Principal;
  readonly params: unknown;
  /** Whether this very request declares that its client can show forms. */
  readonly acceptsForms: boolean;
  /** What it brings, by the keys of questions. */
  readonly inputResponses: ReadonlyMap<string, unknown>;
}

/**
 * The caller's task that the parameters name. An unknown task, one that is no longer kept and one of another caller get one
 * answer, so that a task id tells nothing to other callers.
 */
export async function ownTask(
  gatedCalls: Pick<GatedCalls, 'findTask' | 'ownerOf'>,
  caller: Principal,
  params: unknown,
): Promise<GatedCallView> {
  const parsed = taskParams.safeParse(params);
  if (!parsed.success) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'taskId must be a string');
  const view = await gatedCalls.findTask(parsed.data.taskId, gatedCalls.ownerOf(caller));
  if (view === undefined) throw new CountersignError('ERR_GATED_CALL_NOT_FOUND', 'no such task of this caller');
  return view;
}

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

/**
 * `tasks/cancel`: competes with the execution claim. The acknowledgement is the same whether it won, lost or came after
 * the end, because the fence alone decides (SEP-2848, Cancellation); `tasks/get` tells which.
 */
export async function cancelTask(
  deps: { gatedCalls: Pick<GatedCalls, 'findTask' | 'ownerOf' | 'cancel'> },
  { caller, params }: TaskRequest,
): Promise<Result> {
  const { gatedCallId } = await ownTask(deps.gatedCalls, caller, params);
  await deps.gatedCalls.cancel(gatedCallId);
  return { resultType: 'complete' };
}
