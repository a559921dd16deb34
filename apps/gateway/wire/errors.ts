import { ProtocolError, type RequestId } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import * as z from 'zod';
import { CountersignError, type ErrorCode } from '../../../workflows/domain/errors.ts';
import { MappingError } from '../../shared/coaz/json-of.ts';
import type { Rendering } from './rendering.ts';
import {
  COAZ_DENIED,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST_STATE,
  LISTEN,
  OWN_TOOLS,
  READ_DENIED,
  MISSING_CAPABILITY,
  TOO_MANY_REQUESTS,
} from './identifiers.ts';
import { isAmbiguous } from '../../../workflows/domain/faithful-json.ts';
import { TOO_MANY_MEMBERS } from '../../shared/http/faithful-json.ts';

/**
 * `call`: the client is told that the tool did not run. `request`: the request is about a call that may have run, or about no tool, so its
 * error says nothing about that.
 */
export type FailureOf = 'call' | 'request';

interface WireError {
  readonly code: number;
  readonly message: string;
  /** Replaces the message for the failure of a request. */
  readonly ofRequest?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Details of these errors are for the operator's log only. */
const ours: WireError = { code: INTERNAL_ERROR, message: 'Internal error' };
const later = (what: string): WireError => ({
  code: INTERNAL_ERROR,
  message: `${what} The tool did not run. The call may be repeated later.`,
  ofRequest: `${what} The request may be repeated later.`,
});

/** The JSON-RPC error for each refusal. Fixed texts: the message of the error itself may name internals. */
const WIRE_ERRORS = {
  ERR_CONFIG_INVALID: ours,
  ERR_GATED_CALL_NOT_FOUND: { code: INVALID_PARAMS, message: 'Task not found or expired' },
  ERR_TOOL_NOT_FOUND: { code: INVALID_PARAMS, message: 'Unknown tool' },
  ERR_PROMPT_NOT_FOUND: { code: INVALID_PARAMS, message: 'Unknown prompt' },
  ERR_RESOURCE_NOT_FOUND: { code: INVALID_PARAMS, message: 'Unknown resource' },
  ERR_READ_DENIED: { code: READ_DENIED, message: 'Policy does not allow this request.' },
  ERR_STEP_UP_NEEDED: {
    code: READ_DENIED,
    message:
      'Policy requires a stronger sign-in for this request. Next step: sign in again, then repeat the request with the new token.',
  },
  ERR_NOT_ACCEPTED: {
    code: READ_DENIED,
    message:
      'Its server does not describe this as the operator of this gateway accepted it, so nothing was read. Next step, for the ' +
      'operator: read `countersign signature diff`, then run `countersign signature accept` to allow it.',
  },
  // `toProtocolError` adds the details, which are written for clients.
  ERR_MAPPING_FAILED: { code: INVALID_PARAMS, message: 'Authorization mapping failed' },
  ERR_ARGUMENTS_INVALID: { code: INVALID_PARAMS, message: 'Invalid parameters' },
  ERR_REQUEST_STATE_INVALID: {
    code: INVALID_PARAMS,
    message: 'Invalid or expired requestState',
    data: { reason: INVALID_REQUEST_STATE },
  },
  ERR_CALL_BINDING_MISMATCH: ours,
  ERR_SEAL_BROKEN: ours,
  ERR_DENIAL_BINDING_INVALID: ours,
  ERR_DENIAL_EXPIRED: ours,
  ERR_NOT_REQUESTABLE: ours,
  ERR_SUBMISSION_CONFLICT: ours,
  ERR_ACCESS_REQUEST_NOT_FOUND: ours,
  ERR_TOKEN_INVALID: ours,
  ERR_PDP_UNAVAILABLE: later('The gateway could not get an authorization decision.'),
  ERR_OBLIGATION_UNAVAILABLE: later('A condition that policy sets cannot be met now.'),
  ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE: later('The approval service cannot be reached.'),
  ERR_UPSTREAM_UNAVAILABLE: {
    ...later("The tool's server cannot be reached."),
    ofRequest: 'The upstream server cannot be reached, or gives no answer. The request may be repeated later.',
  },
  ERR_UPSTREAM_LIST_UNAVAILABLE: later(
    'The gateway cannot check now whether its server still describes this as the operator accepted it.',
  ),
  ERR_IDENTITY_PROVIDER_UNAVAILABLE: later('The gateway cannot check your token now.'),
  ERR_GATEWAY_UNAVAILABLE: later('The gateway has too much to do.'),
  ERR_DATABASE_UNAVAILABLE: later('The gateway cannot reach its records now.'),
  // The tool may have run: the record that cannot be opened may be its result.
  ERR_SEALING_KEY_UNAVAILABLE: {
    code: INTERNAL_ERROR,
    message: 'The gateway cannot read its record of this call now. The request may be repeated later.',
  },
} as const satisfies Record<ErrorCode, WireError>;

function toProtocolError(
  error: CountersignError,
  failureOf: FailureOf,
  denials: Rendering['coaz']['denials'],
): ProtocolError {
  const { code, message, ofRequest = message, data }: WireError = WIRE_ERRORS[error.code];
  if (error instanceof MappingError) return new ProtocolError(code, `${message}: ${error.message}.`);
  const isCoazDenial = code === READ_DENIED && denials === 'error';
  return new ProtocolError(isCoazDenial ? COAZ_DENIED : code, failureOf === 'call' ? message : ofRequest, data);
}

/** A denied tool call for clients that go by COAZ alone, with the text of the tool result. @see COAZ-ER-03 */
export const deniedCall = (words: string): ProtocolError => new ProtocolError(COAZ_DENIED, words);

/** @see SEP-2164 */
export const unknownResource = (uri: string): ProtocolError =>
  new ProtocolError(INVALID_PARAMS, WIRE_ERRORS.ERR_RESOURCE_NOT_FOUND.message, { uri });

/** Whether requests with this method, or calls of this own tool, are about earlier calls. */
export const isAboutTasks = (method: string) =>
  method.startsWith('tasks/') || method === LISTEN || method === OWN_TOOLS.requestStatus;

/** Runs the handler of one request. `failureOf` is `request` by default. */
export type Guarded = <T>(method: string, run: () => Promise<T>, failureOf?: FailureOf) => Promise<T>;

/** Failures that need the operator. */
const ALARMS: Partial<Record<ErrorCode, string>> = {
  ERR_SEAL_BROKEN: 'seal_broken',
  ERR_SEALING_KEY_UNAVAILABLE: 'sealing_key_missing',
};

/** Lets only errors through that are written for clients. Any other error is logged, and the client gets a general one. */
export function guard(log: Logger, denials: Rendering['coaz']['denials']): Guarded {
  return async (method, run, failureOf = 'request') => {
    try {
      return await run();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      if (error instanceof CountersignError) {
        const alarm = ALARMS[error.code];
        if (alarm !== undefined) log.error({ method, alarm, err: error }, 'a sealed value cannot be opened');
        else if (error.retryable) log.warn({ method, code: error.code, err: error }, 'a request could not be served');
        throw toProtocolError(error, failureOf, denials);
      }
      log.error({ method, err: error }, 'unexpected error while serving a request');
      throw new ProtocolError(ours.code, ours.message);
    }
  };
}

/** An error that the gateway answers before, or instead of, the protocol layer. */
export function errorResponse(id: RequestId, { code, message, data }: ProtocolError): Response {
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: code === MISSING_CAPABILITY ? 400 : 200 });
}

/** `waitMs` is rounded up to whole seconds, the unit of the header. */
export function tooManyRequests(id: RequestId | null, message: string, waitMs: number): Response {
  return Response.json(
    { jsonrpc: '2.0', id, error: { code: TOO_MANY_REQUESTS, message } },
    { status: TOO_MANY_REQUESTS, headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) } },
  );
}

/** The gateway has too much to do. Nothing was done for the request. */
export function overloaded(id: RequestId | null): Response {
  const message = 'The gateway has too much to do. The tool did not run. The call may be repeated later.';
  return Response.json(
    { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } },
    { status: 503, headers: { 'retry-after': '1' } },
  );
}

/** The body parser's error for a body that the gateway refused, with its bytes. */
const refusedBody = z.object({
  type: z.enum(['body.number_inexact', 'body.character_broken', 'body.too_many']),
  body: z.instanceof(Buffer),
});
const request = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]),
  method: z.string().min(1),
});

/**
 * The answer to a request with a number that no double can hold, with half a character, or with too many members. The error has the id of
 * the request, because a client of an earlier revision takes an error without an id, or a status other than 200, for the end of its
 * session. `undefined` for any other error, and if the id is ambiguous or costs too much to find.
 */
export function answerToUnkeptValue(error: unknown): object | undefined {
  const refused = refusedBody.safeParse(error);
  if (!refused.success) return undefined;
  const text = refused.data.body.toString('utf8');
  const asked = isAmbiguous(text) ? undefined : request.safeParse(parsed(text)).data;
  return (
    asked && { jsonrpc: '2.0', id: asked.id, error: { code: INVALID_PARAMS, message: MESSAGES[refused.data.type] } }
  );
}

const MESSAGES = {
  'body.number_inexact':
    'Invalid params: the request has a number that is too long to be kept exactly, so nothing was done. Next step: send it as a ' +
    'string if the tool takes one, or send a whole number between -9007199254740991 and 9007199254740991.',
  'body.character_broken':
    'Invalid params: a string has half a character (an unpaired surrogate), so nothing was done. Next step: send the whole ' +
    'character, or leave it out.',
  'body.too_many': `Invalid params: nothing was done, since ${TOO_MANY_MEMBERS}.`,
} as const;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
