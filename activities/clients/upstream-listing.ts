import type { Logger } from 'pino';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { atMost } from './patience.ts';
import type { UpstreamConnection } from './upstream-connection.ts';
import { UpstreamList, type Listed } from './upstream-list.ts';

/** How long a list is good whose upstream does not say when it changes. */
const UNANNOUNCED_MS = 5_000;
const RETRY_MS = 5_000;

/** The three kinds of things that an upstream may list beside tools. */
export const LISTINGS = {
  prompt: { method: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
  resource: { method: 'resources/list', member: 'resources', key: 'uri', capability: 'resources' },
  resource_template: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
} as const satisfies Record<string, Listed>;

/** What one upstream lists of one kind: read when somebody asks, and again after it may have changed. */
export class UpstreamListing {
  readonly #connection: UpstreamConnection;
  readonly #log: Logger;
  readonly #list: UpstreamList;
  readonly #capability: Listed['capability'];
  #reading: Promise<void> | undefined;
  #isStale = true;
  #goodUntil = Number.NEGATIVE_INFINITY;
  #failedAt: number | undefined;

  constructor(connection: UpstreamConnection, kind: keyof typeof LISTINGS, log: Logger) {
    this.#connection = connection;
    this.#log = log;
    this.#list = new UpstreamList(LISTINGS[kind]);
    this.#capability = LISTINGS[kind].capability;
  }

  /** The list may be another one. */
  changed(): void {
    this.#isStale = true;
  }

  /**
   * The present list; the last one, or none, when the upstream does not list it now. Waits for an upstream that never failed
   * to list it, and for no other: an upstream that hangs keeps nobody who reads from another waiting, but once.
   */
  async items(): Promise<readonly JsonObject[]> {
    const now = performance.now();
    const isGood = !this.#isStale && now < this.#goodUntil;
    const hasJustFailed = this.#failedAt !== undefined && now - this.#failedAt < RETRY_MS;
    if (!isGood && !hasJustFailed) {
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
      if (this.#failedAt === undefined) {
        await atMost(this.#reading, this.#connection.patienceMs);
      }
    }
    return this.#list.items ?? [];
  }

  async #read(): Promise<void> {
    this.#isStale = false;
    try {
      const client = await this.#connection.connect();
      await this.#connection.read(client, this.#list);
      const announced = this.#list.announcedBy(client.getServerCapabilities());
      const isAnnounced = announced === undefined || announced.listChanged === true;
      this.#goodUntil = isAnnounced ? Number.POSITIVE_INFINITY : performance.now() + UNANNOUNCED_MS;
      this.#failedAt = undefined;
    } catch (err) {
      this.#isStale = true;
      if (this.#failedAt === undefined) this.#log.warn({ err }, `the upstream does not list its ${this.#capability}`);
      this.#failedAt = performance.now();
    }
  }
}
