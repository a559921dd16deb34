import { isLegacyRequest, type AuthInfo, type McpHttpHandler } from '@modelcontextprotocol/server';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { callerOf } from './caller.ts';
import type { Subscriptions } from './listen/subscriptions.ts';
import type { RateLimit } from './rate-limit.ts';
import { isAboutTasks } from './wire/error-codes.ts';
import { LISTEN } from './wire/identifiers.ts';
import { withStatusFor } from './wire/mirrored-headers.ts';
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
      const tooOften = await refusal(polls, asked, options?.authInfo);
      if (tooOften !== undefined) return tooOften;
      const answer = withStatusFor(request, await handler.fetch(request, options));
      if (subjectOf(asked) !== LISTEN || !isStream(answer) || (await isLegacyRequest(request, asked))) return answer;
      return subscriptions.serve(answer, asked, options?.authInfo);
    },
  };
}

/** The method of a message; of a call of a tool, the tool. */
function subjectOf(message: unknown): string {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  const subject = method === 'tools/call' ? params?.name : method;
  return typeof subject === 'string' ? subject : '';
}

/** The answer to a request about tasks, or to a batch of earlier revisions with some, that is one too many. */
async function refusal(polls: RateLimit, asked: unknown, auth: AuthInfo | undefined): Promise<Response | undefined> {
  const messages: readonly unknown[] = Array.isArray(asked) ? asked : [asked];
  const about = messages.filter((message) => isAboutTasks(subjectOf(message))).map((one) => pollRequest.parse(one));
  const [first] = about;
  if (first === undefined) return undefined;
  const tasks = about.map(({ params }) => Math.max(1, params?.notifications.taskIds.length ?? 1));
  const waitMs = await polls.take(
    ownerKey(callerOf(auth)),
    tasks.reduce((sum, count) => sum + count),
  );
  return waitMs === undefined ? undefined : tooManyRequests(first.id, 'Tasks are asked for too often', waitMs);
}

const isStream = (answer: Response) => answer.headers.get('content-type') === 'text/event-stream';
