import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AskableClient, ClientAnswer, InputRequest } from '../../../workflows/domain/upstream-ports.ts';
import { type Clock, timeLimit } from '../../shared/clock.ts';
import { INVALID_PARAMS } from '../wire/identifiers.ts';
import { type RequestContext, type SessionView, undeclaredIn } from '../wire/request-context.ts';
import { withoutForged } from '../wire/upstream-result.ts';
import { askClient } from './converse.ts';

/** A client that upstreams of earlier revisions can ask while they serve this request. `undefined` for a client without a session. */
export type AskableOf = (of: {
  readonly context: Pick<RequestContext, 'caller' | 'session'>;
  readonly ctx: ServerContext;
}) => AskableClient | undefined;

interface Asking {
  readonly session: SessionView;
  readonly ctx: ServerContext;
}

export function createAskableOf(deps: { readonly clock: Clock; readonly answerMs: number }): AskableOf {
  return ({ context: { session, caller }, ctx }) =>
    session && {
      key: session.key,
      caller,
      capabilities: capabilitiesOf(session),
      closing: session.closing,
      ask: (question, signal) => ask(deps, { session, ctx }, question, signal),
      onRootsChanged: (listener) => session.onRootsChanged(listener),
      told: (elicitationId) => session.announce('notifications/elicitation/complete', { elicitationId }),
    };
}

/** Only an upstream of an earlier revision is told when the roots of its client have changed. */
function capabilitiesOf({ capabilities, changesRoots }: SessionView): JsonObject {
  if (changesRoots === undefined || capabilities['roots'] === undefined) return capabilities;
  return { ...capabilities, roots: { listChanged: true } };
}

async function ask(
  { clock, answerMs }: { readonly clock: Clock; readonly answerMs: number },
  { session, ctx }: Asking,
  question: InputRequest,
  signal: AbortSignal,
): Promise<ClientAnswer> {
  // A client is never asked in a way that it does not know, such as to open an address.
  if (undeclaredIn({ question }, session.capabilities) !== undefined) {
    return { kind: 'error', code: INVALID_PARAMS, message: 'The client did not declare that it can be asked so.' };
  }
  const limit = timeLimit(clock, answerMs, ctx.mcpReq.signal, session.closing, signal);
  try {
    const result = await askClient({ session, ctx }, withoutForged(question), false, limit.signal);
    // An answer is as good as a request of its own, which an expired token could not make.
    const { expiresAt } = ctx.http?.authInfo ?? {};
    if (expiresAt !== undefined && expiresAt * 1_000 <= clock.now()) return none('Its access token expired before.');
    return { kind: 'result', result };
  } catch (error) {
    return (limit.signal.aborted ? undefined : errorOf(error)) ?? none();
  } finally {
    limit.end();
  }
}

const none = (why = ''): ClientAnswer => ({ kind: 'none', why: `The client did not answer. ${why}`.trim() });

/** The client's own error. */
function errorOf(error: unknown): ClientAnswer | undefined {
  if (!(error instanceof ProtocolError)) return undefined;
  const { code, message, data } = error;
  return { kind: 'error', code, message, ...(data !== undefined && { data: data as Json }) };
}
