import type { McpRequestContext, Server, ServerCapabilities } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { UpstreamItems } from '../../workflows/domain/upstream-ports.ts';
import type { Accepted } from '../../workflows/domain/tools/pins.ts';
import { callerOf, claimsOf } from './caller.ts';
import { registerCompletionMethods } from './completions/register.ts';
import type { EnforceRead } from './enforce-read.ts';
import { guard } from './guard.ts';
import { registerPromptMethods } from './prompts/register.ts';
import { registerResourceMethods } from './resources/register.ts';
import type { Session } from './session.ts';
import { registerSignatureMethod, type SignatureMethodDeps } from './signature/register.ts';
import { registerTaskMethods, type TaskMethodDeps } from './tasks/register.ts';
import { registerToolMethods, type ToolMethodDeps } from './tools/register.ts';
import { declaredExtensions } from './wire/extensions.ts';
import { SERVER_INFO, SIGNATURE } from './wire/identifiers.ts';
import { instructionsFor } from './wire/instructions.ts';
import { VerbatimServer } from './wire/sdk-overlay.ts';

export interface McpServerDeps extends ToolMethodDeps, TaskMethodDeps, SignatureMethodDeps {
  readonly gatedCalls: ToolMethodDeps['gatedCalls'] & TaskMethodDeps['gatedCalls'];
  readonly enforceRead: EnforceRead;
  readonly signature: Accepted & TaskMethodDeps['signature'];
  readonly redaction: ToolMethodDeps['redaction'] & TaskMethodDeps['redaction'];
  readonly upstreams: ToolMethodDeps['upstreams'] & TaskMethodDeps['upstreams'] & { readonly items: UpstreamItems };
  readonly log: Logger;
}

/** Builds the MCP server that answers one request. Tasks exist in the present revision only. */
export function createServer(deps: McpServerDeps, { era, authInfo }: McpRequestContext): Server {
  const isModern = era === 'modern';
  const session: Session = {
    caller: callerOf(authInfo),
    claims: claimsOf(authInfo),
    isModern,
    guarded: guard(deps.log, deps.rendering.coaz.denials),
  };
  const server = new VerbatimServer(SERVER_INFO, {
    instructions: instructionsFor({ ...deps, isModern }),
    capabilities: {
      ...capabilities(deps.upstreams.items, isModern),
      ...SIGNATURE_CAPABILITY,
      ...(isModern && { extensions: declaredExtensions(deps.rendering) }),
    },
  });
  registerToolMethods(server, deps, session);
  registerSignatureMethod(server, deps, session);
  const { items } = deps.upstreams;
  const reading = { enforceRead: deps.enforceRead, items, signature: deps.signature };
  if (items.mayHave('prompts')) registerPromptMethods(server, reading, session);
  if (items.mayHave('resources')) registerResourceMethods(server, reading, session);
  if (items.mayHave('completions')) registerCompletionMethods(server, reading, session);
  if (isModern) registerTaskMethods(server, deps, session);
  return server;
}

/** Whatever an upstream may turn out to have. Only in the present revision is there a stream on which changes are told. */
function capabilities(items: UpstreamItems, isModern: boolean): ServerCapabilities {
  const listed = isModern ? { listChanged: true } : {};
  return {
    tools: listed,
    ...(items.mayHave('prompts') && { prompts: listed }),
    ...(items.mayHave('resources') && { resources: listed }),
    ...(items.mayHave('completions') && { completions: {} }),
    // With it the SDK takes `logging/setLevel`. Without sessions the level is forgotten, and what is at least `info` is told.
    ...(!isModern && { logging: {} }),
  };
}

/** One that the SDK does not know. It has no settings. */
const SIGNATURE_CAPABILITY: object = { [SIGNATURE]: {} };
