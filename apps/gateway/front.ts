import { isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { Subscriptions } from './listen/subscriptions.ts';
import { LISTEN } from './wire/identifiers.ts';

/** Answers one request to the MCP endpoint. */
export type Front = Pick<McpHttpHandler, 'fetch'>;

/**
 * The protocol layer with what the SDK does not do. It serves subscriptions, but drops the tasks that they name: so it
 * checks them as every request, and what it opens is served by us.
 */
export function createFront({ handler, subscriptions }: { handler: Front; subscriptions: Subscriptions }): Front {
  return {
    async fetch(request, options) {
      const answer = await handler.fetch(request, options);
      const asked: unknown = options?.parsedBody;
      if (methodOf(asked) !== LISTEN || !isStream(answer) || (await isLegacyRequest(request, asked))) return answer;
      return subscriptions.serve(answer, asked, options?.authInfo);
    },
  };
}

const methodOf = (asked: unknown) => (asked as { method?: unknown } | null | undefined)?.method;
const isStream = (answer: Response) => answer.headers.get('content-type') === 'text/event-stream';
