import type { Logger } from 'pino';
import type { Clock } from '../../../apps/shared/clock.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { atMost } from './reconnection.ts';
import type { UpstreamConnection } from './connection.ts';
import { UpstreamList, type Listed } from './list.ts';

/** How long an upstream is left alone that did not list what it was asked for. */
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

/** What one upstream lists of one kind: read when it is asked for, and again after it may have changed. */
export class UpstreamListing {
  readonly #connection: UpstreamConnection;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #list: UpstreamList;
  readonly #capability: Listed['capability'];
  #failedAt: number | undefined;

  constructor(
    connection: UpstreamConnection,
    kind: keyof typeof LISTINGS,
    { log, clock }: { readonly log: Logger; readonly clock: Clock },
  ) {
    this.#connection = connection;
    this.#log = log;
    this.#clock = clock;
    this.#list = new UpstreamList(LISTINGS[kind], clock);
    this.#capability = LISTINGS[kind].capability;
  }

  /** The list may be another one. */
  changed(): void {
    this.#list.changed();
  }

  /** The last list, even if it is old. */
  get known(): readonly JsonObject[] {
    return this.#list.items ?? [];
  }

  /**
   * The present list; the last one, or none, when the upstream does not list it now. Waits for an upstream that never failed
   * to list it, and for no other: an upstream that hangs delays readers of other upstreams once at most.
   */
  async items(): Promise<readonly JsonObject[]> {
    if (!this.#hasJustFailed()) {
      const isWaitedFor = this.#failedAt === undefined;
      await atMost(this.#ensureGood(), isWaitedFor ? this.#connection.patienceMs : 0, this.#clock);
    }
    return this.known;
  }

  /** Throws `ERR_UPSTREAM_LIST_UNAVAILABLE` where the last list is too old, and no other can be had: nothing may be sent on its strength. */
  async ensureGood(): Promise<void> {
    let isGood = this.#list.isGood;
    if (!isGood && !this.#hasJustFailed()) {
      const reading = this.#ensureGood().then(() => (isGood = true));
      await atMost(reading, this.#connection.patienceMs, this.#clock);
    }
    if (!isGood) {
      throw new CountersignError(
        'ERR_UPSTREAM_LIST_UNAVAILABLE',
        `the upstream server does not list its ${this.#capability}`,
      );
    }
  }

  #hasJustFailed(): boolean {
    return this.#failedAt !== undefined && this.#clock.monotonicMs() - this.#failedAt < RETRY_MS;
  }

  #ensureGood(): Promise<void> {
    return this.#list.ensureGood(() => this.#read());
  }

  async #read(): Promise<void> {
    try {
      await this.#connection.read(await this.#connection.connect(), this.#list);
      this.#failedAt = undefined;
    } catch (err) {
      if (this.#failedAt === undefined) this.#log.warn({ err }, `the upstream does not list its ${this.#capability}`);
      this.#failedAt = this.#clock.monotonicMs();
      throw err;
    }
  }
}
