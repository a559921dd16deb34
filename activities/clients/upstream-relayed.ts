import * as z from 'zod';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { RelayedAnswer, RelayedTaskAnswer, TaskMethod } from '../../workflows/domain/relay-port.ts';
import type { UpstreamRound, UpstreamTask } from '../../workflows/domain/relay.ts';
import { INPUT_METHODS } from '../../workflows/domain/tools/wire-names.ts';
import { NOT_A_RESULT, readToolResult } from './upstream-answer.ts';

/** What an upstream may make us keep for it in a client's hands, in characters. */
const MAX_STATE_LENGTH = 16_384;
const MAX_NAME_LENGTH = 256;

const meta = z.record(z.string(), z.unknown()).optional();
const inputRequests = z.record(
  z.string().min(1).max(MAX_NAME_LENGTH),
  z.looseObject({ method: z.enum(Object.values(INPUT_METHODS)), params: z.looseObject({}).optional() }),
);

/** @see SEP-2322, server requirements (MRTR-003, MRTR-004) */
const round = z
  .object({
    resultType: z.literal('input_required'),
    inputRequests: inputRequests.optional(),
    requestState: z.string().max(MAX_STATE_LENGTH).optional(),
    _meta: meta,
  })
  .refine((of) => of.requestState !== undefined || Object.keys(of.inputRequests ?? {}).length > 0);

const instant = z.iso.datetime({ offset: true });
/** @see SEP-2663, Tasks (TASK-013, TASK-014) */
const task = z.looseObject({
  taskId: z.string().min(1).max(MAX_NAME_LENGTH),
  statusMessage: z.string().optional(),
  createdAt: instant,
  lastUpdatedAt: instant,
  ttlMs: z.number().int().nonnegative().nullable(),
  pollIntervalMs: z.number().int().nonnegative().optional(),
  _meta: meta,
});
const createdTask = task.extend({ status: z.enum(['working', 'input_required', 'completed', 'cancelled', 'failed']) });
const wholeTask = z.discriminatedUnion('status', [
  task.extend({ status: z.literal('working') }),
  task.extend({ status: z.literal('cancelled') }),
  task.extend({ status: z.literal('input_required'), inputRequests }),
  task.extend({ status: z.literal('completed'), result: z.looseObject({}) }),
  task.extend({
    status: z.literal('failed'),
    error: z.looseObject({ code: z.number().int(), message: z.string() }),
  }),
]);

const isOfType = (raw: unknown, type: string) =>
  typeof raw === 'object' && raw !== null && (raw as { resultType?: unknown }).resultType === type;
/** Whether it asks something, well or badly. */
export const isRound = (raw: unknown) => isOfType(raw, 'input_required');

/** Whatever a call may be answered with for somebody who waits: a result, questions, or a task. */
export function readRelayed(raw: unknown): RelayedAnswer {
  if (isRound(raw)) return readRound(raw);
  if (!isOfType(raw, 'task')) return readToolResult(raw);
  const { data } = createdTask.safeParse(raw);
  if (data === undefined) return NOT_A_RESULT;
  // The SDK's server writes one into everything that a call is answered with.
  const { content: _content, ...created } = data;
  return { kind: 'task', task: asTask(created) };
}

/** Questions, and nothing else. */
export function readRound(raw: unknown): UpstreamRound | typeof NOT_A_RESULT {
  const { data } = round.safeParse(raw);
  if (data === undefined) return NOT_A_RESULT;
  const { inputRequests: asked, requestState, _meta } = data;
  return {
    kind: 'input_required',
    // The SDK's client writes an empty one where there was none.
    ...(asked !== undefined &&
      Object.keys(asked).length > 0 && { inputRequests: asked as UpstreamRound['inputRequests'] & object }),
    ...(requestState !== undefined && { requestState }),
    ...(_meta !== undefined && { meta: _meta as JsonObject }),
  };
}

/** The answer to a request about a task. What is taken note of says nothing more. */
export function readTaskAnswer(method: TaskMethod, raw: unknown): RelayedTaskAnswer {
  if (method !== 'tasks/get') return { kind: 'done' };
  const { data } = wholeTask.safeParse(raw);
  if (data === undefined) return NOT_A_RESULT;
  if (data.status !== 'completed') return { kind: 'task', task: asTask(data) };
  const result = readToolResult(data.result);
  return result.kind === 'result' ? { kind: 'task', task: asTask({ ...data, result: result.result }) } : NOT_A_RESULT;
}

const asTask = ({ resultType: _resultType, ...rest }: Record<string, unknown>) => rest as unknown as UpstreamTask;
