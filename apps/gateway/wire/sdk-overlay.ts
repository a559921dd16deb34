import {
  MissingRequiredClientCapabilityError,
  Server,
  type JSONRPCRequest,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { FORMS, TASKS } from './request-context.ts';

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>;

/**
 * The SDK's server, but results of `tools/call` are sent unchanged. The SDK validates the request, and a placeholder instead of the
 * result: it would add `content` to a task, and drop members of an upstream's content that its schemas do not know.
 */
export class VerbatimServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    if (method !== 'tools/call') return super._wrapHandler(method, handler);
    return async (request, ctx) => {
      let written: Result | undefined;
      const validate = super._wrapHandler(method, async (validRequest, validCtx) => {
        written = await handler(validRequest, validCtx);
        return { content: [] };
      });
      const placeholder = await validate(request, ctx);
      return written ?? placeholder;
    };
  }
}

/**
 * A tool for `tools/list`. The SDK deletes `execution`, a member of earlier revisions. Clients of those revisions read it, so it is added
 * at serialisation.
 */
export function verbatimTool<T extends Record<string, unknown>>(tool: T): T {
  if (!('execution' in tool)) return tool;
  const { execution, ...rest } = tool;
  const whole = { ...rest, execution };
  return Object.defineProperty(rest, 'toJSON', { enumerable: false, value: () => whole }) as unknown as T;
}

/** Answered with -32021 and HTTP 400. @see SEP-2663, Protocol errors; SEP-2322, server requirements */
export const missingCapabilities = (requiredCapabilities: JsonObject) =>
  new MissingRequiredClientCapabilityError({ requiredCapabilities });

/** For a task that asks for input, if the client did not declare that it can show forms. */
export const missingFormsCapability = () => missingCapabilities(FORMS);

export const missingTasksCapability = () => missingCapabilities(TASKS);
