import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, type AuthInfo } from '@modelcontextprotocol/server';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { subjectKey, type Principal } from '../../../workflows/domain/principal.ts';
import { callerOf } from '../mcp/authentication.ts';
import { guard, errorResponse, tooManyRequests } from '../wire/errors.ts';
import { onAbort, type ConcurrencyLimit } from '../calls/concurrency-limit.ts';
import { INVALID_PARAMS, LISTEN } from '../wire/identifiers.ts';
import { declaresTasks, listenRequest, subscribedTasks } from '../wire/schemas.ts';
import { missingTasksCapability } from '../wire/sdk-overlay.ts';
import { readStandardStream, serveSubscription, type SubscribedTasks, type SubscriptionDeps } from './subscription.ts';
import { findRelayedTask, type RelayedTask } from '../extensions/relayed-rounds/tasks.ts';
import { relayedCapabilities } from '../wire/request-context.ts';

/** Each costs a request to its upstream again and again. What is left out is not acknowledged, and can be read. */
const MAX_RELAYED_TASKS = 10;
/** What a client is told to wait when there are too many streams: until one of them may have ended. */
const WAIT_FOR_A_SLOT_MS = 10_000;

export interface SubscriptionsDeps extends SubscriptionDeps {
  readonly concurrency: ConcurrencyLimit;
  readonly gatedCalls: Pick<GatedCalls, 'findTask' | 'readTask' | 'ownerOf'>;
}

/** The open subscriptions of this process. */
export interface Subscriptions {
  /**
   * Answers `subscriptions/listen` in place of the SDK.
   *
   * @param opened The SDK's own answer after all its checks: the stream of the standard notifications.
   * @param asked The request as it was parsed.
   */
  serve(opened: Response, asked: unknown, auth: AuthInfo | undefined): Promise<Response>;
}

export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  const guarded = guard(deps.log, deps.rendering.coaz.denials);

  async function serve(opened: Response, asked: unknown, auth: AuthInfo | undefined): Promise<Response> {
    const { id, params } = listenRequest.parse(asked);
    const refuse = async (answer: Response) => {
      await opened.body?.cancel();
      return answer;
    };
    const caller = callerOf(auth);
    const slot = deps.concurrency.acquire(subjectKey(caller));
    if (slot === undefined) {
      return refuse(tooManyRequests(id, 'Too many subscriptions are open', WAIT_FOR_A_SLOT_MS));
    }
    try {
      const tasks = await guarded(LISTEN, () => tasksOf(deps, params, caller));
      const capabilities = relayedCapabilities(params._meta[CLIENT_CAPABILITIES_META_KEY]);
      const standard = await readStandardStream(opened);
      const expiresAt = auth?.expiresAt ?? 0;
      const served = serveSubscription(deps, { id, caller, capabilities, tasks, expiresAt, standard });
      void served.closed.then(() => slot.release());
      // With a result, as the draft asks for at a stop.
      onAbort(slot.closing, served.end);
      return served.response;
    } catch (error) {
      slot.release();
      if (error instanceof ProtocolError) return refuse(errorResponse(id, error));
      throw error;
    }
  }

  return { serve };
}

/**
 * The tasks of the filter that are the caller's. The others are left out without a word, so that an id tells nothing to
 * those it does not belong to. `undefined`: none were asked for. Throws the error that the client reads.
 *
 * @see LISTEN-003, TASK-073
 */
async function tasksOf(
  { gatedCalls, sealedStates }: Pick<SubscriptionsDeps, 'gatedCalls' | 'sealedStates'>,
  { notifications, _meta }: ReturnType<typeof listenRequest.parse>['params'],
  caller: Principal,
): Promise<SubscribedTasks | undefined> {
  if (notifications.taskIds === undefined) return undefined;
  if (!declaresTasks(_meta[CLIENT_CAPABILITIES_META_KEY])) throw missingTasksCapability();
  const asked = subscribedTasks.safeParse(notifications.taskIds);
  if (!asked.success)
    throw new ProtocolError(INVALID_PARAMS, 'taskIds must be a list of task ids that is not too long');
  const own: string[] = [];
  const relayed: RelayedTask[] = [];
  for (const taskId of new Set(asked.data)) {
    const task = await findRelayedTask(sealedStates, caller, taskId);
    if (task !== undefined) relayed.push(task);
    else if ((await gatedCalls.findTask(taskId, gatedCalls.ownerOf(caller))) !== undefined) own.push(taskId);
  }
  return { own, relayed: relayed.slice(0, MAX_RELAYED_TASKS) };
}
