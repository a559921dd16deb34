import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type {
  InvocationResult,
  ReadMethod,
  RelayedAnswer,
  RelayedTaskAnswer,
  TaskMethod,
  Unanswered,
  UpstreamAnswer,
  UpstreamRound,
  UpstreamTask,
} from '../../../workflows/domain/upstream-ports.ts';
import { INTERNAL_ERROR, UnreadableMessage } from './reading.ts';
import { INPUT_METHODS } from '../../../workflows/domain/tools/wire-names.ts';

/** The name of the software that answered. In a result that we hand on, it would pass for ours. */
const SERVER_INFO_META = 'io.modelcontextprotocol/serverInfo';

const meta = z.record(z.string(), z.unknown()).optional();
const readResult = z.looseObject({ resultType: z.literal('complete').optional(), _meta: meta });
const toolResult = readResult.extend({
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
const READ_RESULTS = {
  'prompts/get': readResult.extend({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) }),
  'resources/read': readResult.extend({ contents: z.array(z.looseObject({ uri: z.string() })) }),
  'completion/complete': readResult.extend({ completion: z.looseObject({ values: z.array(z.string()) }) }),
} as const satisfies Record<ReadMethod, z.ZodType>;

/** An answer arrived, so the tool most likely ran. */
const MAY_HAVE_RUN = 'The tool may have run, and may have changed something: check before you try again.';

/** The result for an answer that the protocol does not know, or that was not asked for. */
export const NOT_A_RESULT = {
  kind: 'error',
  code: INTERNAL_ERROR,
  message: `The upstream server answered with something that is not a result, and that cannot be handed on. ${MAY_HAVE_RUN}`,
  isOurs: true,
} as const;
/** The same for a request that calls no tool. */
const NOT_AN_ANSWER = { ...NOT_A_RESULT, message: 'The upstream server answered with something that is not a result.' };

/** A tool result with every member kept, except the upstream's name for itself. Any other answer is an upstream's error. */
export function readToolResult(raw: unknown): InvocationResult {
  const parsed = toolResult.safeParse(raw);
  if (!parsed.success) return NOT_A_RESULT;
  const { content = [], ...rest } = parsed.data;
  return { kind: 'result', isError: rest.isError === true, result: withoutServerInfo({ ...rest, content }) };
}

export function readAnswer(method: ReadMethod, raw: unknown): Exclude<UpstreamAnswer, { kind: 'input_required' }> {
  const parsed = READ_RESULTS[method].safeParse(raw);
  return parsed.success ? { kind: 'result', result: withoutServerInfo(parsed.data) } : NOT_AN_ANSWER;
}

function withoutServerInfo({ _meta, ...rest }: Record<string, unknown>): JsonObject {
  const { [SERVER_INFO_META]: _serverInfo, ...meta } = (_meta ?? {}) as Record<string, unknown>;
  return { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) } as unknown as JsonObject;
}

/** The proven result of a request that failed after it was handed to the transport. In doubt it may have arrived. */
export function readFailure(error: unknown): Unanswered {
  if (error instanceof UnreadableMessage) return unreadable(error);
  if (error instanceof ProtocolError) {
    const { code, message, data } = error;
    if (data instanceof UnreadableMessage) return unreadable(data);
    return { kind: 'error', code, message, ...(data !== undefined && { data: data as Json }) };
  }
  if (error instanceof SdkHttpError && isRefusal(error.status)) {
    return {
      kind: 'error',
      code: INTERNAL_ERROR,
      message: `The tool's server refused the call (HTTP ${error.status}).`,
      isOurs: true,
    };
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.NotConnected) return { kind: 'not_sent', cause: 'not connected' };
    if (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType) {
      return NOT_A_RESULT;
    }
    return { kind: 'no_answer', cause: error.code };
  }
  if (isConnectFailure(error)) return { kind: 'not_sent', cause: 'no connection' };
  return { kind: 'no_answer', cause: error instanceof Error ? error.name : 'unknown' };
}

const NOT_CONNECTED_SYSCALLS = new Set(['connect', 'getaddrinfo']);
const NOT_CONNECTED_CODE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_|CERT_|.*_CERT.*|.*_SIGNATURE)/;

/** Whether an error of `fetch` proves that no connection came about, so that not one byte of the request was sent. */
function isConnectFailure(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
    if (typeof syscall === 'string' && NOT_CONNECTED_SYSCALLS.has(syscall)) return true;
    if (typeof code === 'string' && NOT_CONNECTED_CODE.test(code)) return true;
  }
  return false;
}

const unreadable = ({ message: why }: UnreadableMessage): Unanswered => ({
  kind: 'error',
  code: INTERNAL_ERROR,
  message:
    `The upstream server answered, but its answer ${why}, and cannot be handed on. ${MAY_HAVE_RUN} The operator of this server can ` +
    'raise the limit; a request for less data may work as well.',
  isOurs: true,
});

const isRefusal = (status: number | undefined) => status !== undefined && status >= 400 && status < 500;

/** The longest state that an upstream may have a client keep, in characters. */
const MAX_STATE_LENGTH = 16_384;
const MAX_NAME_LENGTH = 256;

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
/** Whether it is a round of input requests, valid or not. */
export const isRound = (raw: unknown) => isOfType(raw, 'input_required');

/** The answer to a call whose client waits: a result, a round of input requests, or a task. */
export function readRelayed(raw: unknown): RelayedAnswer {
  if (isRound(raw)) return readRound(raw);
  if (!isOfType(raw, 'task')) return readToolResult(raw);
  const { data } = createdTask.safeParse(raw);
  if (data === undefined) return NOT_A_RESULT;
  // The SDK's server writes `content` into every answer to a call.
  const { content: _content, ...created } = data;
  return { kind: 'task', task: asTask(created) };
}

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

/** The answer to a request about a task. An acknowledgement has no content. */
export function readTaskAnswer(method: TaskMethod, raw: unknown): RelayedTaskAnswer {
  if (method !== 'tasks/get') return { kind: 'done' };
  const { data } = wholeTask.safeParse(raw);
  if (data === undefined) return NOT_A_RESULT;
  if (data.status !== 'completed') return { kind: 'task', task: asTask(data) };
  const result = readToolResult(data.result);
  return result.kind === 'result' ? { kind: 'task', task: asTask({ ...data, result: result.result }) } : NOT_A_RESULT;
}

const asTask = ({ resultType: _resultType, ...rest }: Record<string, unknown>) => rest as unknown as UpstreamTask;
