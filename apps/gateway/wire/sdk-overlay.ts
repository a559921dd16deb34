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
 * The SDK's server, whose `tools/call` results leave as they were written. The SDK validates the request as always, but
 * gets a placeholder to validate in place of the result: it would add `content` to a task, and drop members of an
 * upstream's content that its schemas do not know.
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
 * A tool for `tools/list`. The SDK deletes `execution`, a member of earlier revisions, where it finds it; written at
 * serialisation it stays, because clients of those revisions read it.
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

/** Of a task that asks something, to a client that did not say that it can be asked. */
export const missingFormsCapability = () => missingCapabilities(FORMS);

export const missingTasksCapability = () => missingCapabilities(TASKS);
