import { ProtocolError, type CallToolResult, type McpRequestContext, type Server } from '@modelcontextprotocol/server';
import type { Result, ServerContext } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError, type ErrorCode } from '../../workflows/domain/errors.ts';
import type { GatedCalls, Upstreams } from '../../workflows/domain/ports.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import { callerOf } from './caller.ts';
import type { Enforce } from './enforce.ts';
import { cancelTask } from './tasks/cancel.ts';
import { getTask } from './tasks/get.ts';
import { updateTask } from './tasks/update.ts';
import { listTools } from './upstreams/list-tools.ts';
import { internalError, toProtocolError } from './wire/error-codes.ts';
import {
  APPROVAL_EXTENSION,
  APPROVAL_EXTENSION_ALIAS,
  DENIAL_EXTENSION,
  SERVER_INFO,
  TASKS_EXTENSION,
} from './wire/identifiers.ts';
import { renderAnswer } from './wire/render-answer.ts';
import type { TaskRendering } from './wire/render-task.ts';
import { anyParams } from './wire/schemas.ts';
import { missingTasksCapability, requestDeclaresTasks, VerbatimServer } from './wire/sdk-overlay.ts';
import { forwardedMeta } from './wire/upstream-result.ts';

const INSTRUCTIONS =
  'Some tools need an approval before they run. Such a call answers with a task: keep its id and poll tasks/get. ' +
  'The tool has not run until the task says so.';

export interface McpServerDeps {
  readonly enforce: Enforce;
  readonly gatedCalls: Pick<GatedCalls, 'findTask' | 'cancel'>;
  readonly upstreams: Pick<Upstreams, 'tools'>;
  readonly rendering: TaskRendering;
  readonly log: Logger;
}

/** Builds the MCP server that answers one request. Tasks exist in the present revision only. */
export function createServer(deps: McpServerDeps, { era, authInfo }: McpRequestContext): Server {
  const caller = callerOf(authInfo);
  const isModern = era === 'modern';
  const server = new VerbatimServer(SERVER_INFO, {
    instructions: INSTRUCTIONS,
    capabilities: { tools: isModern ? { listChanged: true } : {}, ...(isModern && { extensions: extensions() }) },
  });
  const guarded = guard(deps.log);

  server.setRequestHandler('tools/list', () =>
    guarded('tools/list', async () => ({ tools: (await listTools(deps.upstreams)) as never })),
  );
  server.setRequestHandler('tools/call', ({ params }, ctx) =>
    guarded('tools/call', async () => {
      const answer = await deps.enforce({
        caller,
        tool: params.name,
        arguments: (params.arguments ?? {}) as JsonObject,
        meta: forwardedMeta(params._meta),
        acceptsTask: isModern && requestDeclaresTasks(ctx),
        signal: ctx.mcpReq.signal,
      });
      return renderAnswer(answer, deps.rendering) as CallToolResult;
    }),
  );
  if (isModern) registerTaskMethods(server, deps, caller);
  return server;
}

/** The settings of the tasks extension stay empty: clients read anything else as another extension. */
const extensions = () => ({
  [TASKS_EXTENSION]: {},
  [APPROVAL_EXTENSION]: {},
  [APPROVAL_EXTENSION_ALIAS]: {},
  [DENIAL_EXTENSION]: {},
});

type TaskMethod = (deps: McpServerDeps, caller: Principal, params: unknown) => Promise<Result>;
const TASK_METHODS: Readonly<Record<string, TaskMethod>> = {
  'tasks/get': getTask,
  'tasks/update': updateTask,
  'tasks/cancel': cancelTask,
};

function registerTaskMethods(server: Server, deps: McpServerDeps, caller: Principal): void {
  const guarded = guard(deps.log);
  for (const [method, handle] of Object.entries(TASK_METHODS)) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, ctx: ServerContext) =>
      guarded(method, async () => {
        if (!requestDeclaresTasks(ctx)) throw missingTasksCapability();
        return handle(deps, caller, params);
      }),
    );
  }
}

/** Failures that somebody has to look at, whoever was answered. */
const ALARMS: Partial<Record<ErrorCode, string>> = {
  ERR_SEAL_BROKEN: 'seal_broken',
  ERR_SEALING_KEY_UNAVAILABLE: 'sealing_key_missing',
};

/**
 * Lets only errors out that were written for clients. The message of any other would go on the wire as it is, so it is
 * logged instead and the client reads a general one.
 */
function guard(log: Logger) {
  return async <T>(method: string, run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      if (error instanceof CountersignError) {
        const alarm = ALARMS[error.code];
        if (alarm !== undefined) log.error({ method, alarm, err: error }, 'what is sealed cannot be opened');
        else if (error.retryable) log.warn({ method, code: error.code, err: error }, 'a request could not be served');
        throw toProtocolError(error, method);
      }
      log.error({ method, err: error }, 'unexpected error while serving a request');
      throw internalError();
    }
  };
}
