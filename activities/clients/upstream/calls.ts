import { LOG_LEVEL_META_KEY, type Client } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { Clock } from '../../../apps/shared/clock.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import {
  RECONFIGURED,
  type Conversation,
  type InvocationResult,
  type RelayedAnswer,
  type ResultCheck,
  type Unanswered,
  type UpstreamCall,
  type UpstreamCallOptions,
  type UpstreamRelay,
  type Upstreams,
  type UpstreamTool,
} from '../../../workflows/domain/upstream-ports.ts';
import { HEADER_MISMATCH, ENCODED_VALUE, MIRROR_HEADER_PREFIX } from '../../../workflows/domain/tools/wire-names.ts';
import type { PrefixedUpstream } from './offered-tools.ts';
import { readToolResult, readRelayed, readTaskAnswer } from './answer.ts';
import type { AskingConnections } from './asking-connections.ts';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { mirroredValue, type MirroredArgument } from '../../../workflows/domain/tools/mirrored-arguments.ts';

/** Messages below it are for the authors of a tool. */
const LEAST_LOG_LEVEL = 'info';

interface CallDeps {
  /** The tools by their public names, as they were listed last. */
  readonly known: () => ReadonlyMap<string, UpstreamTool>;
  readonly fitsOutput: ResultCheck;
  readonly asking: Pick<AskingConnections, 'send'>;
  readonly log: Logger;
  readonly clock: Clock;
}

type Sending = UpstreamCall & { readonly conversation?: Conversation };

/** Calls of the tools of these upstreams, and requests about the tasks that they opened. */
export function createCalls(
  upstreams: ReadonlyMap<string, PrefixedUpstream>,
  deps: CallDeps,
): Pick<Upstreams, 'call'> & UpstreamRelay {
  const { known, fitsOutput, asking, log, clock } = deps;
  const sendOver = createSending(upstreams, deps);

  /** Nothing is sent on a connection that was replaced meanwhile, so the call can be taken to the present one. */
  async function send<T extends RelayedAnswer>(
    call: Sending,
    options: UpstreamCallOptions,
    read: (raw: unknown) => T,
  ): Promise<T | InvocationResult> {
    for (;;) {
      const prefixed = upstreams.get(call.upstream);
      const isOther = call.connection !== undefined && call.connection !== prefixed?.connection.id;
      if (isOther) return { kind: 'not_sent', cause: RECONFIGURED };
      if (prefixed === undefined) return { kind: 'not_sent', cause: 'no such upstream' };
      const answer = await sendOver(prefixed, call, options, read);
      const isReplaced = upstreams.get(call.upstream)?.connection !== prefixed.connection;
      if (answer.kind !== 'not_sent' || !isReplaced || options.signal.aborted) return answer;
    }
  }

  return {
    call: (call, options) => send(call, options, readToolResult),
    relay: (call, options) => send(call, options, readRelayed),
    async task({ upstream, method, upstreamTaskId: taskId, tool, caller, conversation }, options) {
      const of = { upstream, connection: upstreams.get(upstream)?.connection };
      const request = { method, params: { taskId }, conversation };
      const read = (raw: unknown) => readTaskAnswer(method, raw);
      const answer = await asking.send(of, request, { ...options, clock, caller }, read);
      if (answer.kind !== 'task' || answer.task.result === undefined) return answer;
      const ended = {
        kind: 'result',
        isError: answer.task.result['isError'] === true,
        result: answer.task.result,
      } as const;
      const { result } = await fitting(ended, known().get(tool), { fitsOutput, log });
      return { kind: 'task', task: { ...answer.task, result } };
    },
  };
}

/** Sends a call over the connection of this upstream, unless the connection was replaced meanwhile. */
function createSending(
  upstreams: ReadonlyMap<string, PrefixedUpstream>,
  { known, fitsOutput, asking, log, clock }: CallDeps,
) {
  return async <T extends RelayedAnswer>(
    { connection }: PrefixedUpstream,
    call: Sending,
    options: UpstreamCallOptions,
    read: (raw: unknown) => T,
  ): Promise<T | InvocationResult> => {
    const { upstream, upstreamTool, arguments: args, meta, idempotencyKey, caller, conversation } = call;
    const _meta =
      options.onLog === undefined ? meta : { ...meta, [LOG_LEVEL_META_KEY]: options.logLevel ?? LEAST_LOG_LEVEL };
    const params = { name: upstreamTool, arguments: args, ...(_meta !== undefined && { _meta }) };
    let tool: UpstreamTool | undefined;
    const headers = async (client: Client) => {
      // The prefix may have changed, which the name of the tool begins with.
      const present = () => upstreams.get(upstream);
      tool = await boundTool(present, known, call);
      if (present()?.connection !== connection)
        throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', 'the upstream has another connection by now');
      const isModern = client.getProtocolEra() === 'modern';
      return {
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(isModern && mirroredHeaders(tool?.facts.headers.mirrored ?? [], args)),
      };
    };
    const request = { method: 'tools/call', params, conversation };
    const sending = { ...options, clock, caller, headers };
    const answer: T | Unanswered = await asking.send({ upstream, connection }, request, sending, read);
    // The upstream declares other headers by now. The call is not repeated; the next one is bound to the new list.
    if (answer.kind === 'error' && answer.code === HEADER_MISMATCH) connection.listLater();
    return answer.kind === 'result' ? fitting(answer, tool, { fitsOutput, log }) : answer;
  };
}

/**
 * The tool that the call is bound to, from a list that is not too old: another process may have read the description that was
 * decided on, and a long time ago. Where it differs, the tools are listed again before the call is given up.
 */
async function boundTool(
  prefixed: () => PrefixedUpstream | undefined,
  known: CallDeps['known'],
  { upstreamTool, toolDigest }: UpstreamCall,
): Promise<UpstreamTool | undefined> {
  const find = () => known().get(`${prefixed()?.namePrefix ?? ''}${upstreamTool}`);
  await prefixed()?.connection.ensureGoodTools();
  if (toolDigest === undefined || find()?.digest === toolDigest) return find();
  await prefixed()?.connection.refresh();
  const tool = find();
  if (tool?.digest === toolDigest) return tool;
  throw new CountersignError('ERR_CALL_BINDING_MISMATCH', 'the tool has changed since the call was bound to it');
}

/** Texts that a header can hold unencoded. A reader would remove space at the ends. */
const PLAIN = /^(?! |\t)[\t\x20-\x7e]*(?<! |\t)$/;

/**
 * The headers in which a call repeats its arguments. One that is absent, `null`, or of another type than declared has none.
 *
 * @see MCP 2026-07-28, Streamable HTTP, Value Encoding
 */
function mirroredHeaders(mirrored: readonly MirroredArgument[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const argument of mirrored) {
    const value: Json | undefined = mirroredValue(args, argument);
    if (value === undefined || typeof value === 'object') continue;
    headers[`${MIRROR_HEADER_PREFIX}${argument.name}`] = encoded(String(value));
  }
  return headers;
}

function encoded(text: string): string {
  const { start, end } = ENCODED_VALUE;
  // A text that looks encoded would be decoded.
  const isPlain = PLAIN.test(text) && !(text.startsWith(start) && text.endsWith(end));
  return isPlain ? text : `${start}${Buffer.from(text, 'utf8').toString('base64')}${end}`;
}

const MISFIT: JsonObject = {
  type: 'text',
  text:
    'The tool ran, but its structured result does not fit its output schema, and is left out here. ' +
    'A change may have been made; check before trying again.',
};

type Result = Extract<InvocationResult, { kind: 'result' }>;

/**
 * The result; of one that breaks its output schema, all but the structured part, as an error: a client that reads it by the schema
 * would misread it. An error need not have a structured part.
 *
 * @see MCP 2026-07-28, Tools, Output Schema (TOOL-003)
 */
async function fitting(
  answer: Result,
  tool: UpstreamTool | undefined,
  { fitsOutput, log }: Pick<CallDeps, 'fitsOutput' | 'log'>,
): Promise<Result> {
  if (tool?.definition['outputSchema'] === undefined) return answer;
  const { structuredContent, content, ...rest } = answer.result;
  const fits = structuredContent === undefined ? answer.isError : await fitsOutput(tool, structuredContent);
  if (fits) return answer;
  const { upstream, upstreamName: upstreamTool, name } = tool;
  log.warn({ upstream, upstreamTool, tool: name }, 'a structured result breaks its output schema');
  const blocks = [...((content ?? []) as readonly Json[]), MISFIT];
  return { kind: 'result', isError: true, result: { ...rest, content: blocks, isError: true } };
}
