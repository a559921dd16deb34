import type { Client, PriorDiscovery, ServerCapabilities } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Progress } from '../../workflows/domain/upstream-ports.ts';
import { connectClient, createClient } from './upstream-client.ts';
import { createCredentials, NO_CREDENTIALS, type Credentials } from './upstream-credentials.ts';
import { sendOnce, type SendingLimits } from './upstream-exchange.ts';
import { UpstreamList } from './upstream-list.ts';
import { GatheredChanges, hearChanges, type Changed } from './upstream-notices.ts';
import { ProgressNotices } from './upstream-progress.ts';
import { createTransport, type UpstreamServer } from './upstream-transport.ts';

const PING_TIMEOUT_MS = 2_000;
/** How old an attempt to connect may get while somebody waits for a list. A program has to start first. */
const LIST_PATIENCE_MS = 15_000;
/** For all pages of a list together. */
const LIST_TIMEOUT_MS = 15_000;
const BACKOFF_MIN_MS = 500;
const BACKOFF_MAX_MS = 30_000;
/** Callers are refused at once for this long after a failed attempt, so that a broken server is not started per call. */
const FAIL_FAST_MS = 1_000;
/** A connection that lived this long was a good one: the next failure starts the pauses afresh. */
const STABLE_MS = 30_000;
/** An HTTP session that rested longer is checked before a call is trusted to it. */
const IDLE_MS = 1_000;

export interface RequestLimits extends SendingLimits {
  readonly onProgress?: (progress: Progress) => void;
}

interface Live {
  readonly client: Client;
  readonly since: number;
  usedAt: number;
}

/**
 * One upstream MCP server: connects when it is first needed and again after it failed, and keeps the last list of its
 * tools. Revisions are negotiated once and remembered, since the probe starts a second process of a program.
 */
export class UpstreamConnection {
  /** What it knows us by. */
  readonly credentials: Credentials;
  readonly #server: UpstreamServer;
  readonly #log: Logger;
  readonly #onChanged: (what: Changed) => void;
  #live: Live | undefined;
  #connecting: Promise<Client> | undefined;
  #connectingSince = 0;
  #prior: PriorDiscovery | undefined;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #capabilities: ServerCapabilities | undefined;
  #closed = false;
  readonly #tools = new UpstreamList({ method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' });
  readonly #progress = new ProgressNotices();
  readonly #changes: Readonly<Record<Changed, GatheredChanges>>;

  /** `onChanged` is called after each new list of tools, and when another list may have changed. */
  constructor(server: UpstreamServer, log: Logger, onChanged: (what: Changed) => void) {
    this.#server = server;
    this.credentials = 'url' in server ? createCredentials(server) : NO_CREDENTIALS;
    this.#log = log;
    this.#onChanged = onChanged;
    const handOn = (what: Changed) => new GatheredChanges(async () => onChanged(what));
    const tools = new GatheredChanges(() => this.#readAgain());
    this.#changes = { tools, prompts: handOn('prompts'), resources: handOn('resources') };
  }

  /**
   * For how long, in milliseconds, whoever wants a list is to wait for it: not again and again for a connection that does not
   * come about.
   */
  get patienceMs(): number {
    const connectingMs = this.#connecting === undefined ? 0 : performance.now() - this.#connectingSince;
    return Math.max(0, LIST_PATIENCE_MS - connectingMs);
  }

  /** The last list of tools the upstream gave, every member kept. `undefined` until there was one. */
  get tools(): readonly JsonObject[] | undefined {
    return this.#tools.items;
  }

  /** What the upstream said of itself when it was last connected. `undefined` until it was. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#capabilities;
  }

  get isConnected(): boolean {
    return this.#live !== undefined;
  }

  /** A connection that works as far as can be known without sending the call. Throws `ERR_UPSTREAM_UNAVAILABLE`. */
  async connect(): Promise<Client> {
    // A connection that is there but has not listed its tools yet is not ready: whoever takes it would know no tool.
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#live !== undefined && (await this.#isFit(this.#live))) return this.#live.client;
    if (this.#closed) throw unavailable('the gateway is stopping');
    if (this.#connecting === undefined) {
      if (performance.now() - this.#failedAt < FAIL_FAST_MS) throw unavailable('its last connection attempt failed');
      this.#connectingSince = performance.now();
      this.#connecting = this.#open().finally(() => (this.#connecting = undefined));
    }
    return this.#connecting;
  }

  /** Asks the upstream for its tools now, and keeps the answer. */
  async refresh(): Promise<readonly JsonObject[]> {
    return this.#list(await this.connect());
  }

  /** Asks the upstream for its tools before long, as if it had said that they changed. */
  listLater(): void {
    this.#changes.tools.announce();
  }

  /** Sends one request and hands back the result as it came. Never repeats. */
  async request(client: Client, method: string, params: JsonObject, limits: RequestLimits): Promise<unknown> {
    const { asking, forget } = this.#progress.expect(params, limits.onProgress);
    try {
      const result = await sendOnce(client, { method, params: asking }, limits);
      if (this.#live?.client === client) this.#live.usedAt = performance.now();
      return result;
    } finally {
      forget();
    }
  }

  /** Gives up a connection that showed itself broken; the next use opens another. */
  discard(client: Client): void {
    if (this.#live?.client !== client) return;
    this.#lost(this.#live);
    void client.close().catch(() => undefined);
  }

  /** Has a connection checked before its next use, without taking it from the calls that are under way on it. */
  doubt(client: Client): void {
    if (this.#live?.client === client) this.#live.usedAt = Number.NEGATIVE_INFINITY;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const changes of Object.values(this.#changes)) changes.close();
    const open = this.#live?.client ?? (await this.#connecting?.catch(() => undefined));
    this.#live = undefined;
    await open?.close();
  }

  async #open(): Promise<Client> {
    clearTimeout(this.#timer);
    const client = createClient(this.#log);
    this.#progress.hear(client);
    try {
      const transport = createTransport(this.#server, this.credentials, this.#log);
      this.#prior = await connectClient(client, transport, this.#prior);
      const now = performance.now();
      const live = { client, since: now, usedAt: now };
      client.onclose = () => this.#lost(live);
      this.#capabilities = client.getServerCapabilities();
      await hearChanges(client, (what) => this.#changes[what].announce(), this.#log);
      await this.#list(client);
      this.#changes.prompts.announce();
      this.#changes.resources.announce();
      if (client.transport === undefined) throw unavailable('it ended as soon as it had listed its tools');
      this.#live = live;
    } catch (cause) {
      this.#live = undefined;
      this.#prior = undefined;
      this.#failedAt = performance.now();
      if (this.#failures === 0) this.#log.warn({ err: cause }, 'upstream cannot be connected; it is tried again');
      await client.close().catch(() => undefined);
      this.#reconnectLater();
      throw unavailable('it cannot be connected', cause);
    }
    if (this.#closed) await client.close();
    return client;
  }

  /** Reads one of its lists whole, within its limits. It is not asked for one that it does not say it has, which is empty. */
  read(client: Client, list: UpstreamList): ReturnType<UpstreamList['read']> {
    const until = performance.now() + LIST_TIMEOUT_MS;
    const ask = (method: string, params: JsonObject) =>
      this.request(client, method, params, { timeoutMs: Math.max(1, until - performance.now()) });
    const has = list.announcedBy(client.getServerCapabilities()) !== undefined;
    return list.read(has ? ask : undefined, this.#server.limits);
  }

  async #list(client: Client): Promise<readonly JsonObject[]> {
    const began = performance.now();
    const { items, isNewest } = await this.read(client, this.#tools).catch((cause: unknown) => {
      this.discard(client);
      throw unavailable('it does not list its tools', cause);
    });
    if (isNewest) this.#onChanged('tools');
    this.#changes.tools.rest(performance.now() - began);
    return items;
  }

  async #readAgain(): Promise<void> {
    await this.refresh().catch((err: unknown) => this.#log.warn({ err }, 'a changed list of tools cannot be read'));
  }

  /** A program that ended is known at once; an HTTP session may have ended without a word. */
  async #isFit(live: Live): Promise<boolean> {
    const isSession = 'url' in this.#server && live.client.getProtocolEra() === 'legacy';
    if (!isSession || performance.now() - live.usedAt < IDLE_MS) return true;
    try {
      await live.client.ping({ timeout: PING_TIMEOUT_MS });
      live.usedAt = performance.now();
      return true;
    } catch {
      this.discard(live.client);
      return false;
    }
  }

  #lost(live: Live): void {
    if (this.#live !== live || this.#closed) return;
    this.#live = undefined;
    this.#log.warn('upstream connection lost');
    if (performance.now() - live.since > STABLE_MS) this.#failures = 0;
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#closed) return;
    const pauseMs = Math.min(
      BACKOFF_MAX_MS,
      Math.max(FAIL_FAST_MS, BACKOFF_MIN_MS * 2 ** Math.min(this.#failures, 10)),
    );
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.connect().catch((error: unknown) => this.#log.debug({ err: error }, 'upstream is still unreachable'));
    }, pauseMs).unref();
  }
}

function unavailable(why: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_UPSTREAM_UNAVAILABLE', `the upstream server is unavailable: ${why}`, { cause });
}
