import { CLIENT_CAPABILITIES_META_KEY, type Client } from '@modelcontextprotocol/client';
import type { Clock } from '../../apps/shared/clock.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { objectOf, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Unanswered } from '../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import type { Conversation } from '../../workflows/domain/relay.ts';
import { orAborted } from './patience.ts';
import { readFailure } from './upstream-answer.ts';
import type { RequestLimits, UpstreamConnection } from './upstream-connection.ts';

interface AskOptions extends Omit<RequestLimits, 'headers'> {
  /** Of this request, over HTTP, beside the credential. Whatever it throws means that nothing is sent. */
  readonly headers?: (client: Client) => Promise<Readonly<Record<string, string>>>;
  /** For whom it is asked: the upstream may want a credential that names the caller. */
  readonly caller?: Principal | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** An instant of the monotonic clock after which nothing is sent any more. */
  readonly sendBy?: number;
}

/** What an upstream is asked. */
export interface UpstreamRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly conversation?: Conversation | undefined;
}

/** Connects, sends once, and reads the answer. Never repeats, and never throws: a failure says what it proves. */
export async function askOnce<T>(
  connection: UpstreamConnection | undefined,
  request: UpstreamRequest,
  { caller, clock, sendBy = Infinity, headers, ...limits }: AskOptions,
  read: (raw: unknown) => T,
): Promise<T | Unanswered> {
  if (connection === undefined) return { kind: 'not_sent', cause: 'no such upstream' };
  let client, all;
  try {
    client = await orAborted(connection.connect(), limits.signal);
    const credentials = await orAborted(connection.credentials.headers(caller), limits.signal);
    all = { ...credentials, ...(headers && (await orAborted(headers(client), limits.signal))) };
  } catch (error) {
    return { kind: 'not_sent', cause: error instanceof CountersignError ? error.code : 'aborted' };
  }
  // Here and not earlier: connecting and getting a credential may take long, and the process may have stood still meanwhile.
  if (clock.monotonicMs() >= sendBy) return { kind: 'not_sent', cause: 'too late' };
  try {
    const params = paramsFor(client, request);
    return read(await connection.request(client, request.method, params, { ...limits, headers: all }));
  } catch (error) {
    const outcome = readFailure(error);
    if (outcome.kind === 'not_sent') connection.discard(client);
    else connection.doubt(client);
    return outcome;
  }
}

/** Only in the present revision a request says what its client can do, and brings answers. */
function paramsFor(client: Client, { params, conversation }: UpstreamRequest): JsonObject {
  if (conversation === undefined || client.getProtocolEra() !== 'modern') return params;
  const { capabilities, ...round } = conversation;
  return { ...params, ...round, _meta: { ...objectOf(params['_meta']), [CLIENT_CAPABILITIES_META_KEY]: capabilities } };
}
