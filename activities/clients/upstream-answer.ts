import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import type {
  InvocationResult,
  ReadMethod,
  Unanswered,
  UpstreamAnswer,
} from '../../workflows/domain/upstream-ports.ts';
import { INTERNAL_ERROR, UnreadableMessage } from './message-shape.ts';
import { isConnectFailure } from './upstream-transport.ts';

/** Names the software that answered. It would pass for ours in a result that we hand on. */
const SERVER_INFO_META = 'io.modelcontextprotocol/serverInfo';

const toolResult = z.looseObject({
  resultType: z.literal('complete').optional(),
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

const readResult = z.looseObject({
  resultType: z.literal('complete').optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
const READ_RESULTS = {
  'prompts/get': readResult.extend({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) }),
  'resources/read': readResult.extend({ contents: z.array(z.looseObject({ uri: z.string() })) }),
  'completion/complete': readResult.extend({ completion: z.looseObject({ values: z.array(z.string()) }) }),
} as const satisfies Record<ReadMethod, z.ZodType>;

/** What an upstream says that the protocol does not know, or that it was not asked for. */
export const NOT_A_RESULT = {
  kind: 'error',
  code: INTERNAL_ERROR,
  message: 'The upstream server answered with something that is not a result.',
  isOurs: true,
} as const;

/** A tool result with every member kept, save the upstream's name for itself. What is not one is an upstream's error. */
export function readToolResult(raw: unknown): InvocationResult {
  const parsed = toolResult.safeParse(raw);
  if (!parsed.success) return NOT_A_RESULT;
  const { content = [], ...rest } = parsed.data;
  return { kind: 'result', isError: rest.isError === true, result: withoutServerInfo({ ...rest, content }) };
}

/** The final result of something else than a tool, in the same way. */
export function readAnswer(method: ReadMethod, raw: unknown): Exclude<UpstreamAnswer, { kind: 'input_required' }> {
  const parsed = READ_RESULTS[method].safeParse(raw);
  return parsed.success ? { kind: 'result', result: withoutServerInfo(parsed.data) } : NOT_A_RESULT;
}

function withoutServerInfo({ _meta, ...rest }: Record<string, unknown>): JsonObject {
  const { [SERVER_INFO_META]: _serverInfo, ...meta } = (_meta ?? {}) as Record<string, unknown>;
  return { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) } as unknown as JsonObject;
}

/** What a request that failed after it was handed to the transport proves. In doubt it may have arrived. */
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

/** Something arrived, so what was asked for was most likely done. */
const unreadable = ({ message: why }: UnreadableMessage): Unanswered => ({
  kind: 'error',
  code: INTERNAL_ERROR,
  message:
    `The upstream server answered, but its answer ${why}, and cannot be handed on. The tool may have run, and may have changed ` +
    'something: look before you try again. The operator of this server can raise the limit; a smaller question may do as well.',
  isOurs: true,
});

const isRefusal = (status: number | undefined) => status !== undefined && status >= 400 && status < 500;
