import { isLegacyRequest, type AuthInfo, type McpHttpHandler } from '@modelcontextprotocol/server';
import { subjectKey } from '../../../workflows/domain/principal.ts';
import { callerOf } from './authentication.ts';
import type { Timing } from '../../shared/limits.ts';
import { withFirstByte } from './first-byte.ts';
import type { MethodGate } from './authorize.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ServeSubscription } from '../tasks/subscriptions.ts';
import type { RateLimit } from '../../shared/http/address-limit.ts';
import type { Admission } from '../calls/admission.ts';
import { isAboutTasks, overloaded, tooManyRequests } from '../wire/errors.ts';
import { LISTEN } from '../wire/identifiers.ts';
import { withStatusFor, type CompleteTaskHeader } from '../wire/headers.ts';
import { countedRequest, MAX_TASKS_PER_SUBSCRIPTION } from '../wire/schemas.ts';

/** Answers one request to the MCP endpoint. */
export type McpEndpoint = Pick<McpHttpHandler, 'fetch'>;

interface RequestLimitDeps extends Timing {
  /** The SDK's. */
  readonly handler: McpEndpoint;
  readonly serveSubscription: ServeSubscription;
  /** Of requests about tasks, for each subject. */
  readonly polls: RateLimit;
  /** Of calls of tools, for each subject. */
  readonly calls: RateLimit;
  /** Of calls of tools, for the whole process. */
  readonly admission: Admission;
  /** Missing if the PDP decides only on calls and reads of upstreams (`coaz.everyMethod`). */
  readonly gate?: MethodGate;
  readonly completeTaskHeader: CompleteTaskHeader;
  readonly sessions: Pick<Sessions, 'serve'>;
}

/**
 * Adds to the protocol layer what the SDK lacks. The SDK has no rate limits. It drops the tasks that a subscription names, so the SDK
 * checks the subscription and the gateway serves the stream.
 */
export function createRequestLimits({
  handler,
  serveSubscription,
  admission,
  gate,
  completeTaskHeader,
  sessions,
  ...deps
}: RequestLimitDeps): McpEndpoint {
  const serve: McpEndpoint['fetch'] = async (request, options) => {
    const asked: unknown = options?.parsedBody;
    completeTaskHeader(request, asked, () => callerOf(options?.authInfo));
    const denied = await gate?.(asked, options?.authInfo);
    if (denied !== undefined) return denied;
    const inSession = await sessions.serve(request, options);
    if (inSession !== undefined) return inSession;
    const answer = withStatusFor(request, await handler.fetch(request, options));
    if (subjectOf(asked) !== LISTEN || !isStream(answer) || (await isLegacyRequest(request, asked))) return answer;
    return serveSubscription(answer, asked, options?.authInfo);
  };
  const admitted: McpEndpoint['fetch'] = async (request, options) => {
    const asked: unknown = options?.parsedBody;
    const tooOften = await refuseTooMany(deps, asked, options?.authInfo);
    if (tooOften !== undefined) return tooOften;
    const [first] = messagesIn(asked).filter(isMade);
    if (first === undefined) return serve(request, options);
    return (await admission.serve(() => serve(request, options))) ?? overloaded(countedRequest.parse(first).id);
  };
  return {
    fetch: (request, options) =>
      withFirstByte({ request, asked: options?.parsedBody }, admitted(request, options), deps),
  };
}

const messagesIn = (asked: unknown): readonly unknown[] => (Array.isArray(asked) ? asked : [asked]);
const isPoll = (message: unknown) => isAboutTasks(subjectOf(message));
/** A call of a tool of an upstream. Questions about calls are answered also when the gateway has too much to do. */
const isMade = (message: unknown) => isCall(message) && !isPoll(message);

/** The method of a message, or the tool that it calls. */
function subjectOf(message: unknown): string {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  const subject = isCall(message) ? params?.name : method;
  return typeof subject === 'string' ? subject : '';
}

const isCall = (message: unknown) => (message as { method?: unknown } | null | undefined)?.method === 'tools/call';

/** The refusal of a request, or of a batch of an earlier revision, that exceeds a rate limit. */
async function refuseTooMany(
  { polls, calls }: Pick<RequestLimitDeps, 'polls' | 'calls'>,
  asked: unknown,
  auth: AuthInfo | undefined,
): Promise<Response | undefined> {
  const messages = messagesIn(asked);
  const about = messages.filter(isPoll);
  const made = messages.filter(isMade);
  const taken = [
    { of: about, limit: polls, cost: sumOf(about.map(tasksNamed)), what: 'Too many requests about tasks.' },
    { of: made, limit: calls, cost: made.length, what: 'Too many tool calls. The tool did not run.' },
  ];
  for (const { of, limit, cost, what } of taken) {
    if (cost === 0) continue;
    const waitMs = await limit.take(subjectKey(callerOf(auth)), cost);
    if (waitMs !== undefined) return tooManyRequests(countedRequest.parse(of[0]).id, what, waitMs);
  }
  return undefined;
}

/** Each task of a stream costs as much as a request about it. A list that is too long is refused before any task is looked up. */
function tasksNamed(message: unknown): number {
  const count = countedRequest.parse(message).params?.notifications.taskIds.length ?? 1;
  return count > MAX_TASKS_PER_SUBSCRIPTION ? 1 : Math.max(1, count);
}
const sumOf = (costs: readonly number[]) => costs.reduce((sum, cost) => sum + cost, 0);

const isStream = (answer: Response) => answer.headers.get('content-type') === 'text/event-stream';
