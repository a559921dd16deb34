import { isLegacyRequest, type AuthInfo, type McpHttpHandler } from '@modelcontextprotocol/server';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { callerOf } from './caller.ts';
import type { Subscriptions } from './listen/subscriptions.ts';
import type { RateLimit } from './rate-limit.ts';
import { isAboutTasks } from './wire/error-codes.ts';
import { LISTEN } from './wire/identifiers.ts';
import { tooManyRequests } from './wire/refusal.ts';
import { pollRequest } from './wire/schemas.ts';

/** Answers one request to the MCP endpoint. */
export type Front = Pick<McpHttpHandler, 'fetch'>;

export interface FrontDeps {
  /** The SDK. */
  readonly handler: Front;
  readonly subscriptions: Subscriptions;
  /** Of requests about tasks, for each caller. */
  readonly polls: RateLimit;
}

/**
 * The protocol layer with what the SDK does not do. It limits no rate. It serves subscriptions, but drops the tasks that
 * they name: so it checks them as every request, and what it opens is served by us.
 */
export function createFront({ handler, subscriptions, polls }: FrontDeps): Front {
  return {
    async fetch(request, options) {
      const asked: unknown = options?.parsedBody;
      const method = methodOf(asked);
      const tooOften = isAboutTasks(method) ? await refusal(polls, asked, options?.authInfo) : undefined;
      if (tooOften !== undefined) return tooOften;
      const answer = await handler.fetch(request, options);
      if (method !== LISTEN || !isStream(answer) || (await isLegacyRequest(request, asked))) return answer;
      return subscriptions.serve(answer, asked, options?.authInfo);
    },
  };
}

function methodOf(asked: unknown): string {
  const method = (asked as { method?: unknown } | null | undefined)?.method;
  return typeof method === 'string' ? method : '';
}

/** The answer to a request about tasks that is one too many. */
async function refusal(polls: RateLimit, asked: unknown, auth: AuthInfo | undefined): Promise<Response | undefined> {
  const { id, params } = pollRequest.parse(asked);
  const tasks = params?.notifications.taskIds.length ?? 1;
  const waitMs = await polls.take(ownerKey(callerOf(auth)), Math.max(1, tasks));
  return waitMs === undefined ? undefined : tooManyRequests(id, 'Tasks are asked for too often', waitMs);
}

const isStream = (answer: Response) => answer.headers.get('content-type') === 'text/event-stream';
