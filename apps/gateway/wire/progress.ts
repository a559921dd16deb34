import type { ServerContext } from '@modelcontextprotocol/server';
import type { Progress } from '../../../workflows/domain/ports.ts';

/**
 * Tells the client how far its call has come, on the stream of the answer and under the token that it chose. `undefined` when
 * it chose none. What cannot be sent is lost: the client has gone, or has its answer.
 */
export function progressTo({ mcpReq }: ServerContext): ((progress: Progress) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress) => {
    const params = { ...progress, progressToken };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
