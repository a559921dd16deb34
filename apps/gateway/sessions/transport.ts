import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  parseJSONRPCMessage,
  SUPPORTED_PROTOCOL_VERSIONS,
  type AuthInfo,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type MessageExtraInfo,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/server';
import type { Clock } from '../../shared/clock.ts';
import { randomText } from '../../shared/crypto.ts';
import { tooManyRequests } from '../wire/errors.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../wire/identifiers.ts';
import type { EventLog } from './event-log.ts';
import { QuestionIds } from './question-ids.ts';
import { acceptedBy, refusal } from './sse.ts';
import { placeIn, SessionStream, type StreamDeps } from './stream.ts';

/** The only revision whose bodies may have several messages. */
const BATCHES_IN = '2025-03-26';
const MAX_BATCH = 100;
/** How long the events of a stream are kept after its end. */
const KEPT_MS = 5 * 60_000;
/** Streams of one session, beside those under way, whose events may be kept. */
const MAX_STREAMS = 1_000;
/** The stream of a GET request, which carries what belongs to no request of the client. */
const GENERAL = 0;
const MARK_BYTES = 6;
/** Requests of one session without an answer. A client that leaves does not cancel them, so they would pile up. */
const MAX_REQUESTS = 256;
/** When a client with too many may try again. */
const TOO_MANY_WAIT_MS = 1_000;

export interface SessionTransportDeps {
  readonly sessionId: string;
  readonly revision: string;
  readonly log: EventLog;
  readonly clock: Clock;
}

/** A request without an answer: the id that its client chose, and the stream of its POST. */
interface OpenRequest {
  readonly shown: RequestId;
  readonly stream: SessionStream;
}

interface Serving {
  readonly parsedBody: unknown;
  readonly authInfo: AuthInfo | undefined;
}

/**
 * The Streamable HTTP transport of one session, below the SDK's server. Each POST with requests has a stream of its own, which outlives
 * its connection: a client that lost the connection asks for the rest with `Last-Event-ID`. A client that leaves does not cancel.
 *
 * Above the transport, each request has an id of the transport's own, which leads to its POST. So a client may use one id for every
 * request, as some do, while a call of it waits. Its own ids come back with the answers, and name what it cancels.
 *
 * @see MCP 2025-11-25, Streamable HTTP, on redelivery
 */
export class SessionTransport implements Transport {
  readonly sessionId: string;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #deps: SessionTransportDeps;
  readonly #streamDeps: StreamDeps;
  readonly #general: SessionStream;
  readonly #streams = new Map<number, SessionStream>();
  /** By the transport's own id. */
  readonly #serving = new Map<RequestId, OpenRequest>();
  readonly #questions = new QuestionIds();
  /** Announcements that wait for the client. */
  readonly #announced = new Set<string>();
  #last = GENERAL;
  #lastId = 0;
  #hasListened = false;
  #expiry: (() => void) | undefined;
  #isClosed = false;

  constructor(deps: SessionTransportDeps) {
    this.#deps = deps;
    this.sessionId = deps.sessionId;
    // After the session was made again, an earlier id of an event names no stream.
    this.#streamDeps = { ...deps, mark: randomText(MARK_BYTES) };
    this.#general = new SessionStream(this.#streamDeps, GENERAL);
    this.#streams.set(GENERAL, this.#general);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Whether a request has no answer yet, or the client listens. */
  get isBusy(): boolean {
    return this.#serving.size > 0 || this.#general.isConnected;
  }

  /** Fires when the answer to this request has had no listener for ten seconds. */
  goneOf(id: RequestId): AbortSignal {
    return this.#serving.get(id)?.stream.gone ?? AbortSignal.abort();
  }

  /** Whether the answer to this request has a connection now. */
  isListening(id: RequestId): boolean {
    return this.#serving.get(id)?.stream.isConnected === true;
  }

  /** Answers one HTTP request of the session. */
  serve(request: Request, serving: Serving): Response {
    const version = request.headers.get('mcp-protocol-version');
    if (version !== null && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      return refusal(400, INVALID_REQUEST, 'Unsupported protocol version');
    }
    const refused = acceptedBy(request, serving.parsedBody);
    if (refused !== undefined) return refused;
    return request.method === 'GET' ? this.#listen(request, serving) : this.#take(request, serving);
  }

  /** Serves the `initialize` with which the session begins. */
  begin(message: JSONRPCRequest, extra: MessageExtraInfo): Response {
    const { response, messages } = this.#begin([message], { 'mcp-session-id': this.sessionId });
    for (const one of messages) this.onmessage?.(one, extra);
    return response;
  }

  /** Never rejects: what cannot reach its stream any more is dropped. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!this.#isClosed) this.#send(message, options?.relatedRequestId);
    return Promise.resolve();
  }

  /** Sends a notification that belongs to no request to a client that listens, or that has listened and may come back. */
  announce(method: string, params?: Readonly<Record<string, unknown>>): void {
    if (!this.#hasListened || this.#isClosed) return;
    const kind = JSON.stringify([method, params]);
    // An announcement says only that something changed, so the unread one of the same kind is enough.
    if (this.#announced.has(kind)) return;
    if (!this.#general.isConnected) this.#announced.add(kind);
    this.#general.write({ jsonrpc: '2.0', method, ...(params && { params }) }, true);
  }

  /** Forgets streams that ended long ago. */
  sweep(): void {
    const now = this.#deps.clock.monotonicMs();
    for (const { number, endedAt } of this.#streams.values()) {
      if (endedAt !== undefined && now - endedAt > KEPT_MS) this.#forget(number);
    }
  }

  /** Ends the connection of the client that listens. Requests go on. */
  stopListening(): void {
    this.#general.disconnect();
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.#expiry?.();
    for (const stream of this.#streams.values()) stream.close();
    this.#streams.clear();
    this.#serving.clear();
    this.#deps.log.clear();
    this.onclose?.();
    return Promise.resolve();
  }

  #send(message: JSONRPCMessage, relatedTo: RequestId | undefined): void {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      const asked = message.id === undefined ? undefined : this.#serving.get(message.id);
      // The client has cancelled the request.
      if (asked === undefined || message.id === undefined) return;
      asked.stream.write({ ...message, id: asked.shown }, false);
      return this.#finish(asked.stream, message.id);
    }
    const stream = relatedTo === undefined ? this.#general : this.#serving.get(relatedTo)?.stream;
    if (isJSONRPCRequest(message)) return stream?.write({ ...message, id: this.#questions.shown(message.id) }, false);
    const shown = this.#questions.takenBack(message);
    stream?.write(shown, true);
  }

  #take(request: Request, { parsedBody, authInfo }: Serving): Response {
    if (Array.isArray(parsedBody) && (this.#deps.revision !== BATCHES_IN || parsedBody.length > MAX_BATCH)) {
      return refusal(400, INVALID_REQUEST, 'A body is one message in this revision.');
    }
    const messages = readMessages(parsedBody);
    if (messages === undefined) return refusal(400, PARSE_ERROR, 'Parse error: Invalid JSON-RPC message');
    const requests = messages.filter((message) => isJSONRPCRequest(message));
    const refused = this.#refuse(requests);
    if (refused !== undefined) return refused;
    const taken =
      requests.length === 0 ? { response: new Response(null, { status: 202 }), messages } : this.#begin(messages);
    for (const message of taken.messages) this.#dispatch(message, { ...(authInfo && { authInfo }), request });
    return taken.response;
  }

  #refuse(requests: readonly JSONRPCRequest[]): Response | undefined {
    if (new Set(requests.map(({ id }) => id)).size < requests.length) {
      const message = 'Two requests of this body have one id, so their answers cannot be told apart.';
      return refusal(400, INVALID_REQUEST, message);
    }
    if (requests.some(({ method }) => method === 'initialize')) {
      return refusal(400, INVALID_REQUEST, 'This session is initialized already.');
    }
    if (this.#serving.size + requests.length <= MAX_REQUESTS) return undefined;
    const message = 'Too many requests of this session have no answer yet.';
    return tooManyRequests(requests[0]?.id ?? null, message, TOO_MANY_WAIT_MS);
  }

  /** Opens the stream of a POST. Answers its messages, with the transport's own ids for the requests among them. */
  #begin(messages: readonly JSONRPCMessage[], headers?: Readonly<Record<string, string>>) {
    const stream = new SessionStream(this.#streamDeps, (this.#last += 1));
    this.#streams.set(stream.number, stream);
    const own = messages.map((message) => {
      if (!isJSONRPCRequest(message)) return message;
      const id = (this.#lastId += 1);
      stream.open.add(id);
      this.#serving.set(id, { shown: message.id, stream });
      return { ...message, id };
    });
    return { response: stream.connect(headers), messages: own };
  }

  #dispatch(message: JSONRPCMessage, extra: MessageExtraInfo): void {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      const id = this.#questions.answered(message.id);
      if (id !== undefined) this.onmessage?.({ ...message, id });
      return;
    }
    if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled')
      return this.onmessage?.(message, extra);
    // Of several requests with this id, the client means the newest.
    const [id, asked] = [...this.#serving].findLast(([, { shown }]) => shown === message.params?.['requestId']) ?? [];
    if (id === undefined || asked === undefined) return;
    this.onmessage?.({ ...message, params: { ...message.params, requestId: id } }, extra);
    const { stream } = asked;
    this.#finish(stream, id);
    // There is no answer for which the client could come back.
    if (stream.open.size === 0) this.#forget(stream.number);
  }

  #listen(request: Request, { authInfo }: Serving): Response {
    const resumed = request.headers.get('last-event-id');
    const place = resumed === null ? { stream: GENERAL, number: undefined } : placeIn(resumed, this.#streamDeps.mark);
    const stream = place && this.#streams.get(place.stream);
    const response = stream?.resume(place?.number);
    if (stream === undefined || response === undefined) {
      const message =
        'The events after this one are no longer kept, and the request may have been carried out. ' +
        'Next step: check that, then repeat the request if it was not.';
      return refusal(400, INVALID_REQUEST, message);
    }
    if (stream === this.#general) this.#listensUntil(authInfo?.expiresAt ?? 0);
    return response;
  }

  /** Ends with the token. The client comes back with its next one. */
  #listensUntil(expiresAt: number): void {
    const { clock } = this.#deps;
    this.#hasListened = true;
    this.#announced.clear();
    this.#expiry?.();
    this.#expiry = clock.once(expiresAt * 1_000 - clock.now(), () => this.#general.disconnect());
  }

  #finish(stream: SessionStream, id: RequestId): void {
    this.#serving.delete(id);
    stream.open.delete(id);
    if (stream.open.size > 0) return;
    stream.finish();
    if (this.#streams.size <= MAX_STREAMS) return;
    const oldest = [...this.#streams.values()].find(({ endedAt }) => endedAt !== undefined);
    if (oldest !== undefined) this.#forget(oldest.number);
  }

  #forget(number: number): void {
    this.#streams.delete(number);
    this.#deps.log.forget(number);
  }
}

function readMessages(body: unknown): JSONRPCMessage[] | undefined {
  const bodies: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (bodies.length === 0) return undefined;
  try {
    return bodies.map((one) => parseJSONRPCMessage(one));
  } catch {
    return undefined;
  }
}
