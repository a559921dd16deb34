import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, type AuthInfo } from '@modelcontextprotocol/server';
import { ownerKey } from '../../../workflows/domain/principal.ts';
import { callerOf } from '../caller.ts';
import { guard } from '../guard.ts';
import { onAbort, type Places } from '../places.ts';
import { INVALID_PARAMS, LISTEN } from '../wire/identifiers.ts';
import { refusal, tooManyRequests } from '../wire/refusal.ts';
import { FORMS, relayedCapabilities, undeclared } from '../wire/capabilities.ts';
import { declaresTasks, listenRequest, subscribedTasks } from '../wire/schemas.ts';
import { missingTasksCapability } from '../wire/sdk-overlay.ts';
import { readStandardStream } from './standard-stream.ts';
import { serveSubscription, type SubscriptionDeps } from './subscription.ts';

/** What a client is told to wait when there are too many streams: until one of them may have ended. */
const WAIT_FOR_A_PLACE_MS = 10_000;

export interface SubscriptionsDeps extends SubscriptionDeps {
  readonly places: Places;
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
  const guarded = guard(deps.log);

  async function serve(opened: Response, asked: unknown, auth: AuthInfo | undefined): Promise<Response> {
    const { id, params } = listenRequest.parse(asked);
    const refuse = async (answer: Response) => {
      await opened.body?.cancel();
      return answer;
    };
    const owner = ownerKey(callerOf(auth));
    const place = deps.places.take(owner);
    if (place === undefined) {
      return refuse(tooManyRequests(id, 'Too many subscriptions are open', WAIT_FOR_A_PLACE_MS));
    }
    try {
      const taskIds = await guarded(LISTEN, () => ownTasks(deps, params, owner));
      const standard = await readStandardStream(opened);
      const acceptsForms =
        undeclared(FORMS, relayedCapabilities(params._meta[CLIENT_CAPABILITIES_META_KEY])) === undefined;
      const expiresAt = auth?.expiresAt ?? 0;
      const served = serveSubscription(deps, { id, owner, taskIds, acceptsForms, expiresAt, standard });
      void served.closed.then(() => place.leave());
      // With a result, as the draft asks for at a stop.
      onAbort(place.closing, served.end);
      return served.response;
    } catch (error) {
      place.leave();
      if (error instanceof ProtocolError) return refuse(refusal(id, error));
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
async function ownTasks(
  { gatedCalls }: Pick<SubscriptionDeps, 'gatedCalls'>,
  { notifications, _meta }: ReturnType<typeof listenRequest.parse>['params'],
  owner: string,
): Promise<string[] | undefined> {
  if (notifications.taskIds === undefined) return undefined;
  if (!declaresTasks(_meta[CLIENT_CAPABILITIES_META_KEY])) throw missingTasksCapability();
  const asked = subscribedTasks.safeParse(notifications.taskIds);
  if (!asked.success)
    throw new ProtocolError(INVALID_PARAMS, 'taskIds must be a list of task ids that is not too long');
  const own: string[] = [];
  for (const taskId of new Set(asked.data)) {
    if ((await gatedCalls.findTask(taskId, owner)) !== undefined) own.push(taskId);
  }
  return own;
}
