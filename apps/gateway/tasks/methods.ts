import type { Result, Server, ServerContext } from '@modelcontextprotocol/server';
import type {
  AskedAgain,
  GatedCalls,
  GatedCallView,
  RefusedAnswer,
  TaskAnswer,
  TaskQuestion,
} from '../../../workflows/domain/ports.ts';
import type { TaskMethod } from '../../../workflows/domain/upstream-ports.ts';
import { findRelayedTask, relayTaskMethod, type RelayedTaskDeps } from '../extensions/relayed-rounds.ts';
import type { Authorize } from '../mcp/authorize.ts';
import type { Rendering } from '../wire/rendering.ts';
import { PAGE_QUESTION } from '../wire/identifiers.ts';
import { anyParams, taskParams, inputResponse } from '../wire/schemas.ts';
import { missingTasksCapability, missingFormsCapability } from '../wire/sdk-overlay.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { asksForPage, renderTask } from '../wire/render-task.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { answerTo, misfitsOf } from '../../../workflows/domain/submission-input/answers.ts';
import { randomText } from '../../shared/crypto.ts';
import { askedBy, FORMS, PAGES, requestDeclares, type RequestContext, TASKS } from '../wire/request-context.ts';

export interface TaskMethodDeps extends RelayedTaskDeps {
  readonly gatedCalls: Pick<
    GatedCalls,
    'findTask' | 'readTask' | 'ownerOf' | 'cancel' | 'answer' | 'askAgain' | 'answerPage'
  >;
  readonly rendering: Rendering;
  /** Missing unless `coaz.everyMethod` is on: otherwise only the owner counts, and reading a task does not need the PDP. */
  readonly authorize?: Authorize;
}

type OwnTaskMethod = (deps: TaskMethodDeps, request: TaskRequest) => Promise<Result>;
const TASK_METHODS: Readonly<Record<TaskMethod, OwnTaskMethod>> = {
  'tasks/get': getTask,
  'tasks/update': updateTask,
  'tasks/cancel': cancelTask,
};

/** The methods of the tasks extension. A request that does not declare it is refused for that first. */
export function registerTaskMethods(server: Server, deps: TaskMethodDeps, context: RequestContext): void {
  const { caller, guarded } = context;
  for (const [method, handle] of Object.entries(TASK_METHODS) as [TaskMethod, OwnTaskMethod][]) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, ctx: ServerContext) =>
      guarded(method, async () => {
        if (!requestDeclares(TASKS, context, ctx)) throw missingTasksCapability();
        const asked = askedBy(context, ctx);
        const { taskId } = taskParams.safeParse(params).data ?? {};
        const relayed = taskId === undefined ? undefined : await findRelayedTask(deps.sealedStates, caller, taskId);
        if (deps.authorize !== undefined) {
          // The owner check comes first: for another caller the task does not exist, and the PDP is not asked (PRJ-21).
          if (relayed === undefined) await ownTask(deps.gatedCalls, caller, params);
          await deps.authorize(context, method, { taskId: taskId ?? '' });
        }
        if (relayed !== undefined) {
          return relayTaskMethod(deps, relayed, method, { ...asked, caller, signal: ctx.mcpReq.signal });
        }
        const { inputResponses } = asked;
        const declares = (needed: JsonObject) => requestDeclares(needed, context, ctx);
        const hasResponses = ctx.mcpReq.inputResponses !== undefined;
        const asker = { acceptsForms: declares(FORMS), opensPages: declares(PAGES), hasResponses };
        return handle(deps, { caller, params, ...asker, inputResponses });
      }),
    );
  }
}

interface TaskRequest {
  readonly caller: Principal;
  readonly params: unknown;
  /** Whether this request declares that its client can show forms. */
  readonly acceptsForms: boolean;
  /** The same for addresses that its client opens. */
  readonly opensPages: boolean;
  /** Whether the member with the answers is there. */
  readonly hasResponses: boolean;
  /** By the keys of questions. */
  readonly inputResponses: ReadonlyMap<string, unknown>;
}

/**
 * The caller's task that the parameters name. An unknown task, a task that is no longer kept and another caller's task get the same answer,
 * so that a task id reveals nothing to other callers.
 */
async function ownTask(
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
 * `tasks/get`: a pure read of a caller's own task. A task that asks for input is shown only to clients that declare that they can show forms,
 * because a task is not shown without its questions (MRTR-005, TASK-031).
 */
async function getTask({ gatedCalls, rendering }: TaskMethodDeps, { caller, params, ...reader }: TaskRequest) {
  const view = await ownTask({ findTask: gatedCalls.readTask, ownerOf: gatedCalls.ownerOf }, caller, params);
  if (view.state === 'input_required' && !reader.acceptsForms) throw missingFormsCapability();
  return renderTask(view, rendering, reader);
}

/**
 * `tasks/update`: accepts the owner's answers. Answers to questions that are not open are ignored, so a repeated or late update is
 * acknowledged like the first. A question that is declined, or whose answer does not fit, is asked again under a new key. The client is told
 * so by the task and not by an error, which would end it for the official client. Many hosts decline in a person's place. The question to open the page of the call has no answer that counts: any of them ends the question.
 * @see SEP-2663, Task update (TASK-044 to TASK-050)
 */
async function updateTask({ gatedCalls, rendering }: TaskMethodDeps, asked: TaskRequest) {
  const { inputResponses, hasResponses } = asked;
  const view = await ownTask(gatedCalls, asked.caller, asked.params);
  // The schema of the extension requires the member, also where no question is open (TASK-045).
  if (!hasResponses) throw new CountersignError('ERR_ARGUMENTS_INVALID', 'inputResponses is missing');
  const { gatedCallId, questions = [] } = view;
  if (inputResponses.has(PAGE_QUESTION) && asksForPage(view, rendering, { opensPages: true })) {
    await gatedCalls.answerPage(gatedCallId);
  }
  const { answers, refused } = answersTo(questions, inputResponses);
  if (answers.length > 0) await gatedCalls.answer(gatedCallId, answers);
  if (refused.length > 0) await gatedCalls.askAgain(gatedCallId, refused);
  return { resultType: 'complete' };
}

const KEY_BYTES = 8;

function answersTo(questions: readonly TaskQuestion[], responses: TaskRequest['inputResponses']) {
  const answers: TaskAnswer[] = [];
  const refused: RefusedAnswer[] = [];
  for (const { key, form } of questions) {
    if (!responses.has(key)) continue;
    const again = (why: AskedAgain) =>
      refused.push({ key, next: { key: `input-again-${randomText(KEY_BYTES)}`, form, again: why } });
    const response = inputResponse.safeParse(responses.get(key));
    const { action, content = {} } = response.data ?? { action: undefined };
    const fitting = action === 'accept' ? answerTo(form, content as JsonObject) : undefined;
    if (fitting !== undefined) answers.push({ key, content: fitting });
    else if (action === 'decline' || action === 'cancel') again({ why: 'declined' });
    else again({ why: 'misfit', fields: action === 'accept' ? misfitsOf(form, content as JsonObject) : [] });
  }
  return { answers, refused };
}

/**
 * `tasks/cancel`: competes with the execution claim. The acknowledgement is the same whether the cancellation won, lost or came after the
 * end, because the fence alone decides (SEP-2848, Cancellation). `tasks/get` shows the outcome.
 */
async function cancelTask({ gatedCalls }: TaskMethodDeps, { caller, params }: TaskRequest) {
  const { gatedCallId } = await ownTask(gatedCalls, caller, params);
  await gatedCalls.cancel(gatedCallId);
  return { resultType: 'complete' };
}
