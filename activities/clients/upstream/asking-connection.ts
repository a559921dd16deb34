import { ProtocolError, SdkError, SdkErrorCode, type Client } from '@modelcontextprotocol/client';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { timeLimit } from '../../../apps/shared/clock.ts';
import type { Timing } from '../../../apps/shared/limits.ts';
import { type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { AskKind, InputRequest, LogMessage } from '../../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { kindOf } from './asks.ts';
import { CallLimit } from './call-limit.ts';
import { unavailable } from './connection.ts';
import type { Credentials } from './credentials.ts';
import { ProgramStart } from './program.ts';
import { createProgressNotices, sendOnce, type SendingLimits } from './request.ts';
import { connectClient, createClient } from './sdk-client.ts';
import { createTransport, type UpstreamServer } from './transport.ts';
import { Users } from './users.ts';

const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
/** The client has to open addresses before the call can be made. @see MCP 2025-11-25, elicitation, URL mode */
export const ADDRESSES_FIRST = -32_042;
const ADDRESS_IS_DONE = 'notifications/elicitation/complete';
/** Addresses of one connection whose end is passed on. */
const MAX_ADDRESSES = 20;
/** An HTTP session that was idle for longer is checked before a request is sent on it. */
const CHECKED_AFTER_MS = 1_000;
/** Longer than any deadline. */
const NO_LIMIT_MS = 2 ** 31 - 1;

interface AskingDeps extends Timing {
  readonly server: UpstreamServer;
  /** Those of the upstream. */
  readonly credentials: Credentials;
  /** Whose session it is for. What belongs to no call carries the credential of this caller, too. */
  readonly caller: Principal;
  /** What the client is declared to be able to answer. */
  readonly capabilities: JsonObject;
  readonly asks: readonly AskKind[];
  readonly log: Logger;
}

/** A request that has no answer yet. */
interface Call {
  readonly limit: CallLimit;
  readonly limits: SendingLimits;
  /** Fires at its end. */
  readonly over: AbortSignal;
}

/**
 * A connection to an upstream of an earlier revision, for one session of a client that it may ask. In these revisions a question names no
 * call, so the connection says whose it is: no question reaches the client of another session. It lists nothing: what is called was found
 * over the connection that all share.
 */
export class AskingConnection {
  readonly credentials: Credentials;
  readonly #deps: AskingDeps;
  readonly #progress = createProgressNotices();
  readonly #calls = new Set<Call>();
  /** The call on whose answer a message came. Over HTTP the transport knows it, and of a program nothing does. */
  readonly #serving = new AsyncLocalStorage<Call>();
  /** How to tell the client that it is done, by the id of what it was asked to do at an address. */
  readonly #addresses = new LRUCache<string, () => void>({ max: MAX_ADDRESSES });
  readonly #retired = new AbortController();
  #live: { readonly client: Client; usedAt: number } | undefined;
  #connecting: Promise<Client> | undefined;
  #logLevel: string | undefined;
  /** Of the roots of the client: whether the upstream is being told that they have changed, and whether they have since then. */
  readonly #roots = { isTelling: false, haveChanged: false };
  readonly #users = new Users();

  constructor(deps: AskingDeps) {
    this.#deps = deps;
    const { credentials, caller } = deps;
    this.credentials = {
      headers: (of = caller) => credentials.headers(of),
      refused: () => credentials.refused(),
    };
    setMaxListeners(0, this.#retired.signal);
  }

  /** Whether a request uses it. */
  get isUsed(): boolean {
    return this.#users.areThere;
  }

  /** Throws `ERR_UPSTREAM_UNAVAILABLE`. */
  async connect(): Promise<Client> {
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#live !== undefined && (await this.#isFit(this.#live))) return this.#live.client;
    if (this.#retired.signal.aborted) throw unavailable('the connection of this session has ended');
    this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /** Sends one request, and hands back the result as it came. Never repeats. */
  async request(client: Client, method: string, params: JsonObject, limits: SendingLimits): Promise<unknown> {
    const { timeoutMs, signal, ...own } = limits;
    const { clock } = this.#deps;
    const { asking, forget } = this.#progress.expect(params, limits.onProgress);
    const [limit, ended] = [new CallLimit(clock, timeoutMs), new AbortController()];
    const stop = timeLimit(clock, NO_LIMIT_MS, limit.signal, ...(signal === undefined ? [] : [signal]));
    setMaxListeners(0, ended.signal);
    const call: Call = { limit, limits, over: ended.signal };
    this.#calls.add(call);
    try {
      await this.#setLogLevel(client, limits.logLevel);
      const sent = { ...own, signal: stop.signal };
      return await this.#serving.run(call, () => sendOnce(client, { method, params: asking }, sent, clock));
    } catch (error) {
      if (limit.signal.aborted) throw new SdkError(SdkErrorCode.RequestTimeout, 'the request took too long');
      this.#noteAddresses(call, error);
      throw error;
    } finally {
      this.#calls.delete(call);
      for (const one of [limit, stop]) one.end();
      ended.abort();
      forget();
      if (this.#live?.client === client) this.#live.usedAt = clock.monotonicMs();
    }
  }

  get pingMs(): number {
    return this.#deps.limits.upstreamPingMs;
  }

  /** Gives up a connection that showed itself broken; the next use opens another. */
  discard(client: Client): void {
    if (this.#live?.client !== client) return;
    this.#live = undefined;
    void client.close().catch(() => undefined);
  }

  /** Has a connection checked before its next use. */
  doubt(client: Client): void {
    if (this.#live?.client === client) this.#live.usedAt = Number.NEGATIVE_INFINITY;
  }

  /** Tells the upstream that the roots of the client have changed, if it may ask for them. What comes meanwhile is told once. */
  async rootsChanged(): Promise<void> {
    const declared = objectOf(this.#deps.capabilities['roots']);
    this.#roots.haveChanged = declared['listChanged'] === true && !this.#retired.signal.aborted;
    if (this.#roots.isTelling) return;
    this.#roots.isTelling = true;
    while (this.#roots.haveChanged) {
      this.#roots.haveChanged = false;
      // A connection that is opened later knows no roots yet.
      await this.#live?.client.notification({ method: 'notifications/roots/list_changed' }).catch(() => undefined);
    }
    this.#roots.isTelling = false;
  }

  use<T>(work: () => Promise<T>): Promise<T> {
    return this.#users.during(work);
  }

  /** Takes open questions back, lets none through any more, and closes once the requests on it have ended. */
  async retire(): Promise<void> {
    this.#retired.abort();
    await this.#users.haveLeft();
    await this.close();
  }

  async close(): Promise<void> {
    this.#retired.abort();
    this.#users.dismiss();
    const open = this.#live?.client ?? (await this.#connecting?.catch(() => undefined));
    this.#live = undefined;
    await open?.close();
  }

  async #open(): Promise<Client> {
    const { server, capabilities, log, clock, limits } = this.#deps;
    const client = createClient(this.#deps, (message) => this.#hearLog(message), capabilities);
    const program = new ProgramStart();
    this.#progress.hear(client);
    client.fallbackRequestHandler = (request, { mcpReq }) => this.#answer(request as InputRequest, mcpReq.signal);
    client.fallbackNotificationHandler = async ({ method, params }) => {
      const id: unknown = params?.['elicitationId'];
      if (method === ADDRESS_IS_DONE && typeof id === 'string') this.#addresses.get(id)?.();
    };
    try {
      const listening = new AbortController();
      const onListening = () => listening.abort();
      const transport = createTransport(server, this.credentials, { log, program, clock, onListening });
      await connectClient(client, transport, { prior: { kind: 'legacy' }, limits });
      // Most servers ask on this stream, and lose a question for which it is not open yet.
      if ('url' in server) await clock.after(limits.upstreamStreamMs, listening.signal);
      // What it asks by itself once it is connected comes before this answer, and so before any call to which it would be counted.
      await client.ping({ timeout: limits.upstreamPingMs }).catch(() => undefined);
      if (client.transport === undefined) throw unavailable('it ended as soon as it was connected');
    } catch (cause) {
      const err = program.explain(cause);
      log.warn({ err }, 'the upstream cannot be connected for a session');
      await client.close().catch(() => undefined);
      throw unavailable('it cannot be connected', err);
    }
    const live = { client, usedAt: clock.monotonicMs() };
    client.onclose = () => {
      if (this.#live === live) this.#live = undefined;
    };
    this.#logLevel = undefined;
    this.#live = live;
    return client;
  }

  /** The end of a program is noticed at once; an HTTP session may have ended without notice. */
  async #isFit(live: { readonly client: Client; usedAt: number }): Promise<boolean> {
    const { server, clock, limits } = this.#deps;
    if (!('url' in server) || clock.monotonicMs() - live.usedAt < CHECKED_AFTER_MS) return true;
    try {
      await live.client.ping({ timeout: limits.upstreamPingMs });
      live.usedAt = clock.monotonicMs();
      return true;
    } catch {
      this.discard(live.client);
      return false;
    }
  }

  /** Hands a question to the client. */
  async #answer({ method, params }: InputRequest, takenBack: AbortSignal): Promise<JsonObject> {
    const kind = kindOf(method);
    if (kind === undefined || !this.#deps.asks.includes(kind) || this.#deps.capabilities[kind] === undefined) {
      throw new ProtocolError(METHOD_NOT_FOUND, 'This was not offered to be asked.');
    }
    const call = this.#callOfMessage();
    const askable = call?.limits.askable;
    if (call === undefined || askable === undefined || this.#retired.signal.aborted) {
      throw new ProtocolError(INVALID_REQUEST, 'No call is under way for which the client could be asked.');
    }
    const resume = call.limit.pause();
    const until = timeLimit(this.#deps.clock, NO_LIMIT_MS, call.over, this.#retired.signal, takenBack);
    try {
      this.#noteAddress(call, params);
      const answer = await askable.ask({ method, ...(params !== undefined && { params }) }, until.signal);
      if (answer.kind === 'result') return answer.result;
      if (answer.kind === 'error') throw new ProtocolError(answer.code, answer.message, answer.data);
      throw new ProtocolError(INTERNAL_ERROR, answer.why);
    } finally {
      until.end();
      resume();
    }
  }

  /**
   * The call that a message belongs to: the one on whose answer it came. If nothing says so, it is the newest. All of them are of the same
   * session, so a wrong guess shows a question beside another call of its client.
   */
  #callOfMessage(): Call | undefined {
    const known = this.#serving.getStore();
    return known !== undefined && this.#calls.has(known) ? known : [...this.#calls].at(-1);
  }

  #hearLog(message: LogMessage): void {
    this.#callOfMessage()?.limits.onLog?.(message);
  }

  async #setLogLevel(client: Client, level: string | undefined): Promise<void> {
    const hasLevels = client.getServerCapabilities()?.logging !== undefined;
    if (level === undefined || level === this.#logLevel || !hasLevels) return;
    this.#logLevel = level;
    const request = { method: 'logging/setLevel', params: { level } };
    const limit = { timeoutMs: this.#deps.limits.upstreamPingMs };
    // What it sends below the level is left out anyway.
    await sendOnce(client, request, limit, this.#deps.clock).catch(() => undefined);
  }

  #noteAddresses(call: Call, error: unknown): void {
    if (!(error instanceof ProtocolError) || error.code !== ADDRESSES_FIRST) return;
    const { elicitations } = objectOf(error.data);
    for (const one of Array.isArray(elicitations) ? elicitations : []) this.#noteAddress(call, one);
  }

  #noteAddress({ limits: { askable } }: Call, params: unknown): void {
    const { mode, elicitationId: id } = objectOf(params);
    if (mode === 'url' && typeof id === 'string') this.#addresses.set(id, () => askable?.told(id));
  }
}
