import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import * as z from 'zod';

/**
 * The id of an upstream's task is a sealed text with names in it that the upstream chose, so it is long. No id has U+0000, and no database
 * column can hold it.
 */
const taskId = z.string().regex(/^[^\0]{1,4096}$/);

/** Parameters of `tasks/get`, `tasks/update` and `tasks/cancel`. */
export const taskParams = z.looseObject({ taskId });

/** The members of a request that rate limits read. The handler checks the rest. */
export const countedRequest = z.object({
  id: z.union([z.string(), z.number()]).nullable().catch(null),
  params: z
    .object({ notifications: z.object({ taskIds: z.array(z.unknown()) }) })
    .optional()
    .catch(undefined),
});

/** `subscriptions/listen`. The SDK has checked the rest of the request. */
export const listenRequest = z.looseObject({
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    notifications: z.looseObject({ taskIds: z.unknown().optional() }),
    _meta: z.looseObject({ [CLIENT_CAPABILITIES_META_KEY]: z.unknown() }),
  }),
});

/** Each task is looked up before the subscription is acknowledged. */
export const MAX_TASKS_PER_SUBSCRIPTION = 100;
export const subscribedTasks = z.array(taskId).max(MAX_TASKS_PER_SUBSCRIPTION);

/** Accepts anything, so that a missing capability is reported before a wrong parameter. */
export const anyParams = z.looseObject({});

/** The answer to one question. */
export const inputResponse = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.unknown()).optional(),
});

/** Body of a callback of the access request service. Only the id is used: the status is always fetched (PRJ-16). */
export const callbackBody = z.looseObject({ task: z.looseObject({ id: z.string().min(1).max(256) }) });

/** Body of a question for a preview. Nothing else is in it, so no callback can be taken for one: it has the same secret. */
export const previewQuestion = z.strictObject({ task: z.strictObject({ id: z.string().min(1).max(256) }) });

/** A stored tool result. Other members are kept. */
export const storedResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
