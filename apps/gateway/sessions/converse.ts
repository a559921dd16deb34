import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { InputRequest } from '../../../workflows/domain/upstream-ports.ts';
import { type Clock, timeLimit } from '../../shared/clock.ts';
import { INPUT_METHODS, INTERNAL_ERROR } from '../wire/identifiers.ts';
import { askedBy, type Asked, type RequestContext, type SessionView } from '../wire/request-context.ts';
import { toolError } from '../wire/rendering.ts';

/** Rounds of an upstream within one request. The gateway's own forms end by themselves. */
const MAX_ROUNDS = 10;
/** Before an upstream that wants no input is asked again. */
const PAUSE_MS = 250;
/** Our own clock limits how long a question is open. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** One round of a request. `isOurs`: its questions are the gateway's own. */
export interface Round {
  readonly result: Result;
  readonly isOurs: boolean;
}

interface Conversing {
  readonly context: Pick<RequestContext, 'isModern' | 'session'>;
  readonly ctx: ServerContext;
  /** How a failure is reported: as a tool's result, or as an error. */
  readonly of: 'call' | 'read';
}

/**
 * Serves a request whose upstream, or the gateway itself, may ask the client first. A client of the present revision gets the questions as
 * the answer, and repeats its request. A client with a session is asked while it waits, and each round is decided anew.
 *
 * @param run Serves the request with the input that it has so far.
 */
export type Converse = (of: Conversing, run: (asked: Asked) => Promise<Round>) => Promise<Result>;

export function createConverse(deps: { readonly clock: Clock; readonly answerMs: number }): Converse {
  return async (of, run) => {
    const { context, ctx } = of;
    const { session } = context;
    const first = askedBy(context, ctx);
    if (session === undefined) return (await run(first)).result;
    try {
      return await conversation(deps, { session, ctx }, run, first);
    } catch (error) {
      const why = whyUnfinished(error);
      if (why === undefined) throw error;
      if (of.of === 'call') return toolError(`The tool did not finish: ${why}`);
      throw new ProtocolError(INTERNAL_ERROR, `The request did not finish: ${why}`);
    }
  };
}

/** The request cannot be finished for a reason that lies with its client. */
class Unfinished extends Error {}

/** No one reads it. */
const CANCELLED = 'its client cancelled it.';

/** Codes and texts of the present revision mean nothing to clients of earlier ones. */
function whyUnfinished(error: unknown): string | undefined {
  if (error instanceof Unfinished) return error.message;
  if (!(error instanceof MissingRequiredClientCapabilityError)) return undefined;
  const [name = ''] = Object.keys(error.requiredCapabilities);
  if (name === 'extensions') return 'its server needs a task for it, which this client does not offer.';
  return `its server has to ask through "${name}", which this client does not offer.`;
}

interface Asking {
  readonly session: SessionView;
  readonly ctx: ServerContext;
}

async function conversation(
  deps: { readonly clock: Clock; readonly answerMs: number },
  asking: Asking,
  run: (asked: Asked) => Promise<Round>,
  first: Asked,
): Promise<Result> {
  const { signal } = asking.ctx.mcpReq;
  let round = await run(first);
  for (let rounds = 0; round.result['resultType'] === 'input_required';) {
    if (!round.isOurs) rounds += 1;
    if (rounds > MAX_ROUNDS) throw new Unfinished(`its server asked more than ${MAX_ROUNDS} times.`);
    const { inputRequests = {}, requestState } = round.result as {
      inputRequests?: Readonly<Record<string, InputRequest>>;
      requestState?: string;
    };
    const questions = Object.entries(inputRequests);
    if (questions.length === 0) await deps.clock.after(PAUSE_MS, signal);
    const inputResponses = await answersTo(deps, asking, questions, round.isOurs);
    if (signal.aborted) throw new Unfinished(CANCELLED);
    // A round is as good as a request of its own, which an expired token could not make.
    const { expiresAt } = asking.ctx.http?.authInfo ?? {};
    if (expiresAt !== undefined && expiresAt * 1_000 <= deps.clock.now())
      throw new Unfinished('its access token expired before the client had answered.');
    round = await run({ ...first, inputResponses, ...(requestState !== undefined && { requestState }) });
  }
  return round.result;
}

/** The answers, by key. One that fails takes the other questions back. */
async function answersTo(
  deps: { readonly clock: Clock; readonly answerMs: number },
  { session, ctx }: Asking,
  questions: readonly (readonly [string, InputRequest])[],
  isOurs: boolean,
): Promise<ReadonlyMap<string, unknown>> {
  const failed = new AbortController();
  const limit = timeLimit(deps.clock, deps.answerMs, ctx.mcpReq.signal, session.closing, failed.signal);
  try {
    const answers = questions.map(async ([key, question]) => {
      try {
        return [key, await askClient({ session, ctx }, question, isOurs, limit.signal)] as const;
      } catch (error) {
        if (ctx.mcpReq.signal.aborted) throw new Unfinished(CANCELLED);
        // The form of a request that is not answered opens nothing, and the repeated call asks again.
        if (isOurs) return [key, { action: 'cancel' }] as const;
        failed.abort();
        if (error instanceof Unfinished) throw error;
        throw new Unfinished(`the client did not answer the question of its server (${question.method}).`);
      }
    });
    return new Map<string, unknown>(await Promise.all(answers));
  } finally {
    limit.end();
  }
}

/** Asks on the stream of the request, and hands the answer back as it came. Rejects with the client's error. */
export async function askClient(
  { session, ctx }: Asking,
  question: InputRequest,
  isOurs: boolean,
  signal: AbortSignal,
): Promise<JsonObject> {
  const leave = session.enterQuestion();
  if (leave === undefined) throw new Unfinished('too many questions to this client are open.');
  try {
    signal.throwIfAborted();
    const { method } = question;
    const params = paramsIn(session.revision, question, isOurs);
    const request = { method, ...(params !== undefined && { params }) };
    return (await ctx.mcpReq.send(request as never, anyResult, { signal, timeout: NO_TIMEOUT_MS })) as JsonObject;
  } finally {
    leave();
  }
}

/** Answers go to the side that asked without a change. */
const anyResult = {
  '~standard': {
    version: 1 as const,
    vendor: 'countersign',
    validate: (value: unknown) => ({ value: value as JsonObject }),
  },
};

/** The first revision in which a form says that it is one, and in which a choice has titles of its own. */
const MODES = '2025-11-25';

/** The parameters of a question in an earlier revision. An upstream's own words and schemas stay as they are. */
function paramsIn(revision: string, { method, params }: InputRequest, isOurs: boolean): JsonObject | undefined {
  if (params === undefined || method !== INPUT_METHODS.elicitation) return params as JsonObject | undefined;
  const { mode, ...rest } = params as JsonObject;
  // A client that is told of the end of a sign-in knows it by this id. @see MCP 2025-11-25, elicitation, URL mode
  if (mode === 'url') return { mode, elicitationId: randomUUID(), ...rest };
  if (revision >= MODES) return params as JsonObject;
  return isOurs ? { ...rest, requestedSchema: withNames(objectOf(rest['requestedSchema'])) } : rest;
}

/** Choices in the form of the revision 2025-06-18. */
function withNames(schema: JsonObject): JsonObject {
  const properties = Object.entries(objectOf(schema['properties'])).map(([name, property]) => {
    const { oneOf, ...rest } = objectOf(property);
    if (!Array.isArray(oneOf)) return [name, property] as const;
    const options = oneOf.map((option) => objectOf(option as Json));
    const titles = options.map(({ const: value, title }) => title ?? value);
    return [name, { ...rest, enum: options.map(({ const: value }) => value), enumNames: titles }] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) as JsonObject };
}
