import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  type AuthInfo,
  type RequestId,
  type Result,
} from '@modelcontextprotocol/server';
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { subjectKey, type Principal } from '../../../workflows/domain/principal.ts';
import { callerOf } from '../mcp/authentication.ts';
import { guard, errorResponse, tooManyRequests } from '../wire/errors.ts';
import type { ConcurrencyLimit } from '../calls/concurrency-limit.ts';
import { INVALID_PARAMS, LISTEN } from '../wire/identifiers.ts';
import { listenRequest, MAX_TASKS_PER_SUBSCRIPTION, subscribedTasks } from '../wire/schemas.ts';
import { missingTasksCapability } from '../wire/sdk-overlay.ts';
import {
  findRelayedTask,
  watchRelayedTask,
  type RelayedTask,
  type RelayedTaskDeps,
} from '../extensions/relayed-rounds.ts';
import { relayedCapabilities, FORMS, PAGES, TASKS, undeclared } from '../wire/request-context.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../shared/crypto.ts';
import {
  openEventStream,
  renderAcknowledgement,
  renderSubscriptionEnd,
  renderTaskNotification,
  type EventStream,
} from '../wire/event-stream.ts';
import type { Rendering } from '../wire/rendering.ts';
import { renderRelayedTask } from '../wire/upstream-result.ts';
import { renderTask } from '../wire/render-task.ts';
import { watchTasks, type TaskWatchDeps } from './watch.ts';

/** Each costs repeated requests to its upstream. Tasks beyond this are not acknowledged, but can still be read. */
const MAX_RELAYED_TASKS = 10;
/** When a client may retry if there are too many streams. */
const WAIT_FOR_A_SLOT_MS = 10_000;

export interface SubscriptionDeps extends TaskWatchDeps, RelayedTaskDeps {
  readonly gatedCalls: Pick<GatedCalls, 'findTask' | 'readTask' | 'ownerOf'>;
  readonly rendering: Rendering;
  /** Of streams, and of calls that wait. */
  readonly concurrency: ConcurrencyLimit;
  readonly log: Logger;
}

/**
 * Answers `subscriptions/listen` in place of the SDK.
 *
 * @param opened The SDK's own answer after all its checks: the stream of the standard notifications.
 * @param asked The parsed request.
 */
export type ServeSubscription = (opened: Response, asked: unknown, auth: AuthInfo | undefined) => Promise<Response>;

export function createSubscriptions(deps: SubscriptionDeps): ServeSubscription {
  const guarded = guard(deps.log, deps.rendering.coaz.denials);

  return async (opened, asked, auth) => {
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
      const capabilities = relayedCapabilities(params._meta[CLIENT_CAPABILITIES_META_KEY]);
      const { taskIds } = params.notifications;
      const tasks = await guarded(LISTEN, () => tasksOf(deps, { taskIds, capabilities, caller }));
      const standard = await readStandardStream(opened);
      const expiresAt = auth?.expiresAt ?? 0;
      const served = serveSubscription(deps, { id, caller, capabilities, tasks, expiresAt, standard });
      void served.closed.then(() => slot.release());
      // At a stop the stream ends with a result, as the draft asks.
      if (slot.closing.aborted) served.end();
      else slot.closing.addEventListener('abort', served.end, { once: true });
      return served.response;
    } catch (error) {
      slot.release();
      if (error instanceof ProtocolError) return refuse(errorResponse(id, error));
      throw error;
    }
  };
}

/**
 * The caller's tasks of the filter. Other callers' tasks are left out silently, so that an id reveals nothing to them. `undefined`: the
 * filter has no tasks. @see LISTEN-003, TASK-073
 */
async function tasksOf(
  { gatedCalls, sealedStates }: Pick<SubscriptionDeps, 'gatedCalls' | 'sealedStates'>,
  { taskIds, capabilities, caller }: Pick<Subscription, 'capabilities' | 'caller'> & { taskIds?: unknown },
): Promise<SubscribedTasks | undefined> {
  if (taskIds === undefined) return undefined;
  if (undeclared(TASKS, capabilities) !== undefined) throw missingTasksCapability();
  const asked = subscribedTasks.safeParse(taskIds);
  if (!asked.success)
    throw new ProtocolError(INVALID_PARAMS, `taskIds must be a list of at most ${MAX_TASKS_PER_SUBSCRIPTION} task ids`);
  const own: string[] = [];
  const relayed: RelayedTask[] = [];
  for (const taskId of new Set(asked.data)) {
    const task = await findRelayedTask(sealedStates, caller, taskId);
    if (task !== undefined) relayed.push(task);
    else if ((await gatedCalls.findTask(taskId, gatedCalls.ownerOf(caller))) !== undefined) own.push(taskId);
  }
  return { own, relayed: relayed.slice(0, MAX_RELAYED_TASKS) };
}

interface Subscription {
  readonly id: RequestId;
  readonly caller: Principal;
  /** Of the client that listens. */
  readonly capabilities: JsonObject;
  /** `undefined` if the filter has no tasks. */
  readonly tasks: SubscribedTasks | undefined;
  /** When the token expires, in seconds since the epoch. */
  readonly expiresAt: number;
  readonly standard: StandardStream;
}

interface SubscribedTasks {
  /** Tasks of gated calls. */
  readonly own: readonly string[];
  /** Tasks that upstreams opened. */
  readonly relayed: readonly RelayedTask[];
}

/**
 * Serves standard and task notifications in one stream until the token expires, the client leaves, or nothing is left to report. If tasks
 * cannot be read, the stream breaks off without a result, so that the client does not take silence for "unchanged".
 */
function serveSubscription(deps: SubscriptionDeps, of: Subscription) {
  const { clock } = deps;
  const stream = openEventStream(clock);
  const end = () => stream.end(renderSubscriptionEnd(of.id));
  const cancelExpiry = clock.once(of.expiresAt * 1_000 - clock.now(), end);
  stream.over.addEventListener('abort', () => void of.standard.cancel(), { once: true });
  report(deps, of, stream)
    .then(end, (err: unknown) => {
      deps.log.error({ err }, 'a subscription broke off');
      stream.end();
    })
    .finally(cancelExpiry);
  return { response: stream.response, closed: stream.closed, end };
}

/** Resolves when nothing is left to report. */
async function report(deps: SubscriptionDeps, of: Subscription, stream: EventStream): Promise<void> {
  const { id, caller, capabilities, tasks, standard } = of;
  const { own, relayed } = tasks ?? { own: [], relayed: [] };
  const taskIds = [...own, ...relayed.map(({ taskId }) => taskId)];
  await stream.send(renderAcknowledgement(id, { ...standard.honored, ...(tasks !== undefined && { taskIds }) }));
  /** Digests of the last notification of each task. A notice does not always mean that the task looks different. */
  const shown = new Map<string, string>();
  const show = async (taskId: string, task: Result) => {
    const notification = renderTaskNotification(id, task);
    // The pause between polls grows all the time, and means nothing to a client that listens.
    const digest = sha256(JSON.stringify({ ...task, pollIntervalMs: undefined }));
    if (digest === shown.get(taskId)) return;
    shown.set(taskId, digest);
    await stream.send(notification);
  };
  const asker = { caller, capabilities, inputResponses: new Map(), signal: stream.over };
  // Every watched task listens to this signal: more than the ten listeners after which Node warns of a leak.
  setMaxListeners(0, stream.over);
  await Promise.all([
    Object.keys(standard.honored).length > 0 && standard.relay(stream.send),
    watchTasks(deps, {
      taskIds: own,
      owner: deps.gatedCalls.ownerOf(caller),
      signal: stream.over,
      async show(view) {
        // As for `tasks/get`: a client gets no question that it cannot show (MRTR-005), and no task without its questions.
        if (view.state === 'input_required' && undeclared(FORMS, capabilities) !== undefined) return;
        const opensPages = undeclared(PAGES, capabilities) === undefined;
        await show(view.taskId, renderTask(view, deps.rendering, { opensPages }));
      },
    }),
    ...relayed.map((task) =>
      watchRelayedTask(deps, task, asker, (seen) => show(task.taskId, renderRelayedTask(task.taskId, seen))),
    ),
  ]);
}

/** The standard notifications of a subscription, as the SDK sends them. */
type StandardStream = Awaited<ReturnType<typeof readStandardStream>>;

/** Reads the SDK's answer to `subscriptions/listen`. Its first message is the acknowledgement. */
async function readStandardStream(answer: Response) {
  if (answer.body === null) throw new Error('the protocol layer gave an empty answer to a subscription');
  const reader = answer.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  const next = async () => {
    const { value } = await reader.read();
    return (
      value && (JSON.parse(value.data) as { method?: string; params?: { notifications?: Record<string, unknown> } })
    );
  };
  const acknowledged = await next();
  return {
    /** The part of the filter that the SDK serves. */
    honored: acknowledged?.params?.notifications ?? {},
    /** Forwards each notification until the stream ends. */
    async relay(to: (notification: object) => Promise<void>): Promise<void> {
      for (let message = await next(); message?.method !== undefined; message = await next()) await to(message);
    },
    cancel: () => reader.cancel().catch(() => undefined),
  };
}
