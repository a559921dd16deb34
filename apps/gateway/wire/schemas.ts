import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { TASKS_EXTENSION } from './identifiers.ts';

/** One of an upstream's tasks is a sealed text, with names in it that others chose. */
const taskId = z
  .string()
  .min(1)
  .max(4_096)
  // No id of ours has it, and no column holds it.
  .regex(/^[^\0]*$/);

/** Parameters of `tasks/get`, `tasks/update` and `tasks/cancel`. */
export const taskParams = z.looseObject({ taskId });

/** A request that is counted, as far as its rate is concerned. The rest is checked by those who answer it. */
export const countedRequest = z.object({
  id: z.union([z.string(), z.number()]).nullable().catch(null),
  params: z
    .object({ notifications: z.object({ taskIds: z.array(z.unknown()) }) })
    .optional()
    .catch(undefined),
});

/** A request `subscriptions/listen`, of which the SDK has checked the rest. */
export const listenRequest = z.looseObject({
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    notifications: z.looseObject({ taskIds: z.unknown().optional() }),
    _meta: z.looseObject({ [CLIENT_CAPABILITIES_META_KEY]: z.unknown() }),
  }),
});

/** Each is looked up before the subscription is acknowledged. */
export const MAX_TASKS_PER_SUBSCRIPTION = 100;
export const subscribedTasks = z.array(taskId).max(MAX_TASKS_PER_SUBSCRIPTION);

/** Accepts anything, so that a missing capability is reported before a wrong parameter. */
export const anyParams = z.looseObject({});

const extensionsOf = z.looseObject({ extensions: z.record(z.string(), z.unknown()).optional() });

/** Whether the capabilities of this very request name the tasks extension. What earlier requests declared is nothing. */
export function declaresTasks(clientCapabilities: unknown): boolean {
  const parsed = extensionsOf.safeParse(clientCapabilities);
  const settings = parsed.data?.extensions?.[TASKS_EXTENSION];
  return typeof settings === 'object' && settings !== null;
}

/** The answer to one question. */
export const inputResponse = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.unknown()).optional(),
});

/** Body of a callback of the access request service. Only the id is used: the status is always fetched (PRJ-16). */
export const callbackBody = z.looseObject({ task: z.looseObject({ id: z.string().min(1).max(256) }) });

/** A tool result as it was stored; every member beyond these is kept. */
export const storedResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
