import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { InvocationResult } from '../../workflows/domain/ports.ts';
import { isConnectFailure } from './upstream-transport.ts';

/** Names the software that answered. It would pass for ours in a result that we hand on. */
const SERVER_INFO_META = 'io.modelcontextprotocol/serverInfo';
const INTERNAL_ERROR = -32_603;

const toolResult = z.looseObject({
  resultType: z.literal('complete').optional(),
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/** A tool result with every member kept, save the upstream's name for itself. What is not one is an upstream's error. */
export function readToolResult(raw: unknown): InvocationResult {
  const parsed = toolResult.safeParse(raw);
  if (!parsed.success) {
    return { kind: 'error', code: INTERNAL_ERROR, message: 'The tool answered with something that is not a result.' };
  }
  const { _meta, content = [], ...rest } = parsed.data;
  const { [SERVER_INFO_META]: _serverInfo, ...meta } = _meta ?? {};
  const result = { ...rest, content, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
  return { kind: 'result', isError: rest.isError === true, result: result as unknown as JsonObject };
}

/** What a request that failed after it was handed to the transport proves. In doubt it may have arrived. */
export function readFailure(error: unknown): InvocationResult {
  if (error instanceof ProtocolError) return { kind: 'error', code: error.code, message: error.message };
  if (error instanceof SdkHttpError && isRefusal(error.status)) {
    return {
      kind: 'error',
      code: INTERNAL_ERROR,
      message: `The tool's server refused the call (HTTP ${error.status}).`,
    };
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.NotConnected) return { kind: 'not_sent', cause: 'not connected' };
    if (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType) {
      return { kind: 'error', code: INTERNAL_ERROR, message: 'The tool answered with something that is not a result.' };
    }
    return { kind: 'no_answer', cause: error.code };
  }
  if (isConnectFailure(error)) return { kind: 'not_sent', cause: 'no connection' };
  return { kind: 'no_answer', cause: error instanceof Error ? error.name : 'unknown' };
}

const isRefusal = (status: number | undefined) => status !== undefined && status >= 400 && status < 500;
