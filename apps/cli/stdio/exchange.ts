import type { Response } from 'undici';
import { isObject, type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { HEADER_MISMATCH } from '../../../workflows/domain/tools/wire-names.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Limits } from '../../shared/limits.ts';
import { CliError } from '../context.ts';
import { headersOf, type MirroredTools } from './headers.ts';
import { answeredIdOf, eachOf, type Message, messagesOf, type Place } from './messages.ts';
import type { Session } from './session.ts';
import type { Upstream } from './upstream.ts';

const LISTEN = 'subscriptions/listen';
const INTERNAL_ERROR = -32_603;
const TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const EVENTS_ONLY = { accept: 'text/event-stream' };
const RETRY_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A gateway whose lists have no end is not followed. */
const MAX_PAGES = 100;

/** One line of the host. */
export interface Request {
  readonly line: Uint8Array;
  readonly messages: readonly JsonObject[];
  /** Of the requests in it. */
  readonly ids: readonly Json[];
  /** The revision in the message; `undefined` in earlier revisions. */
  readonly revision: string | undefined;
  /** The host ends or cancels it. */
  readonly signal: AbortSignal;
}

interface ExchangeDeps {
  readonly upstream: Upstream;
  readonly session: Session;
  readonly tools: MirroredTools;
  /** Writes one message for the host. */
  readonly write: (text: string) => Promise<void>;
  readonly clock: Clock;
  readonly limits: Limits;
}

/** Carries one line of the host to the gateway, and what comes back to the host. */
export class Exchange {
  readonly #deps: ExchangeDeps;

  constructor(deps: ExchangeDeps) {
    this.#deps = deps;
  }

  /** Never rejects. Every request in the line is answered, unless the host has ended it. Returns what went wrong, for the log. */
  async pass(request: Request): Promise<string | undefined> {
    const waiting = new Waiting(request.ids);
    try {
      request.signal.throwIfAborted();
      await this.#untilAnswered(request, waiting);
      return undefined;
    } catch (error) {
      if (request.signal.aborted) return undefined;
      const message = error instanceof CliError ? error.message : brokenWords(request);
      for (const id of waiting.left()) await this.#fail(id, { code: INTERNAL_ERROR, message });
      return message;
    }
  }

  async #untilAnswered(request: Request, waiting: Waiting): Promise<void> {
    const { clock } = this.#deps;
    const place: Place = { retryMs: RETRY_MS };
    await this.#attempt(request, waiting, place);
    while (!waiting.isOver && !request.signal.aborted) {
      const isOver = request.revision !== undefined || place.lastId === undefined;
      if (isOver && !isSubscription(request)) throw new Error('the answer is missing');
      await clock.after(place.retryMs, request.signal);
      if (isSubscription(request)) await this.#subscribeAgain(request, waiting, place);
      else await this.#resume(request, waiting, place);
    }
  }

  /** Sends the line, and passes on what comes back. Throws if the answer breaks where it cannot be taken up again. */
  async #attempt(request: Request, waiting: Waiting, place: Place, isQuiet = false): Promise<void> {
    const { id } = this.#deps.session;
    let answer = await this.#post(request, isQuiet);
    if (answer.status === 404 && request.revision === undefined && id !== undefined && !isInitialize(request)) {
      await answer.body?.cancel();
      await this.#deps.session.reopen(id);
      answer = await this.#post(request, isQuiet);
    }
    await this.#deliver(request, answer, waiting, place).catch((error: unknown) => {
      const isOpen = answer.ok && (isSubscription(request) || place.lastId !== undefined);
      if (!isOpen || error instanceof CliError) throw error;
    });
  }

  #post({ line, messages, revision, signal }: Request, isQuiet: boolean): Promise<Response> {
    const { upstream, session, tools } = this.#deps;
    const [message = {}] = messages;
    // Nothing is agreed before the first message.
    const agreed = message['method'] === 'initialize' ? {} : session.headers();
    const own = revision === undefined ? agreed : headersOf(message, revision, tools);
    return upstream.send({ method: 'POST', headers: { ...TYPES, ...own }, body: line, signal, isQuiet });
  }

  /** Takes up a stream that ended after an event with an id. @see MCP 2025-11-25, Streamable HTTP, taking up a stream */
  async #resume(request: Request, waiting: Waiting, place: Place): Promise<void> {
    const { upstream, session, limits } = this.#deps;
    const headers = { ...EVENTS_ONLY, ...session.headers(), 'last-event-id': place.lastId ?? '' };
    const { signal } = request;
    const answer = await upstream.send({ method: 'GET', headers, signal, awayMs: limits.gatewayRestartMs });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error('the stream cannot be taken up again');
    }
    // It may end or break again, and the next attempt goes on from there.
    await this.#deliver(request, answer, waiting, place).catch((error: unknown) => {
      if (error instanceof CliError) throw error;
    });
  }

  /** Opens a subscription again for as long as the host wants it. Nothing rests on its answer. */
  async #subscribeAgain(request: Request, waiting: Waiting, place: Place): Promise<void> {
    place.retryMs = Math.min(2 * place.retryMs, LONGEST_PAUSE_MS);
    await this.#attempt(request, waiting, place, true).catch(() => undefined);
  }

  async #deliver(request: Request, answer: Response, waiting: Waiting, place: Place): Promise<void> {
    const { write, session, upstream } = this.#deps;
    for await (const message of messagesOf(answer, place)) {
      if (await this.#isRepeated(request, message, waiting, place)) return;
      const answers = eachOf(message.value).filter((one) => waiting.takes(answeredIdOf(one)));
      const [{ result = null } = {}] = answers;
      if (isInitialize(request) && isObject(result)) session.opened(request.line, answer.headers, result);
      if (isToolList(request)) this.#learn(objectOf(result), objectOf(request.messages[0]?.['params'])['cursor']);
      if (answer.ok || answers.length > 0) await write(message.text);
      else await this.#refuse(message, waiting);
    }
    if (!answer.ok && !waiting.isOver) throw new CliError(statusWords(answer, upstream.url));
  }

  /** Passes on an error that has no id of ours: it is about the whole request. */
  async #refuse({ value }: Message, waiting: Waiting): Promise<void> {
    const [{ error = null } = {}] = eachOf(value);
    if (!isObject(error) || typeof error['code'] !== 'number') return;
    for (const id of waiting.left()) await this.#fail(id, error);
  }

  /** Whether a call was refused for a header that its tool demands, and sent again with it. It did not run the first time. */
  async #isRepeated(request: Request, { value }: Message, waiting: Waiting, place: Place): Promise<boolean> {
    const [message = {}] = request.messages;
    const error = objectOf(objectOf(value)['error']);
    const isMismatch = error['code'] === HEADER_MISMATCH && message['method'] === 'tools/call';
    if (!isMismatch || request.revision === undefined || waiting.isRepeated) return false;
    waiting.isRepeated = true;
    await this.#readTools(request);
    await this.#attempt(request, waiting, place);
    return true;
  }

  /** Reads the list of tools, in the name of the request, for the headers that they demand. */
  async #readTools({ messages, revision = '', signal }: Request): Promise<void> {
    const { upstream, tools } = this.#deps;
    const meta = objectOf(messages[0]?.['params'])['_meta'] ?? {};
    let cursor: Json | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = { _meta: meta, ...(cursor !== undefined && { cursor }) };
      const asked = { jsonrpc: '2.0', id: `tools-${page}`, method: 'tools/list', params };
      const headers = { ...TYPES, ...headersOf(asked, revision, tools) };
      const answer = await upstream.send({ method: 'POST', headers, body: Buffer.from(JSON.stringify(asked)), signal });
      let result: JsonObject = {};
      for await (const { value } of messagesOf(answer, { retryMs: RETRY_MS }))
        result = objectOf(objectOf(value)['result']);
      this.#learn(result, cursor);
      cursor = result['nextCursor'];
      if (cursor === undefined) break;
    }
  }

  /** Takes what a list of tools declares. `cursor`: of its page; the first one has none. */
  #learn({ tools }: JsonObject, cursor: Json | undefined): void {
    if (Array.isArray(tools)) this.#deps.tools.learn(tools, cursor === undefined);
  }

  #fail(id: Json, error: JsonObject): Promise<void> {
    return this.#deps.write(JSON.stringify({ jsonrpc: '2.0', id, error }));
  }
}

/** The requests of a line that have no answer yet. */
class Waiting {
  readonly #ids: Map<string, Json>;
  /** Whether the line was sent again for its headers. */
  isRepeated = false;

  constructor(ids: readonly Json[]) {
    this.#ids = new Map(ids.map((id) => [JSON.stringify(id), id]));
  }

  get isOver(): boolean {
    return this.#ids.size === 0;
  }

  /** Whether a message with this id is an answer that is waited for. From now on it is not. */
  takes(id: Json | undefined): boolean {
    return id !== undefined && this.#ids.delete(JSON.stringify(id));
  }

  /** Takes all that are left: each is answered once. */
  left(): Json[] {
    const left = [...this.#ids.values()];
    this.#ids.clear();
    return left;
  }
}

const isSubscription = ({ messages }: Request): boolean => messages.some(({ method }) => method === LISTEN);
const isToolList = ({ messages }: Request): boolean => messages[0]?.['method'] === 'tools/list';
const isInitialize = ({ messages }: Request): boolean => messages.some(({ method }) => method === 'initialize');

function brokenWords({ messages }: Request): string {
  const isCall = messages.some(({ method }) => method === 'tools/call');
  const broke = 'The connection to Countersign broke before the answer.';
  return isCall
    ? `${broke} The call may have run. Next step: call get_request_status, or list your tasks, before you repeat it.`
    : `${broke} Repeat the request.`;
}

function statusWords({ status, headers }: Response, url: string): string {
  const location = headers.get('location');
  const retry = headers.get('retry-after');
  if (location !== null)
    return `${url} leads to another address (${status}). Give the address of Countersign itself with --url.`;
  if (status === 404) return `There is no MCP endpoint at ${url} (404). Give its address with --url.`;
  if (status === 429 || status === 503)
    return `Countersign has no time now (${status}). Repeat the request in ${retry ?? 'some'} seconds.`;
  return `Countersign refused the request (${status}). Its log says why.`;
}
