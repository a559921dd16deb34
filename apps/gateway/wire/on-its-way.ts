import type { LoggingLevel, ServerContext } from '@modelcontextprotocol/server';
import type { LogMessage, Progress } from '../../../workflows/domain/upstream-ports.ts';
import type { Session } from './request-context.ts';
import type { ToolCall } from '../calls/tool-call.ts';

/**
 * Tells a client what comes of its call before the answer, on the stream of the answer. In the present revision logging is
 * deprecated, and nobody is told of it. What cannot be sent is lost: the client has gone, or has its answer.
 */
export const onItsWay = (
  { isModern }: Pick<Session, 'isModern'>,
  ctx: ServerContext,
): Pick<ToolCall, 'onProgress' | 'onLog'> => ({
  onProgress: progressTo(ctx),
  onLog: isModern ? undefined : logsTo(ctx),
});

/** Under the token that the client chose. `undefined` when it chose none. */
function progressTo({ mcpReq }: ServerContext): ((progress: Progress) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress) => {
    const params = { ...progress, progressToken };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

function logsTo({ mcpReq }: ServerContext): (message: LogMessage) => void {
  return ({ level, ...message }) => {
    // The SDK has looked at the level when the message came.
    const params = { level: level as LoggingLevel, ...message };
    mcpReq.notify({ method: 'notifications/message', params }).catch(() => undefined);
  };
}
