import type { Client, PriorDiscovery, ServerCapabilities } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { examineSchemas } from '../../../apps/shared/schemas/schema-check.ts';
import { ProgramStart } from './program.ts';
import { scheduleAttempts } from './reconnection.ts';
import { connectClient, createClient } from './sdk-client.ts';
import { createCredentials, NO_CREDENTIALS, type Credentials } from './credentials.ts';
import { createProgressNotices, Exchange, sendOnce, type SendingLimits } from './request.ts';
import { createList, type UnusableEntry, type UpstreamList } from './list.ts';
import { gatherChanges, hearChanges, type Changed, type Hearing } from './notices.ts';
import { ResourceSubscriptions } from './subscriptions.ts';
import { createTransport, type UpstreamServer } from './transport.ts';
import { Users } from './users.ts';

const TOOLS = { method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' } as const;
/** An HTTP session that was idle for longer is checked before a call is sent on it. */
const IDLE_MS = 1_000;

interface Live {
  readonly client: Client;
  readonly since: number;
  usedAt: number;
}

let lastId = 0;

/**
 * One upstream MCP server: connects when it is first needed and again after it failed, and keeps the last list of its
 * tools. Revisions are negotiated once and remembered, since the probe starts a second process of a program.
 */
export class UpstreamConnection {
  /** No other connection of this process has it. */
  readonly id = (lastId += 1);
  readonly credentials: Credentials;
  /** Those of its upstream. They outlive this connection. */
  readonly subscriptions: ResourceSubscriptions;
  readonly #server: UpstreamServer;
  readonly #deps: Hearing;
  #live: Live | undefined;
  #connecting: Promise<Client> | undefined;
  #connectingSince = 0;
  #prior: PriorDiscovery | undefined;
  readonly #attempts: ReturnType<typeof scheduleAttempts>;
  #capabilities: ServerCapabilities | undefined;
  #closed = false;
  readonly #users = new Users();
  #isRetired = false;
  /** Requests that wait for their answers, those for lists not counted. */
  #underWay = 0;
  readonly #tools: UpstreamList;
  readonly #progress = createProgressNotices();
  readonly #changes: Readonly<Record<Changed, ReturnType<typeof gatherChanges>>>;

  /** `onChanged` is called after each new list of tools, and when another list may have changed. */
  constructor(server: UpstreamServer, deps: Hearing & { readonly subscriptions?: ResourceSubscriptions }) {
    const { log, onChanged, clock, limits } = deps;
    this.#server = server;
    this.subscriptions = deps.subscriptions ?? new ResourceSubscriptions({ ...deps, onUpdated: () => undefined });
    this.#deps = deps;
    this.credentials = 'url' in server ? createCredentials(server, limits) : NO_CREDENTIALS;
    this.#tools = createList(TOOLS, clock, (definition) => examineSchemas({ definition }, limits));
    const stillAway = (err: unknown) => log.debug({ err }, 'the upstream is still unreachable');
    this.#attempts = scheduleAttempts(() => this.connect().catch(stillAway), clock);
    const handOn = (what: Changed) => gatherChanges(async () => onChanged(what), clock);
    const notRead = (err: unknown) => log.warn({ err }, 'a changed list of tools cannot be read');
    const tools = gatherChanges(() => this.refresh().then(() => undefined, notRead), clock);
    this.#changes = { tools, prompts: handOn('prompts'), resources: handOn('resources') };
  }

  /**
   * For how long, in milliseconds, a reader waits for a list. The readers of a connection that does not come about share one wait.
   */
  get waitMs(): number {
    const connectingMs = this.#connecting === undefined ? 0 : this.#deps.clock.monotonicMs() - this.#connectingSince;
    return Math.max(0, this.#deps.limits.upstreamWaitMs - connectingMs);
  }

  /** The last list of tools of the upstream, every member kept. `undefined` until there was one. */
  get tools(): readonly JsonObject[] | undefined {
    return this.#tools.items();
  }

  /** What the upstream lists as a tool, and no client could use. */
  get unusableTools(): readonly UnusableEntry[] {
    return this.#tools.unusable();
  }

  /** The upstream's capabilities when it was last connected. `undefined` until it was. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#capabilities;
  }

  /** The server as it is configured. */
  get server(): UpstreamServer {
    return this.#server;
  }

  /** Whether another connection has its place. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  get isConnected(): boolean {
    return this.#live !== undefined;
  }

  /** A connection that works as far as can be known without sending the call. Throws `ERR_UPSTREAM_UNAVAILABLE`. */
  async connect(): Promise<Client> {
    // A connection that is there but has not listed its tools yet is not ready: its user would know no tool.
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#live !== undefined && (await this.#isFit(this.#live))) return this.#live.client;
    if (this.#closed) throw unavailable('the gateway is stopping');
    if (this.#connecting === undefined) {
      if (this.#attempts.hasJustFailed()) throw unavailable('its last connection attempt failed');
      this.#connectingSince = this.#deps.clock.monotonicMs();
      this.#connecting = this.#open().finally(() => (this.#connecting = undefined));
    }
    return this.#connecting;
  }

  /**
   * Has the list of tools read anew if it is older than it may be. Throws `ERR_UPSTREAM_UNAVAILABLE` or
   * `ERR_UPSTREAM_LIST_UNAVAILABLE`: then nothing may be sent on the strength of the last list.
   */
  ensureGoodTools(): Promise<void> {
    return this.#tools.ensureGood(async () => {
      // A connection that is new has just listed them.
      const client = await this.connect();
      if (!this.#tools.isGood()) await this.#list(client);
    });
  }

  async refresh(): Promise<readonly JsonObject[]> {
    return this.#list(await this.connect());
  }

  /** Has the next caller read the list of tools anew. */
  outdate(): void {
    this.#tools.changed();
  }

  /** Asks the upstream for its tools before long, as if it had announced a change. */
  listLater(): void {
    this.#changes.tools.announce();
  }

  /** Sends one request and hands back the result as it came. Never repeats. */
  request(client: Client, method: string, params: JsonObject, limits: SendingLimits): Promise<unknown> {
    this.#underWay += 1;
    return this.#send(client, method, params, limits).finally(() => (this.#underWay -= 1));
  }

  async #send(client: Client, method: string, params: JsonObject, limits: SendingLimits): Promise<unknown> {
    const { asking, forget } = this.#progress.expect(params, limits.onProgress);
    try {
      const result = await sendOnce(client, { method, params: asking }, limits, this.#deps.clock);
      if (this.#live?.client === client) this.#live.usedAt = this.#deps.clock.monotonicMs();
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

  /** Has a connection checked before its next use. The calls that are under way keep it. */
  doubt(client: Client): void {
    if (this.#live?.client === client) this.#live.usedAt = Number.NEGATIVE_INFINITY;
  }

  get pingMs(): number {
    return this.#deps.limits.upstreamPingMs;
  }

  /** Keeps the connection for this work until it has ended. */
  use<T>(work: () => Promise<T>): Promise<T> {
    return this.#users.during(work);
  }

  /** Closes once the work that uses it has ended. Reports no change any more. */
  async retire(): Promise<void> {
    this.#attempts.stop();
    this.#isRetired = true;
    for (const changes of Object.values(this.#changes)) changes.close();
    await this.#users.haveLeft();
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#attempts.stop();
    this.#users.dismiss();
    for (const changes of Object.values(this.#changes)) changes.close();
    const open = this.#live?.client ?? (await this.#connecting?.catch(() => undefined));
    this.#live = undefined;
    await open?.close();
  }

  async #open(): Promise<Client> {
    this.#attempts.stop();
    const [client, program] = [createClient(this.#deps, (message) => Exchange.log(message)), new ProgramStart()];
    this.#progress.hear(client);
    try {
      const transport = createTransport(this.#server, this.credentials, {
        log: this.#deps.log,
        program,
        clock: this.#deps.clock,
      });
      this.#prior = await connectClient(client, transport, { prior: this.#prior, limits: this.#deps.limits });
      const now = this.#deps.clock.monotonicMs();
      const live = { client, since: now, usedAt: now };
      client.onclose = () => this.#lost(live);
      this.#capabilities = client.getServerCapabilities();
      const onChanged = (what: Changed) => this.#changes[what].announce();
      await hearChanges(client, { ...this.#deps, onChanged });
      await this.#list(client);
      this.#changes.prompts.announce();
      this.#changes.resources.announce();
      if (client.transport === undefined) throw unavailable('it ended as soon as it had listed its tools');
      this.#live = live;
      if (!this.#isRetired) void this.subscriptions.renew(client);
    } catch (cause) {
      [this.#live, this.#prior] = [undefined, undefined];
      const err = program.explain(cause);
      if (this.#attempts.failed()) this.#deps.log.warn({ err }, 'the upstream cannot be connected; trying again');
      await client.close().catch(() => undefined);
      if (!this.#closed && !this.#isRetired) this.#attempts.later();
      throw unavailable('it cannot be connected', err);
    }
    if (this.#closed) await client.close();
    return client;
  }

  /** Reads one of its lists whole, within its limits. A list that it does not announce is empty, and is not asked for. */
  async read(client: Client, list: UpstreamList): ReturnType<UpstreamList['read']> {
    const until = this.#deps.clock.monotonicMs() + this.#deps.limits.upstreamListMs;
    const ask = (method: string, params: JsonObject) =>
      this.#send(client, method, params, { timeoutMs: Math.max(1, until - this.#deps.clock.monotonicMs()) });
    const isAnnounced = client.getServerCapabilities()?.[list.listed.capability] !== undefined;
    const found = await list.read(isAnnounced ? ask : undefined, this.#server.limits);
    if (found.fault !== undefined) this.#deps.log.warn(found.fault);
    return found;
  }

  async #list(client: Client): Promise<readonly JsonObject[]> {
    const began = this.#deps.clock.monotonicMs();
    const { items, isNews } = await this.read(client, this.#tools).catch((cause: unknown) => {
      // A program that works on a call may be unable to list its tools meanwhile: the call keeps its connection.
      if (this.#underWay > 0) this.doubt(client);
      else this.discard(client);
      throw new CountersignError('ERR_UPSTREAM_LIST_UNAVAILABLE', 'the upstream does not list its tools', { cause });
    });
    // The same list of a new connection is news, too: its tools can be used again.
    if (isNews || this.#live?.client !== client) this.#deps.onChanged('tools');
    this.#changes.tools.rest(this.#deps.clock.monotonicMs() - began);
    return items;
  }

  /** The end of a program is noticed at once; an HTTP session may have ended without notice. */
  async #isFit(live: Live): Promise<boolean> {
    const isSession = 'url' in this.#server && live.client.getProtocolEra() === 'legacy';
    if (!isSession || this.#deps.clock.monotonicMs() - live.usedAt < IDLE_MS) return true;
    try {
      await live.client.ping({ timeout: this.#deps.limits.upstreamPingMs });
      live.usedAt = this.#deps.clock.monotonicMs();
      return true;
    } catch {
      this.discard(live.client);
      return false;
    }
  }

  #lost(live: Live): void {
    if (this.#live !== live || this.#closed) return;
    this.#live = undefined;
    this.#deps.log.warn('the connection to the upstream was lost');
    this.#attempts.lost(live.since);
    if (!this.#isRetired) this.#attempts.later();
  }
}

export function unavailable(why: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_UPSTREAM_UNAVAILABLE', `the upstream server is unavailable: ${why}`, { cause });
}
