import type { McpRequestContext, Server } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { callerOf, claimsOf } from './caller.ts';
import { guard } from './guard.ts';
import type { Session } from './session.ts';
import { registerTaskMethods, type TaskMethodDeps } from './tasks/register.ts';
import { registerToolMethods, type ToolMethodDeps } from './tools/register.ts';
import {
  APPROVAL_EXTENSION,
  APPROVAL_EXTENSION_ALIAS,
  DENIAL_EXTENSION,
  SERVER_INFO,
  TASKS_EXTENSION,
} from './wire/identifiers.ts';
import { VerbatimServer } from './wire/sdk-overlay.ts';

const INSTRUCTIONS =
  'Some tools need an approval before they run. Such a call answers with a task: keep its id and poll tasks/get. ' +
  'The tool has not run until the task says so.';

export interface McpServerDeps extends ToolMethodDeps, TaskMethodDeps {
  readonly log: Logger;
}

/** Builds the MCP server that answers one request. Tasks exist in the present revision only. */
export function createServer(deps: McpServerDeps, { era, authInfo }: McpRequestContext): Server {
  const isModern = era === 'modern';
  const session: Session = {
    caller: callerOf(authInfo),
    claims: claimsOf(authInfo),
    isModern,
    guarded: guard(deps.log),
  };
  const server = new VerbatimServer(SERVER_INFO, {
    instructions: INSTRUCTIONS,
    capabilities: { tools: isModern ? { listChanged: true } : {}, ...(isModern && { extensions: extensions() }) },
  });
  registerToolMethods(server, deps, session);
  if (isModern) registerTaskMethods(server, deps, session);
  return server;
}

/** The settings of the tasks extension stay empty: clients read anything else as another extension. */
const extensions = () => ({
  [TASKS_EXTENSION]: {},
  [APPROVAL_EXTENSION]: {},
  [APPROVAL_EXTENSION_ALIAS]: {},
  [DENIAL_EXTENSION]: {},
});
