import { isObject, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Clock } from '../../shared/clock.ts';
import { CliError } from '../context.ts';
import { messagesOf, type Place } from './messages.ts';
import type { Upstream } from './upstream.ts';

const SESSION_HEADER = 'mcp-session-id';
const EVENT_STREAM = 'text/event-stream';
const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Answers of gateways that never speak first. */
const HAS_NO_STREAM: ReadonlySet<number> = new Set([400, 403, 404, 405, 406]);

interface SessionDeps {
  readonly upstream: Upstream;
  /** Passes a message of the stream on to the host. */
  readonly write: (text: string) => Promise<void>;
  readonly clock: Clock;
  /** Ends everything. */
  readonly signal: AbortSignal;
}

/** What earlier revisions agree in `initialize`, and each later message repeats in its headers. A host over stdio knows nothing of it. */
interface Agreed {
  readonly id: string | undefined;
  readonly revision: string | undefined;
  /** Ends when another session takes its place. */
  readonly over: AbortController;
}

/**
 * The session of a host of an earlier revision: its id, its revision, and the stream on which the gateway speaks first. If the gateway forgets
 * it, the same `initialize` opens another one, of which the host learns nothing. @see MCP 2025-11-25, Streamable HTTP, Session Management
 */
export class Session {
  readonly #deps: SessionDeps;
  #agreed: Agreed | undefined;
  /** The one whose stream is open. Two streams of one session would end each other. */
  #listening: Agreed | undefined;
  #initialize: Uint8Array | undefined;
  #reopening: Promise<void> | undefined;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  get id(): string | undefined {
    return this.#agreed?.id;
  }

  /** The headers of messages of this session. Empty before it is open. */
  headers(): Record<string, string> {
    const { id, revision } = this.#agreed ?? {};
    return {
      ...(revision !== undefined && { 'mcp-protocol-version': revision }),
      ...(id !== undefined && { [SESSION_HEADER]: id }),
    };
  }

  /** Takes what the answer to an `initialize` says. `body` is the whole message, for the next session. */
  opened(body: Uint8Array, headers: { get(name: string): string | null }, result: JsonObject): void {
    this.#initialize = body;
    this.#agree(headers, result);
  }

  #agree(headers: { get(name: string): string | null }, { protocolVersion }: JsonObject): void {
    this.#agreed?.over.abort();
    const over = new AbortController();
    // Not longer than this session: a host may live through many.
    this.#deps.signal.addEventListener('abort', () => over.abort(), { once: true, signal: over.signal });
    const revision = typeof protocolVersion === 'string' ? protocolVersion : undefined;
    this.#agreed = { id: headers.get(SESSION_HEADER) ?? undefined, revision, over };
  }

  /** Opens the stream on which the gateway speaks first, if it offers one, for as long as the session lasts. */
  async listen(): Promise<void> {
    const { upstream, clock } = this.#deps;
    if (this.#agreed === undefined || this.#listening === this.#agreed) return;
    this.#listening = this.#agreed;
    const { signal } = this.#agreed.over;
    const place: Place = { retryMs: FIRST_PAUSE_MS };
    while (!signal.aborted) {
      try {
        const resumed: Record<string, string> = place.lastId === undefined ? {} : { 'last-event-id': place.lastId };
        const headers = { accept: EVENT_STREAM, ...this.headers(), ...resumed };
        const answer = await upstream.send({ method: 'GET', headers, signal, isQuiet: true });
        if (!answer.ok) await answer.body?.cancel();
        if (answer.status === 404 && this.id !== undefined) return await this.reopen(this.id);
        if (HAS_NO_STREAM.has(answer.status) && place.lastId === undefined) return;
        // The events after this one are no longer kept.
        if (answer.status === 400) place.lastId = undefined;
        if (!answer.ok) throw new Error('the stream is not open');
        for await (const { text } of messagesOf(answer, place)) await this.#deps.write(text);
      } catch {
        // The gateway is away, or wants a sign-in, which only a request of the host asks for.
        place.retryMs = Math.min(2 * place.retryMs, LONGEST_PAUSE_MS);
      }
      await clock.after(place.retryMs, signal);
    }
  }

  /** Opens another session in place of the one that the gateway has forgotten. Throws if it agrees on another revision. */
  async reopen(forgotten: string): Promise<void> {
    if (this.id !== forgotten) return;
    this.#reopening ??= this.#reopen().finally(() => (this.#reopening = undefined));
    await this.#reopening;
  }

  async #reopen(): Promise<void> {
    const { upstream, signal } = this.#deps;
    const body = this.#initialize;
    if (body === undefined) return;
    const before = this.#agreed?.revision;
    const headers = { 'content-type': 'application/json', accept: `application/json, ${EVENT_STREAM}` };
    const answer = await upstream.send({ method: 'POST', headers, body, signal });
    let result: JsonObject | undefined;
    for await (const { value } of messagesOf(answer, { retryMs: FIRST_PAUSE_MS })) {
      if (isObject(value) && isObject(value['result'])) result = value['result'];
    }
    if (result === undefined || result['protocolVersion'] !== before) {
      throw new CliError(
        'The session with Countersign has ended, and a new one cannot go on with it. Start this server again in your host.',
      );
    }
    this.#agree(answer.headers, result);
    const accepted = await upstream.send({
      ...{ method: 'POST', body: INITIALIZED, signal },
      headers: { ...headers, ...this.headers() },
    });
    await accepted.body?.cancel();
    void this.listen();
  }

  /** Tells the gateway that the session is over. A gateway without sessions is told nothing. */
  async end(signal: AbortSignal): Promise<void> {
    if (this.id === undefined) return;
    const { upstream } = this.#deps;
    const answer = await upstream.send({ method: 'DELETE', headers: this.headers(), signal, isQuiet: true, awayMs: 0 });
    await answer.body?.cancel();
  }
}
